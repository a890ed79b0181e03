import { type Address, isAddressEqual } from 'viem'
import type { Block } from '../chain/block.ts'
import { createBlockCache } from '../chain/block_cache.ts'
import { type LensReading, readByLens } from '../chain/call/lens.ts'
import type { ClassifiedPositions } from '../finance/liquidity/list/classify.ts'
import { ListTooLongError, unknownManagerError } from '../finance/liquidity/list/selection.ts'
import type { PricedToken } from '../finance/liquidity/priced_token.ts'
import type { TokenAmounts } from '../finance/math/liquidity.ts'
import { withPoolPrices } from '../finance/price/pool/read_pair_prices.ts'
import { allOrAbort } from '../lib/async/all_or_abort.ts'
import type { Clock } from '../lib/clock.ts'
import { CodedError } from '../lib/error.ts'
import { type FamilyTarget, filterTargets, type Moment, toReadOptions } from './target.ts'

/** Time for one question to one chain over all its pages and tries. */
const BUDGET_MS = 4_500
/** Readings are kept until the next block: at most this many of a chain, at most this many bytes over all chains. */
const CACHE_ENTRIES_MAX = 2_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
const POSITION_BYTES = 2_048
/** A position in brief, spam or unreadable. */
const BRIEF_BYTES = 256

/** What the routes of a family are made from whose positions are tokens of a manager. */
export interface ManagedRoutesOptions<Reader, Lives> {
  /** All configured chains, with this family or without. */
  readonly chainIds: readonly number[]
  readonly reader: () => Reader
  readonly lives: () => Lives
}

/** What a request says about where its positions are, and when. */
export interface TargetSelection extends Moment {
  readonly chain_id?: number | undefined
  readonly manager_address?: Address | undefined
}

/** The chains to ask, with only one manager if the caller named it. `exchange` is what answers call the family. */
export function selectTargets<Deployment>(
  places: ReadonlyMap<number, FamilyTarget<Deployment>>,
  { chain_id: chainId, manager_address: manager }: TargetSelection,
  { exchange, managerOf }: { readonly exchange: string; readonly managerOf: (deployment: Deployment) => Address },
): FamilyTarget<Deployment>[] {
  const chosen = filterTargets(places, { chainId, what: `${exchange} positions` })
  if (manager === undefined) return chosen
  const narrowed = chosen.flatMap((place) => {
    const deployments = place.deployments.filter((each) => isAddressEqual(managerOf(each), manager))
    return deployments.length > 0 ? [{ ...place, deployments }] : []
  })
  if (narrowed.length > 0) return narrowed
  const known = chosen.flatMap(({ client, deployments }) =>
    deployments.map((each) => ({ chainId: client.chain.id, manager: managerOf(each) })),
  )
  throw unknownManagerError(manager, known)
}

/** What makes a mistake in the request of a list that is too long; another error stays as it is. */
export function toListError(error: unknown, { length }: readonly unknown[]): unknown {
  if (!(error instanceof ListTooLongError)) return error
  const advice = length > 1 ? ': leave the chain out with the "chain_id" parameter' : ''
  return new CodedError('INVALID_PARAMETER', `${error.message}${advice}`, { cause: error })
}

/** The limits of one question to a place. */
export function getReadLimits(place: FamilyTarget<unknown>, signal: AbortSignal) {
  return { signal, budgetMs: BUDGET_MS, ...toReadOptions(place) }
}

/** Asks a place one question by a lens. Throws as `ChainClient.read`, `readByLens`. */
export function readTargetByLens<Answer>(
  place: FamilyTarget<unknown>,
  lens: Omit<LensReading<Answer>, 'chainId' | 'at'>,
  signal: AbortSignal,
): Promise<Answer> {
  const { client, block: at } = place
  const reading = { ...lens, chainId: client.chain.id, at }
  return client.read((endpoint, within) => readByLens(endpoint, reading, within), getReadLimits(place, signal))
}

/** What was read of a chain. */
interface ChainReading extends ClassifiedPositions<object> {
  readonly block: Block
}

/** Keeps lists of wallets and readings of single positions, as a block cache does. */
export function createReadingCaches<List extends ChainReading, Single extends ChainReading>(clock: Clock) {
  const limits = { clock, entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX / 2, bytesOf }
  return { lists: createBlockCache<List>(limits), singles: createBlockCache<Single>(limits) }
}

function bytesOf({ positions, spams, unreadable }: ChainReading): number {
  const [first] = positions
  const isBrief = first !== undefined && !('token0' in first || 'whole' in first)
  const positionBytes = isBrief ? BRIEF_BYTES : POSITION_BYTES
  return POSITION_BYTES + positionBytes * positions.length + BRIEF_BYTES * (spams.length + unreadable.length)
}

/** Where and when positions were read, and until when anyone waits. */
export interface TargetReads<Deployment, Read extends { readonly block: Block } = { readonly block: Block }> {
  readonly places: readonly FamilyTarget<Deployment>[]
  readonly reads: readonly Read[]
  readonly signal: AbortSignal
}

/** Runs a task for the positions of each chain, with the place and the reading that they are from. */
export function forEachChain<
  Position extends { readonly chainId: number },
  Deployment,
  Read extends { readonly block: Block },
  Answer,
>(
  positions: readonly Position[],
  { places, reads, signal }: TargetReads<Deployment, Read>,
  task: (
    here: { readonly positions: readonly Position[]; readonly place: FamilyTarget<Deployment>; readonly read: Read },
    signal: AbortSignal,
  ) => Promise<Answer>,
): Promise<Answer[]> {
  const tasks = reads.flatMap((read) => {
    const here = positions.filter(({ chainId }) => chainId === read.block.chainId)
    const place = places.find(({ client }) => client.chain.id === read.block.chainId)
    if (place === undefined || here.length === 0) return []
    return [(shared: AbortSignal) => task({ positions: here, place, read }, shared)]
  })
  return allOrAbort(tasks, signal)
}

/**
 * Positions in their order, with prices by pools for tokens that nobody else prices; `amountsOf` gives all that is held
 * in one. Throws `UnavailableError`.
 */
export async function addPoolPrices<
  Position extends { readonly chainId: number; readonly token0: PricedToken; readonly token1: PricedToken },
>(
  positions: readonly Position[],
  at: TargetReads<unknown>,
  { amountsOf, clock }: { readonly amountsOf: (position: Position) => TokenAmounts; readonly clock: Clock },
): Promise<readonly Position[]> {
  const priced = await forEachChain(positions, at, async ({ positions: pairs, place, read: { block } }, signal) => {
    const asked = { pairs, amountsOf, client: place.client, block, reading: toReadOptions(place) }
    const found = await withPoolPrices(asked, clock, signal)
    return pairs.map((pair, index) => [pair, found[index] ?? pair] as const)
  })
  const byPosition = new Map(priced.flat())
  return positions.map((position) => byPosition.get(position) ?? position)
}
