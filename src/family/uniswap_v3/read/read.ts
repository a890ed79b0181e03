import type { Address } from 'viem'
import type { WithExpiry } from '../../../chain/block_cache.ts'
import type { LensReading } from '../../../chain/call/lens.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { UnreadablePosition } from '../../../finance/liquidity/list/classify.ts'
import { createSpamFilter } from '../../../finance/token/spam_filter.ts'
import { allOrAbort } from '../../../lib/async/all_or_abort.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { createHistoricalTargets, type HistoricalTargets } from '../../historical_targets.ts'
import {
  addPoolPrices,
  createReadingCaches,
  forEachChain,
  readTargetByLens,
  type TargetReads,
} from '../../managed_targets.ts'
import { createTargets } from '../../target.ts'
import { computeTotalHeld } from '../math/figures.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import type { BriefPosition, ChainRead, ListedPosition, Position } from './position.ts'
import { LENS, type LensQueryContext, readList, readOne, readScan, readSome, type UniswapV3Target } from './queries.ts'

/** Up to this many positions of one wallet on one chain, all are read whole. */
const WHOLE_MAX = 1_000
/** Reads positions, each chain at one block. */
export interface PositionReader {
  /** Chains that have this family, by id. */
  readonly places: ReadonlyMap<number, UniswapV3Target>
  readonly past: HistoricalTargets<UniswapV3Deployment>
  /**
   * All positions of a wallet on the places given, which are asked at the same time; a long list is read in brief. If
   * one place fails, throws `UnavailableError` that names the chain; `ListTooLongError` if a list is too long.
   */
  readWallet(wallet: Address, options: PositionReadOptions): Promise<WithExpiry<ChainRead<BriefPosition>>[]>
  /** Positions of a wallet's list whole, in the order given, each at the block of its list. Fails like `readWallet`. */
  complete(wallet: Address, request: CompleteRequest): Promise<CompletedPositions>
  /** The positions of one id on all managers of the places given, spam included. Fails like `readWallet`. */
  readOne(tokenId: bigint, options: PositionReadOptions): Promise<WithExpiry<ChainRead>[]>
  /** Positions in their order, with prices by pools for tokens that nobody else prices. Fails like `readWallet`. */
  priceByPools(positions: readonly Position[], at: TargetReads<UniswapV3Deployment>): Promise<readonly Position[]>
}

export interface PositionReadOptions {
  readonly places: readonly UniswapV3Target[]
  /** False for the state alone, without what prices its tokens. @default {true} */
  readonly isPriced?: boolean
  readonly signal: AbortSignal
}

interface CompleteRequest {
  /** The list as it was read. */
  readonly reads: readonly ChainRead<BriefPosition>[]
  readonly positions: readonly BriefPosition[]
  /** As the list was read. @default {true} */
  readonly isPriced?: boolean
  readonly signal: AbortSignal
}

interface CompletedPositions {
  readonly positions: readonly Position[]
  /** Those whose tokens or pools now answer differently: a hostile token can tell readings apart. */
  readonly unreadable: readonly UnreadablePosition[]
}

/**
 * Makes a reader over the chains that are configured and have deployments. Lists of more than `wholeMax` positions are
 * read in brief, 1,000 unless told otherwise.
 */
export function createPositionReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, readonly UniswapV3Deployment[]>
  readonly clock: Clock
  readonly wholeMax?: number
}): PositionReader {
  const { clients, clock, wholeMax = WHOLE_MAX } = options
  const places = createTargets(clients, options.deployments)
  const { judge } = createSpamFilter()
  const { lists, singles } = createReadingCaches<ChainRead<BriefPosition>, ChainRead>(clock)

  const ask = <Answer>(place: UniswapV3Target, read: LensReading<Answer>['read'], signal: AbortSignal) =>
    readTargetByLens(place, { ...LENS, clock, read }, signal)

  function listOf(wallet: Address, asked: LensQueryContext, signal: AbortSignal) {
    const { place, isPriced } = asked
    const read = async (shared: AbortSignal): Promise<ChainRead<BriefPosition>> =>
      (await ask(place, (lens) => readList(lens, { wallet, wholeMax }, asked), shared)) ??
      (await ask(place, (lens) => readScan(lens, wallet, asked), shared))
    return lists.reuse({ ...keptAs(`wallet:${wallet.toLowerCase()}:${isPriced}`, place), read }, signal)
  }

  return {
    places,
    past: createHistoricalTargets<UniswapV3Deployment>({
      name: 'Uniswap V3',
      clock,
      contractOf: ({ manager }) => manager,
    }),
    readWallet(wallet, { places, isPriced = true, signal }) {
      const tasks = places.map((place) => (shared: AbortSignal) => listOf(wallet, { place, judge, isPriced }, shared))
      return allOrAbort(tasks, signal)
    },
    readOne(tokenId, { places, isPriced = true, signal }) {
      const tasks = places.map((place) => (shared: AbortSignal) => {
        const asked = { place, judge, isPriced }
        const read = (all: AbortSignal) => ask(place, (lens) => readOne(lens, tokenId, asked), all)
        return singles.reuse({ ...keptAs(`one:${tokenId}:${isPriced}`, place), read }, shared)
      })
      return allOrAbort(tasks, signal)
    },
    priceByPools: (positions, at) => addPoolPrices(positions, at, { amountsOf: computeTotalHeld, clock }),
    async complete(wallet, { reads, positions, isPriced = true, signal }) {
      const brief = positions.filter((each) => !isListed(each))
      const at = { places: [...places.values()], reads, signal }
      const completed = await forEachChain(brief, at, async ({ positions: here, place, read: { block } }, shared) => {
        const { hash } = block
        if (hash === undefined) throw new UpstreamError('Cannot complete positions of a block that was not pinned')
        const picks = here.map(({ deployment, tokenId }) => ({
          manager: place.deployments.indexOf(deployment),
          tokenId,
        }))
        const picked = { owner: wallet, picks, block: { ...block, hash } }
        const asked = { place: { ...place, block: picked.block }, judge, isPriced }
        const names = picks.map(({ manager, tokenId }) => `${manager}-${tokenId}`)
        const key = `some:${hash}:${wallet.toLowerCase()}:${names.join()}:${isPriced}`
        const read = (all: AbortSignal) => ask(asked.place, (lens) => readSome(lens, picked, asked), all)
        return await singles.reuse({ ...keptAs(key, asked.place), read }, shared)
      })
      const found = completed.flatMap((read) => read.positions)
      return {
        positions: positions.flatMap((each) => (isListed(each) ? each.whole() : (found.find(isSameAs(each)) ?? []))),
        unreadable: completed.flatMap((read) => read.unreadable),
      }
    },
  }
}

/** Under which chain and key the answer to a question is kept. */
function keptAs(question: string, { client, deployments, block }: UniswapV3Target) {
  const managers = deployments.map(({ manager }) => manager).join()
  return { chain: client.chain, key: `uniswap_v3:${block?.hash ?? ''}:${question}:${managers}` }
}

function isListed(position: BriefPosition): position is ListedPosition {
  return 'whole' in position
}

function isSameAs({ chainId, deployment, tokenId }: BriefPosition) {
  return (each: Position): boolean =>
    each.chainId === chainId && each.tokenId === tokenId && each.deployment.manager === deployment.manager
}
