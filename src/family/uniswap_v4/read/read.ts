/**
 * How positions are read from a manager that lists no owner's ids, and logs no amounts.
 *
 * A wallet's positions:
 *
 * 1. `ownership.ts` tries the ids that the wallet had at its last read. The lens (`queries.ts`, `lens.sol`) reads at one
 *    block which of them it owns, with the number that it owns in all. If both are equal, the list is complete.
 * 2. If not, `owned/mod.ts` finds ids: it looks through the manager's storage, newest id first, and where that takes more
 *    requests than logs do, `owned/transfers.ts` follows what the wallet was ever sent.
 * 3. The lens reads again with these ids. If ids are still missing, the answer fails and names the check `ownership`.
 * 4. `position.ts` interprets what the lens read. A hook may change what a withdrawal pays: `withdrawal.ts` then
 *    withdraws as the owner, in a call that changes nothing.
 *
 * A position's past, for profit and loss:
 *
 * 5. `position_history.ts` finds the block of the mint, and of a burned position its pool and range.
 * 6. History follows the changes of liquidity of the whole pool (`pool_events.ts`), without amounts.
 * 7. `change.ts` completes the changes that lack theirs. It reads, for each block with a change, the pool's events and
 *    the counters before and after it, from two endpoints if two may serve; `math/change.ts` computes principal and
 *    fees.
 * 8. The counters before a change equal those after the previous one, and those after the last equal the position's
 *    now: otherwise a change is missing, and the answer fails.
 */

import type { Address } from 'viem'
import { type Block, isSameBlock, type PinnedBlock } from '../../../chain/block.ts'
import { type LensAccess, type LensReading, readByLens } from '../../../chain/call/lens.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { FirstBlocks } from '../../../finance/first_blocks.ts'
import type { PricedToken } from '../../../finance/token/priced_token.ts'
import { createSpamFilter } from '../../../finance/token/spam.ts'
import { mapCooperatively } from '../../../lib/async/cooperative.ts'
import { allOrAbort } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { groupBy } from '../../../lib/group_by.ts'
import { createLru } from '../../../lib/lru.ts'
import { ListTooLongError } from '../../liquidity/list/selection.ts'
import type { LiquidityReader } from '../../liquidity/protocol.ts'
import {
  addPoolPrices,
  createReadingCaches,
  forEachChain,
  getReadLimits,
  readTargetByLens,
} from '../../liquidity/targets.ts'
import { createHistoricalTargets, createTargets } from '../../moment.ts'
import { computeTotalHeld, type Withdrawal } from '../math/figures.ts'
import { mayChangeWithdrawal, needsWithdrawal } from '../math/hooks.ts'
import type { UniswapV4Deployment } from '../table.ts'
import { createOwnershipReader, type FindOwnedIds } from './ownership.ts'
import type { ChainRead, ListedPosition, Position } from './position.ts'
import { getDeployment, LENS, type OwnedRead, readNamed, readOwned, type UniswapV4Target } from './queries.ts'
import {
  readWithdrawals,
  toWithdrawalTerms,
  UNSUPPORTED,
  type Withdrawals,
  type WithdrawalTarget,
  type WithdrawalTerms,
} from './withdrawal.ts'

/** Most positions of one wallet on one chain. A longer list is refused, not truncated. */
const LIST_MAX = 2_000
/** Withdrawals that one call executes, and most wallets whose withdrawals to execute are cached. */
const HOOKED_MAX = 25
const HOOKED_WALLETS_MAX = 5_000
/** Ids that are asked for each position of a portfolio: those that the wallet does not own any more are among them. */
const CANDIDATES_PER_POSITION = 4
/** Positions that are decoded in one step. */
const STEP_POSITIONS = 200

/**
 * Reads positions of the family. `readWallet` also throws `UnavailableError` for the check `ownership`, and
 * `PendingError` until the wallet's ids are known.
 */
export type PositionReader = LiquidityReader<UniswapV4Deployment, ListedPosition, Position, Withdrawal>

