import type { Address } from 'viem'
import { isSameBlock } from '../../../chain/block.ts'
import type { WithExpiry } from '../../../chain/block_cache.ts'
import { type LensAccess, type LensReading, readByLens } from '../../../chain/call/lens.ts'
import { readLatestBlock } from '../../../chain/evm/read_block.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import { ListTooLongError } from '../../../finance/liquidity/list/selection.ts'
import { createSpamFilter } from '../../../finance/token/spam_filter.ts'
import { allOrAbort } from '../../../lib/async/all_or_abort.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createLru } from '../../../lib/lru.ts'
import { createHistoricalTargets, type HistoricalTargets } from '../../historical_targets.ts'
import {
  addPoolPrices,
  createReadingCaches,
  forEachChain,
  getReadLimits,
  readTargetByLens,
  type TargetReads,
} from '../../managed_targets.ts'
import { createTargets } from '../../target.ts'
import { computeTotalHeld } from '../math/figures.ts'
import { mayChangeWithdrawal, needsWithdrawal } from '../math/hooks.ts'
import type { UniswapV4Deployment } from '../table/deployments.ts'
import { createOwnershipReader, type FindOwnedIds, type ReadAllOwned } from './ownership.ts'
import type { BriefPosition, ChainRead, FullPosition, ListedPosition, Position } from './position.ts'
import { getDeployment, LENS, type OwnedRead, readOwned, readSingle, type UniswapV4Target } from './queries.ts'
import { executeWithdrawals, readCompleteWithdrawals } from './withdrawals.ts'

/** Most positions of one wallet on one chain. A longer list is refused, not cut. */
const LIST_MAX = 2_000
/** Withdrawals that one call executes, and for how many wallets it is remembered which they are. */
const HOOKED_MAX = 25
const HOOKED_WALLETS_MAX = 5_000
/** Reads positions, each chain at one block. */
export interface PositionReader {
  /** Chains that have this family, by id. */
  readonly places: ReadonlyMap<number, UniswapV4Target>
  readonly past: HistoricalTargets<UniswapV4Deployment>
  readonly readAllOwned: ReadAllOwned
  /**
   * All positions of a wallet on the places given, which are asked at the same time. If one place fails, throws
   * `UnavailableError` that names the chain, or the check `ownership`; `PendingError` until it is known which they are;
   * `ListTooLongError` if they are more than 2,000 on one chain.
   */
  readWallet(wallet: Address, options: ReadWalletFrom): Promise<WithExpiry<ChainRead<ListedPosition>>[]>
  /** The positions of one id on the places given, spam included. Throws `UnavailableError`. */
  readOne(tokenId: bigint, options: ReadFrom): Promise<WithExpiry<ChainRead>[]>
  /**
   * Positions in their order with all that their figures need: prices by pools for tokens that nobody else prices, and
   * executed withdrawals if hooks see them. Fails like `readOne`.
   */
  readFull(positions: readonly Position[], at: ReadAt): Promise<readonly FullPosition[]>
}

/** Where and when positions are read, and until when anyone waits. */
type ReadFrom = Omit<TargetReads<UniswapV4Deployment>, 'reads'>

interface ReadWalletFrom extends ReadFrom {
  /** Executes withdrawals in the same call if hooks are known to see them. @default {false} */
  readonly full?: boolean
}

/** The same with the readings. */
type ReadAt = TargetReads<UniswapV4Deployment, Pick<ChainRead<BriefPosition>, 'block' | 'withdrawals'>>

