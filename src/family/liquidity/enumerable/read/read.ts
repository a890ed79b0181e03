import { type Address, isAddressEqual } from 'viem'
import { type LensAccess, readByLens } from '../../../../chain/call/lens.ts'
import type { Endpoint } from '../../../../chain/rpc/client.ts'
import type { FinanceClient } from '../../../../finance/chain.ts'
import type { FirstBlocks } from '../../../../finance/first_blocks.ts'
import { createSpamFilter } from '../../../../finance/token/spam.ts'
import { allOrAbort } from '../../../../lib/async/parallel.ts'
import type { Work } from '../../../../lib/async/work.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { UpstreamError } from '../../../../lib/error.ts'
import { createHistoricalTargets, createTargets } from '../../../moment.ts'
import type { LiquidityReader } from '../../protocol.ts'
import { addPoolPrices, createReadingCaches, forEachChain, getReadLimits } from '../../targets.ts'
import { type EnumerableDeployment, type EnumerableExchange, listHolders, type PositionHolder } from '../exchange.ts'
import { computeTotalHeld } from '../math.ts'
import { readByCustodianPages } from './custodian_pages.ts'
import type { BriefPosition, ChainRead, ListedPosition, Position } from './position.ts'
import {
  type EnumerableTarget,
  type LensQueryContext,
  readHeld,
  readList,
  readOne,
  readScan,
  readSome,
} from './queries.ts'
import { readRegistered } from './registry.ts'

/** Up to this many positions of one wallet on one chain, all are read whole. */
const WHOLE_MAX = 1_000
/**
 * Positions of each kind that are read whole for a list that is shown in pages: enough for the first pages of any length.
 * A position takes 414 bytes whole, 52 in brief.
 */
const FIRST_MAX = 100

/** Reads positions of an exchange. */
export type PositionReader = LiquidityReader<EnumerableDeployment, BriefPosition, Position, never>

/**
 * Creates a reader over the chains that are configured and have deployments. Lists of more than `wholeMax` positions
 * (default 1,000) are read in brief. One call asks at most `custodiansMax` custodians of registries (default 2,000).
 */