/** Creates a reader over the chains that are configured and have deployments. */
export function createPositionReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, readonly UniswapV4Deployment[]>
  readonly find: FindOwnedIds
  readonly clock: Clock
  readonly firstBlocks?: FirstBlocks | undefined
}): PositionReader {
  const { clients, deployments, find, clock } = options
  const { classify: classifyToken } = createSpamFilter()
  const readAllOwned = createOwnershipReader(find)
  const { lists, singles } = createReadingCaches<ChainRead<ListedPosition>, ChainRead>(clock)
  /** Each wallet's positions that need an executed withdrawal, by the last read. */
  const hooked = createLru<readonly WithdrawalTerms[]>({ entriesMax: HOOKED_WALLETS_MAX })

  const readTarget = <Answer>(
    target: UniswapV4Target,
    read: LensReading<Answer>['read'],
    work: Work,
  ): Promise<Answer> => readTargetByLens(target, { ...LENS, clock, read }, work)

  /** Reads a wallet together with the withdrawals of positions that are known to need one, in one call. */
  function readWithWithdrawals(
    target: UniswapV4Target,
    query: {
      readonly read: (lens: LensAccess) => Promise<OwnedRead>
      readonly positions: readonly WithdrawalTerms[]
      readonly wallet: Address
    },
    work: Work,
  ): Promise<OwnedRead> {
    const { client, block: at } = target
    const chainId = client.chain.id
    const { wallet: owner, positions } = query
    const withdrawalQuery = { owner, positions, deployment: getDeployment(target), block: at }
    const lens = { ...LENS, chainId, at, clock, read: query.read }
    const limits = { ...getReadLimits(target, work), isBundled: true }
    return client.read(async (endpoint, within) => {
      const [owned, { block, byId }] = await Promise.all([
        readByLens(endpoint, lens, within),
        readWithdrawals({ endpoint, chainId, clock }, withdrawalQuery, within),
      ])
      if (block !== undefined && !isSameBlock(block, owned.block)) return owned
      return { ...owned, read: { ...owned.read, withdrawals: byId } }
    }, limits)
  }

  function remember(key: string, { positions }: ChainRead<ListedPosition>): void {
    const needing = positions.filter(needsWithdrawal)
    if (needing.length > 0 && needing.length <= HOOKED_MAX)
      hooked.set(key, sortByWorth(needing.map((each) => each.whole())).map(toWithdrawalTerms))
    else hooked.delete(key)
  }

  async function readList(
    { wallet, full }: { readonly wallet: Address; readonly full: boolean },
    target: UniswapV4Target,
    work: Work,
  ): Promise<ChainRead<ListedPosition>> {
    const { client, block } = target
    const lensContext = {
      chain: client.chain,
      deployment: getDeployment(target),
      classifyToken,
      spam: 'apart',
    } as const
    const key = `${client.chain.id}:${wallet}`
    const { balance, read } = await readAllOwned(
      { wallet, client, deployment: lensContext.deployment, positionsMax: LIST_MAX },
      {
        block,
        read: (ids, at) => {
          const pinnedTarget = { ...target, ...(at && { block: at }) }
          const query = { wallet, ids, positionsMax: LIST_MAX }
          const read = (lens: LensAccess) => readOwned(lens, query, lensContext)
          const known = full ? hooked.get(key) : undefined
          if (known === undefined) return readTarget(pinnedTarget, read, work)
          return readWithWithdrawals(pinnedTarget, { read, positions: known, wallet }, work)
        },
        pin: () =>
          client.read(
            (endpoint, within) => readLatestBlock(endpoint, client.chain.id, within),
            getReadLimits(target, work),
          ),
      },
      work,
    )
    if (balance > BigInt(LIST_MAX)) throw new ListTooLongError(balance, client.chain, LIST_MAX)
    remember(key, read)
    return read
  }

  async function readHookedWithdrawals(positions: readonly Position[], at: Parameters<PositionReader['readFull']>[1]) {
    const hookedPositions = positions.filter(({ pool }) => mayChangeWithdrawal(pool.hooks))
    const paid = await forEachChain(hookedPositions, at, ({ positions: chainPositions, target, read }, work) => {
      const { block, withdrawals: known = new Map() } = read
      const context = { block, known, chainId: block.chainId, clock }
      const limits = getReadLimits(target, work)
      return target.client.read(
        (endpoint, within) => readCompleteWithdrawals(chainPositions, { endpoint, ...context }, within),
        limits,
      )
    })
    return new Map(paid.flatMap((each) => [...each]))
  }

  return {
    targets: createTargets(clients, deployments),
    past: createHistoricalTargets<UniswapV4Deployment>({
      name: 'Uniswap V4',
      clock,
      firstBlocks: options.firstBlocks,
      getContract: ({ positionManager }) => positionManager,
      canReadBeforeDeployment: true,
    }),
    readWallet(wallet, { targets, isFull: full = true, work }) {
      const tasks = targets.map((target) => (shared: Work) => {
        const read = (all: Work) => readList({ wallet, full }, target, all)
        return lists.reuse({ ...toCacheKey(`wallet:${wallet.toLowerCase()}:${full}`, target), read }, shared)
      })
      return allOrAbort(tasks, work)
    },
    complete: (_, { positions }) => ({ positions: positions.map((each) => each.whole()), unreadable: [] }),
    readOne(tokenId, { targets, work }) {
      const tasks = targets.map((target) => (shared: Work) => {
        const lensContext = { chain: target.client.chain, deployment: getDeployment(target), classifyToken }
        const read = (all: Work) => readTarget(target, (lens) => readNamed(lens, [tokenId], lensContext), all)
        return singles.reuse({ ...toCacheKey(`one:${tokenId}`, target), read }, shared)
      })
      return allOrAbort(tasks, work)
    },
    async readHeld({ wallet, ...target }, { endpoint, block: at, positionsMax }, work) {
      const { client } = target
      const { chain } = client
      const deployment = getDeployment(target)
      const lensContext = { chain, deployment, classifyToken, spam: 'included' } as const
      const read = (ids: readonly bigint[], pinned: PinnedBlock | undefined) => {
        const candidates = ids.slice(0, CANDIDATES_PER_POSITION * positionsMax)
        const query = { wallet, ids: candidates, positionsMax: Number.MAX_SAFE_INTEGER }
        const lens = { ...LENS, chainId: chain.id, at: pinned, clock }
        return readByLens(endpoint, { ...lens, read: (access) => readOwned(access, query, lensContext) }, work)
      }
      const pin = () => readLatestBlock(endpoint, chain.id, work)
      const query = { wallet, client, deployment, positionsMax, takesFirst: true }
      const { balance, read: list } = await readAllOwned(query, { block: at, read, pin }, work)
      const { block, unreadable } = list
      const first = list.positions.slice(0, positionsMax)
      const positions = await mapCooperatively(first, STEP_POSITIONS, (each) => each.whole())
      const withdrawalContext = { endpoint, chainId: chain.id, clock, block, known: new Map() }
      const withdrawals = await readCompleteWithdrawals(positions, withdrawalContext, work)
      return { block, count: Number(balance), positions, unreadable, withdrawals }
    },
    async readFull(positions, at, list) {
      const pricing = { getAmounts: computeTotalHeld, listHeld: list && createHeldLister(list), clock }
      const [priced, paid] = await Promise.all([
        addPoolPrices(positions, at, pricing),
        readHookedWithdrawals(positions, at),
      ])
      return positions.map((each, index) => ({ position: priced[index] ?? each, withdrawal: paid.get(each) }))
    },
  }
}

