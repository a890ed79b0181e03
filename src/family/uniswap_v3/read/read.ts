import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { createBlockCache, type Fresh } from '../../../chain/block_cache.ts'
import { type LensWay, readByLens } from '../../../chain/call/lens.ts'
import type { FinanceClient } from '../../../finance/chain.ts'
import type { UnreadablePosition } from '../../../finance/liquidity/list/sort_out.ts'
import { withPoolPrices } from '../../../finance/price/pool/read_pair_prices.ts'
import { createTokenJudge } from '../../../finance/token/judge.ts'
import { together } from '../../../lib/async/together.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { createPastPlaces, type PastPlaces } from '../../past.ts'
import { placesOf, readingOf } from '../../place.ts'
import { allHeldIn } from '../math/figures.ts'
import type { UniswapV3Deployment } from '../table/deployments.ts'
import type { BriefPosition, ChainRead, ListedPosition, Position } from './position.ts'
import {
  type Asked,
  LENS,
  oneQuestion,
  type Question,
  scanQuestion,
  someQuestion,
  type UniswapV3Place,
  walletQuestion,
} from './questions.ts'

/** Time for one question to one chain over all its pages and tries. */
const BUDGET_MS = 4_500
/** Up to this many positions of one wallet on one chain, all are read whole. */
const WHOLE_MAX = 1_000
/** Readings are kept until the next block: at most this many of a chain, at most this many bytes over all chains. */
const CACHE_ENTRIES_MAX = 2_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
const POSITION_BYTES = 2_048
/** A position in brief, spam or unreadable. */
const BRIEF_BYTES = 256

/** Reads positions, each chain at one block. */
export interface PositionReader {
  /** Chains that have this family, by id. */
  readonly places: ReadonlyMap<number, UniswapV3Place>
  readonly past: PastPlaces<UniswapV3Deployment>
  /**
   * All positions of a wallet on the places given, which are asked at the same time; a long list is read in brief. If
   * one place fails, throws `UnavailableError` that names the chain; `ListTooLongError` if a list is too long.
   */
  readWallet(wallet: Address, options: PositionReadOptions): Promise<Fresh<ChainRead<BriefPosition>>[]>
  /** Positions of a wallet's list whole, in the order given, each at the block of its list. Fails like `readWallet`. */
  complete(wallet: Address, request: CompleteRequest): Promise<Completed>
  /** The positions of one id on all managers of the places given, spam included. Fails like `readWallet`. */
  readOne(tokenId: bigint, options: PositionReadOptions): Promise<Fresh<ChainRead>[]>
  /** Positions in their order, with prices by pools for tokens that nobody else prices. Fails like `readWallet`. */
  priceByPools(positions: readonly Position[], at: ReadPlaces): Promise<readonly Position[]>
}

/** Where and when positions were read, and until when anyone waits. */
interface ReadPlaces extends PositionReadOptions {
  readonly reads: readonly { readonly block: Block }[]
}