/** Makes a reader over the chains that are configured and have deployments. */
export function createPositionReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, UniswapV4Deployment>
  readonly find: FindOwnedIds
  readonly clock: Clock
}): PositionReader {
  const { clients, find, clock } = options
  const deployments = new Map([...options.deployments].map(([id, each]) => [id, [each]] as const))
  const { judge } = createSpamFilter()
  const readAllOwned = createOwnershipReader(find)
  const { lists, singles } = createReadingCaches<ChainRead<ListedPosition>, ChainRead>(clock)
  /** Positions of wallets whose withdrawals must be executed to be known, as they were last read. */
  const hooked = createLru<readonly bigint[]>({ entriesMax: HOOKED_WALLETS_MAX })

  const ask = <Answer>(
    place: UniswapV4Target,
    read: LensReading<Answer>['read'],
    signal: AbortSignal,
  ): Promise<Answer> => readTargetByLens(place, { ...LENS, clock, read }, signal)

  /** The same, with withdrawals of positions that are known to need it, in one call. */
  function askFull(
    place: UniswapV4Target,
    asked: {
      readonly read: (lens: LensAccess) => Promise<OwnedRead>
      readonly seen: readonly bigint[]
      readonly wallet: Address
    },
    signal: AbortSignal,
  ): Promise<OwnedRead> {
    const { client, block: at } = place
    const chainId = client.chain.id
    const question = { owner: asked.wallet, ids: asked.seen, deployment: getDeployment(place), block: at }
    const lens = { ...LENS, chainId, at, clock, read: asked.read }
    const limits = { ...getReadLimits(place, signal), together: true }
    return client.read(async (endpoint, within) => {
      const [owned, { block, byId }] = await Promise.all([
        readByLens(endpoint, lens, within),
        executeWithdrawals({ endpoint, chainId, clock }, question, within),
      ])
      if (block !== undefined && !isSameBlock(block, owned.block)) return owned
      return { ...owned, read: { ...owned.read, withdrawals: byId } }
    }, limits)
  }

  function remember(key: string, { positions }: ChainRead<BriefPosition>): void {
    const seen = positions.filter(needsWithdrawal).map(({ tokenId }) => tokenId)
    if (seen.length > 0 && seen.length <= HOOKED_MAX) hooked.set(key, seen)
    else hooked.delete(key)
  }

  async function readList(
    { wallet, full }: { readonly wallet: Address; readonly full: boolean },
    place: UniswapV4Target,
    signal: AbortSignal,
  ): Promise<ChainRead<ListedPosition>> {
    const { client, block } = place
    const asked = { chain: client.chain, deployment: getDeployment(place), judge, spam: 'apart' } as const
    const key = `${client.chain.id}:${wallet}`
    const { balance, read } = await readAllOwned(
      { wallet, client, deployment: asked.deployment, positionsMax: LIST_MAX },
      {
        block,
        read: (ids, at) => {
          const there = { ...place, ...(at && { block: at }) }
          const question = { wallet, ids, positionsMax: LIST_MAX }
          const read = (lens: LensAccess) => readOwned(lens, question, asked)
          const seen = full ? hooked.get(key) : undefined
          if (seen === undefined) return ask(there, read, signal)
          return askFull(there, { read, seen, wallet }, signal)
        },
        pin: () =>
          client.read(
            (endpoint, within) => readLatestBlock(endpoint, client.chain.id, within),
            getReadLimits(place, signal),
          ),
      },
      signal,
    )
    if (balance > BigInt(LIST_MAX)) throw new ListTooLongError(balance, client.chain, LIST_MAX)
    remember(key, read)
    return read
  }

  async function withdrawals(positions: readonly Position[], at: ReadAt) {
    const seen = positions.filter(({ pool }) => mayChangeWithdrawal(pool.hooks))
    const paid = await forEachChain(seen, at, ({ positions: here, place, read }, signal) => {
      const { block, withdrawals: known = new Map() } = read
      const where = { block, known, chainId: block.chainId, clock }
      const limits = getReadLimits(place, signal)
      return place.client.read(
        (endpoint, within) => readCompleteWithdrawals(here, { endpoint, ...where }, within),
        limits,
      )
    })
    return new Map(paid.flatMap((each) => [...each]))
  }

  return {
    readAllOwned,
    places: createTargets(clients, deployments),
    past: createHistoricalTargets<UniswapV4Deployment>({
      name: 'Uniswap V4',
      clock,
      contractOf: ({ positionManager }) => positionManager,
      isAskedEarly: true,
    }),
    readWallet(wallet, { places, full = false, signal }) {
      const tasks = places.map((place) => (shared: AbortSignal) => {
        const read = (all: AbortSignal) => readList({ wallet, full }, place, all)
        return lists.reuse({ ...keptAs(`wallet:${wallet.toLowerCase()}:${full}`, place), read }, shared)
      })
      return allOrAbort(tasks, signal)
    },
    readOne(tokenId, { places, signal }) {
      const tasks = places.map((place) => (shared: AbortSignal) => {
        const asked = { chain: place.client.chain, deployment: getDeployment(place), judge }
        const read = (all: AbortSignal) => ask(place, (lens) => readSingle(lens, tokenId, asked), all)
        return singles.reuse({ ...keptAs(`one:${tokenId}`, place), read }, shared)
      })
      return allOrAbort(tasks, signal)
    },
    async readFull(positions, at) {
      const pricing = { amountsOf: computeTotalHeld, clock }
      const [priced, paid] = await Promise.all([addPoolPrices(positions, at, pricing), withdrawals(positions, at)])
      return positions.map((each, index) => ({ position: priced[index] ?? each, withdrawal: paid.get(each) }))
    },
  }
}

/** Under which chain and key the answer to a question is kept. */
function keptAs(question: string, { client, block }: UniswapV4Target) {
  return { chain: client.chain, key: `uniswap_v4:${block?.hash ?? ''}:${question}` }
}