export function createPositionReader(
  exchange: EnumerableExchange,
  options: {
    readonly clients: ReadonlyMap<number, FinanceClient>
    readonly deployments: ReadonlyMap<number, readonly EnumerableDeployment[]>
    readonly clock: Clock
    readonly firstBlocks?: FirstBlocks | undefined
    readonly wholeMax?: number
    readonly custodiansMax?: number
  },
): PositionReader {
  const { clients, clock, wholeMax = WHOLE_MAX, custodiansMax } = options
  const targets = createTargets(clients, options.deployments)
  const { classify: classifyToken } = createSpamFilter()
  const { lists, singles } = createReadingCaches<ChainRead<BriefPosition>, ChainRead>(clock)

  const past = createHistoricalTargets<EnumerableDeployment>({
    name: exchange.words.exchange,
    clock,
    firstBlocks: options.firstBlocks,
    getContract: ({ manager }) => manager,
  })

  const readTarget = <Answer>(context: LensQueryContext, read: ReadByLens<Answer>, work: Work) =>
    context.target.client.read(
      (endpoint, within) =>
        past.readDeployed(
          context.target,
          (target) => {
            const { client, block: at } = target
            const readHere = (lens: LensAccess) => read(lens, { ...context, target }, endpoint)
            return readByLens(
              endpoint,
              { ...exchange.lens, clock, chainId: client.chain.id, at, read: readHere },
              within,
            )
          },
          within,
        ),
      getReadLimits(context.target, work),
    )

  /** Reads what a wallet has with all custodians that registries list. */
  function readOwned<Answer>(
    wallet: Address,
    read: (lens: LensAccess, context: LensQueryContext) => Promise<Answer>,
  ): ReadByLens<Answer> {
    return function readAll(lens, context, endpoint): Promise<Answer> {
      const { target } = context
      return readRegistered({ client: target.client, endpoint, lens, target }, (all) => {
        const left = leaveOutCustodian(all, wallet)
        // The registry of a custodian that is left out lists those of other managers too.
        return left === all
          ? readByCustodianPages({ wallet, lens, target: all, askedMax: custodiansMax }, (pinned, some) =>
              read(pinned, { ...context, target: some }),
            )
          : readAll(lens, { ...context, target: left }, endpoint)
      })
    }
  }

  /** Reads a wallet's list whole, or in brief if it is long; with `firstMax` only its first positions whole. */
  function readListOnce(
    wallet: Address,
    { target: asked, ...options }: LensQueryContext,
    work: Work,
    firstMax?: number,
  ) {
    const { isPriced } = options
    const target = leaveOutCustodian(asked, wallet)
    const context = { ...options, target }
    const query = { wallet, wholeMax, ...(firstMax !== undefined && { firstMax }) }
    const read = async (shared: Work): Promise<ChainRead<BriefPosition>> =>
      (await readTarget(
        context,
        readOwned(wallet, (lens, all) => readList(lens, query, all)),
        shared,
      )) ??
      (await readTarget(
        context,
        readOwned(wallet, (lens, all) => readScan(lens, wallet, all)),
        shared,
      ))
    const key = `wallet:${wallet.toLowerCase()}:${isPriced}${firstMax === undefined ? '' : ':first'}`
    return lists.reuse({ ...toCacheKey(key, target), read }, work)
  }

  /**
   * Reads a wallet's list, of which the first `shownMax` positions of each kind can be completed. Read again, whole, is
   * only a list of which a later page is shown, or whose manager enumerates in another order than answers have.
   */
  async function readShown(wallet: Address, context: LensQueryContext, work: Work, shownMax: number) {
    const read = await readListOnce(wallet, context, work, FIRST_MAX)
    return canShow(read, shownMax) ? read : await readListOnce(wallet, context, work)
  }

  return {
    targets,
    past,
    readWallet(wallet, { targets, isFull: isPriced = true, shownMax, work }) {
      const tasks = targets.map((target) => (shared: Work) => {
        const context = { target, classifyToken, isPriced }
        return shownMax === undefined
          ? readListOnce(wallet, context, shared)
          : readShown(wallet, context, shared, shownMax)
      })
      return allOrAbort(tasks, work)
    },
    readOne(tokenId, { targets, isFull: isPriced = true, work }) {
      const tasks = targets.map((target) => (shared: Work) => {
        const context = { target, classifyToken, isPriced }
        const read = (all: Work) => readTarget(context, (lens, deployed) => readOne(lens, tokenId, deployed), all)
        return singles.reuse({ ...toCacheKey(`one:${tokenId}:${isPriced}`, target), read }, shared)
      })
      return allOrAbort(tasks, work)
    },
    async readFull(positions, targetReads, list) {
      const listHeld = list && ((chainId: number) => findHeld(list, { chainId, positions }))
      const priced = await addPoolPrices(positions, targetReads, { getAmounts: computeTotalHeld, listHeld, clock })
      return priced.map((position) => ({ position, withdrawal: undefined }))
    },
    async readHeld({ wallet, ...dated }, { endpoint, block: at, positionsMax }, work) {
      const lens = { ...exchange.lens, chainId: dated.client.chain.id, at, clock }
      const { count, read } = await past.readDeployed(
        dated,
        (target) => {
          const context = { target: leaveOutCustodian(target, wallet), classifyToken, isPriced: true }
          const readAll = readOwned(wallet, (access, all) => readHeld(access, { wallet, wholeMax: positionsMax }, all))
          return readByLens(endpoint, { ...lens, read: (access) => readAll(access, context, endpoint) }, work)
        },
        work,
      )
      return { block: read.block, count, positions: read.positions, unreadable: read.unreadable }
    },
    async complete(wallet, { reads, positions, isFull: isPriced = true, work }) {
      const brief = positions.filter((each) => !isListed(each))
      const targetReads = { targets: [...targets.values()], reads, work }
      const completed = await forEachChain(
        brief,
        targetReads,
        async ({ positions: here, target, read: { block } }, shared) => {
          const { hash } = block
          if (hash === undefined) throw new UpstreamError('Cannot complete positions: the block is not pinned')
          const pinned = { ...block, hash }
          const context = { target: { ...target, block: pinned }, classifyToken, isPriced }
          const holders = listHolders(context.target)
          const refs = here.map((position) => ({
            manager: holders.findIndex((each) => isHeldBy(position, each)),
            tokenId: position.tokenId,
          }))
          const selected = { owner: wallet, refs, block: pinned }
          const names = refs.map(({ manager, tokenId }) => `${manager}-${tokenId}`)
          const key = `some:${hash}:${wallet.toLowerCase()}:${names.join()}:${isPriced}`
          const read = (all: Work) => readTarget(context, (lens, deployed) => readSome(lens, selected, deployed), all)
          return await singles.reuse({ ...toCacheKey(key, context.target), read }, shared)
        },
      )
      const wholePositions = completed.flatMap((read) => read.positions)
      return {
        positions: positions.flatMap((each) =>
          isListed(each) ? each.whole() : (wholePositions.find(isSameAs(each)) ?? []),
        ),
        unreadable: completed.flatMap((read) => read.unreadable),
      }
    },
  }
}