export interface PositionReadOptions {
  readonly places: readonly UniswapV3Place[]
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

interface Completed {
  readonly positions: readonly Position[]
  /** Those whose tokens or pools now answer differently: a hostile token can tell readings apart. */
  readonly unreadable: readonly UnreadablePosition[]
}

/**
 * Makes a reader over the chains that are configured and have deployments. `ways` narrows the ways of reading; lists of
 * more than `wholeMax` positions are read in brief, 1,000 unless told otherwise.
 */
export function createPositionReader(options: {
  readonly clients: ReadonlyMap<number, FinanceClient>
  readonly deployments: ReadonlyMap<number, readonly UniswapV3Deployment[]>
  readonly clock: Clock
  readonly ways?: readonly LensWay[]
  readonly wholeMax?: number
}): PositionReader {
  const { clients, clock, ways, wholeMax = WHOLE_MAX } = options
  const places = placesOf(clients, options.deployments)
  const { judge } = createTokenJudge()
  const limits = { clock, entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX / 2, bytesOf }
  const lists = createBlockCache<ChainRead<BriefPosition>>(limits)
  const singles = createBlockCache<ChainRead>(limits)

  function ask<Answer>(question: Question<Answer>, place: UniswapV3Place, signal: AbortSignal): Promise<Answer> {
    const { client, block: at } = place
    const lens = { ...LENS, chainId: client.chain.id, at, ways, clock }
    return client.read((endpoint, within) => readByLens(endpoint, { ...lens, read: question.read }, within), {
      signal,
      budgetMs: BUDGET_MS,
      ...readingOf(place),
    })
  }

  function readList(wallet: Address, asked: Asked, signal: AbortSignal) {
    const { place } = asked
    const whole = walletQuestion({ wallet, wholeMax }, asked)
    const read = async (shared: AbortSignal): Promise<ChainRead<BriefPosition>> =>
      (await ask(whole, place, shared)) ?? (await ask(scanQuestion(wallet, asked), place, shared))
    return lists.reuse({ ...keptAs(whole.key, place), read }, signal)
  }

  function readSingle(
    question: Question<ChainRead>,
    place: UniswapV3Place,
    signal: AbortSignal,
  ): Promise<Fresh<ChainRead>> {
    const read = (shared: AbortSignal): Promise<ChainRead> => ask(question, place, shared)
    return singles.reuse({ ...keptAs(question.key, place), read }, signal)
  }

  return {
    places,
    past: createPastPlaces<UniswapV3Deployment>({ name: 'Uniswap V3', clock, contractOf: ({ manager }) => manager }),
    readWallet(wallet, { places, isPriced = true, signal }) {
      const tasks = places.map((place) => (shared: AbortSignal) => readList(wallet, { place, judge, isPriced }, shared))
      return together(tasks, signal)
    },
    readOne(tokenId, { places, isPriced = true, signal }) {
      const tasks = places.map((place) => {
        const question = oneQuestion(tokenId, { place, judge, isPriced })
        return (shared: AbortSignal) => readSingle(question, place, shared)
      })
      return together(tasks, signal)
    },
    async priceByPools(positions, { places, reads, signal }) {
      const tasks = reads.flatMap(({ block }) => {
        const here = positions.filter(({ chainId }) => chainId === block.chainId)
        const place = places.find(({ client }) => client.chain.id === block.chainId)
        if (place === undefined || here.length === 0) return []
        const pairs = { pairs: here, amountsOf: allHeldIn, client: place.client, block, reading: readingOf(place) }
        return [(shared: AbortSignal) => withPoolPrices(pairs, clock, shared)]
      })
      const priced = (await together(tasks, signal)).flat()
      return positions.map((position) => priced.find(isSameAs(position)) ?? position)
    },
    async complete(wallet, { reads, positions, isPriced = true, signal }) {
      const tasks = reads.flatMap(({ block }) => {
        const place = places.get(block.chainId)
        const brief = positions.filter((each) => each.chainId === block.chainId && !isListed(each))
        if (place === undefined || brief.length === 0) return []
        const picks = brief.map(({ deployment, tokenId }) => ({
          manager: place.deployments.indexOf(deployment),
          tokenId,
        }))
        const { hash } = block
        if (hash === undefined) throw new UpstreamError('Cannot complete positions of a block that was not pinned')
        const pinned = { ...place, block: { ...block, hash } }
        const question = someQuestion({ owner: wallet, picks, block: pinned.block }, { place: pinned, judge, isPriced })
        return [(shared: AbortSignal) => readSingle(question, pinned, shared)]
      })
      const completed = await together(tasks, signal)
      const found = completed.flatMap((read) => read.positions)
      return {
        positions: positions.flatMap((each) => (isListed(each) ? each.whole() : (found.find(isSameAs(each)) ?? []))),
        unreadable: completed.flatMap((read) => read.unreadable),
      }
    },
  }
}

/** Under which chain and key the answer to a question is kept. */
function keptAs(question: string, { client, deployments, block }: UniswapV3Place) {
  const managers = deployments.map(({ manager }) => manager).join()
  return { chain: client.chain, key: `uniswap_v3:${block?.hash ?? ''}:${question}:${managers}` }
}

function bytesOf({ positions, spams, unreadable }: ChainRead<BriefPosition>): number {
  const [first] = positions
  const isBrief = first !== undefined && !('token0' in first || isListed(first))
  const positionBytes = isBrief ? BRIEF_BYTES : POSITION_BYTES
  return POSITION_BYTES + positionBytes * positions.length + BRIEF_BYTES * (spams.length + unreadable.length)
}

function isListed(position: BriefPosition): position is ListedPosition {
  return 'whole' in position
}

function isSameAs({ chainId, deployment, tokenId }: BriefPosition) {
  return (each: Position): boolean =>
    each.chainId === chainId && each.tokenId === tokenId && each.deployment.manager === deployment.manager
}