/** Returns the chain and key that a query's answer is cached under. */
function toCacheKey(query: string, { client, block }: UniswapV4Target) {
  return { chain: client.chain, key: `uniswap_v4:${block?.hash ?? ''}:${query}` }
}

/** Creates a function that lists all positions of a wallet's list on a chain. */
function createHeldLister(list: readonly ChainRead<ListedPosition>[]) {
  return (chainId: number) => {
    const reads = list.filter(({ block }) => block.chainId === chainId)
    return { known: reads.flatMap(({ positions }) => positions.map((each) => each.whole())), omitted: 0 }
  }
}

/** Withdrawal of a position without liquidity: it calls no hook and pays nothing. */
const NOTHING: Withdrawal = { paid: { amount0: 0n, amount1: 0n } }

/**
 * Payouts of simulated full withdrawals, for positions whose hook runs on withdrawal, by position, at the block of
 * their read. Sends no request if `known` has all that have liquidity. Throws as `readWithdrawals`.
 */
async function readCompleteWithdrawals(
  positions: readonly Position[],
  { block, known, ...target }: WithdrawalTarget & { readonly block: Block; readonly known: Withdrawals['byId'] },
  work: Work,
): Promise<ReadonlyMap<Position, Withdrawal>> {
  const withdrawals = new Map<Position, Withdrawal>()
  const unexecuted: Position[] = []
  for (const position of positions) {
    const withdrawal = known.get(position.tokenId)
    if (withdrawal !== undefined) withdrawals.set(position, withdrawal)
    else if (needsWithdrawal(position)) unexecuted.push(position)
    else if (mayChangeWithdrawal(position.pool.hooks)) withdrawals.set(position, NOTHING)
  }
  for (const [owner, ownPositions] of groupBy(sortByWorth(unexecuted), (position) => position.owner)) {
    const [first] = ownPositions
    if (first === undefined) continue
    const query = { owner, positions: ownPositions.map(toWithdrawalTerms), deployment: first.deployment, block }
    const { byId } = await readWithdrawals(target, query, work)
    for (const position of ownPositions) withdrawals.set(position, byId.get(position.tokenId) ?? UNSUPPORTED)
  }
  return withdrawals
}

/** Sorts positions so that what strangers gave the wallet is tried last: hooks that use up gas are called a few times only. */
function sortByWorth(positions: readonly Position[]): Position[] {
  return positions.toSorted((a, b) => getWorth(b) - getWorth(a))
}

/** Value for an order alone, US dollars. */
function getWorth(position: Position): number {
  const { token0, token1 } = position
  const { amount0, amount1 } = computeTotalHeld(position)
  const value = (amount: bigint, { price, decimals }: PricedToken) =>
    price === undefined ? 0 : Number(amount * price.units) / 10 ** (decimals + price.scale)
  return value(amount0, token0) + value(amount1, token1)
}