type ReadByLens<Answer> = (
  lens: LensAccess,
  context: LensQueryContext,
  endpoint: Pick<Endpoint, 'learned'>,
) => Promise<Answer>

/** A custodian owns none of the positions that it holds: they are those of the wallets that it credits them to. */
function leaveOutCustodian(target: EnumerableTarget, wallet: Address): EnumerableTarget {
  const isWallet = ({ custodian }: PositionHolder) =>
    custodian !== undefined && isAddressEqual(custodian.address, wallet)
  const holding = new Set(
    listHolders(target)
      .filter(isWallet)
      .map(({ deployment }) => deployment),
  )
  if (holding.size === 0) return target
  const { registered: _, registries: __, ...plain } = target
  return { ...plain, deployments: target.deployments.filter((each) => !holding.has(each)) }
}

/** True if a row has the position; a registry's stands for all custodians that it lists. */
function isHeldBy({ deployment, custodian }: BriefPosition, holder: PositionHolder): boolean {
  if (holder.deployment !== deployment) return false
  const isRegistered = custodian !== undefined && !deployment.custodians?.includes(custodian)
  return holder.custodian === (isRegistered ? deployment.registry : custodian)
}

/** Chain and key under which the answer to a query is cached. */
function toCacheKey(query: string, { client, deployments, block }: EnumerableTarget) {
  const managers = deployments.map(({ manager }) => manager).join()
  return { chain: client.chain, key: `${block?.hash ?? ''}:${query}:${managers}` }
}

/** Finds all positions of a wallet's list on a chain; of a long list, only those that were completed are known. */
function findHeld(
  list: readonly ChainRead<BriefPosition>[],
  { chainId, positions }: { readonly chainId: number; readonly positions: readonly Position[] },
) {
  const all = list.filter(({ block }) => block.chainId === chainId).flatMap((read) => read.positions)
  const known = all.every(isListed)
    ? all.map((each) => each.whole())
    : positions.filter((each) => each.chainId === chainId)
  return { known, omitted: Math.max(all.length - known.length, 0) }
}

/** True if the first `shownMax` positions with liquidity, and without, can be completed. */
function canShow({ block, positions }: ChainRead<BriefPosition>, shownMax: number): boolean {
  // Where the block is pinned, positions can be read at it.
  if (block.hash !== undefined) return true
  const left = { open: shownMax, closed: shownMax }
  return positions.every((position) => left[position.liquidity > 0n ? 'open' : 'closed']-- <= 0 || isListed(position))
}

function isListed(position: BriefPosition): position is ListedPosition {
  return 'whole' in position
}

function isSameAs({ chainId, deployment, tokenId }: BriefPosition) {
  return (each: Position): boolean =>
    each.chainId === chainId && each.tokenId === tokenId && each.deployment.manager === deployment.manager
}
