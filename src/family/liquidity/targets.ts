import { type Address, isAddressEqual } from 'viem'
import type { Block } from '../../chain/block.ts'
import { createBlockCache } from '../../chain/block_cache.ts'
import { type LensReading, readByLens } from '../../chain/call/lens.ts'
import type { TokenAmounts } from '../../finance/math/liquidity.ts'
import { type HeldPairs, withPoolPrices } from '../../finance/price/pool/read_pair_prices.ts'
import type { PricedToken } from '../../finance/token/priced_token.ts'
import { allOrAbort } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { type FamilyTarget, filterTargets, type Moment, toReadOptions } from '../moment.ts'
import type { ClassifiedPositions } from './list/classify.ts'
import { unknownManagerError } from './list/selection.ts'

/** Time for one query to one chain over all its pages and attempts. */
const BUDGET_MS = 4_500
/** Readings are cached until the next block: at most this many of a chain, at most this many bytes over all chains. */
const CACHE_ENTRIES_MAX = 2_000
const CACHE_BYTES_MAX = 64 * 1024 * 1024
const POSITION_BYTES = 2_048
/** Size of a position in brief, of spam or of an unreadable one. */
const BRIEF_BYTES = 256

/** The part of a request that selects chain, manager and moment. */
export interface TargetSelection extends Moment {
  readonly chain_id?: number | undefined
  readonly manager_address?: Address | undefined
}

/** Selects the chains to read, with one manager only if the caller named it. */
export function selectTargets<Deployment>(
  targets: ReadonlyMap<number, FamilyTarget<Deployment>>,
  { chain_id: chainId, manager_address: manager }: TargetSelection,
  {
    words: { exchange },
    getManager,
  }: { readonly words: { readonly exchange: string }; readonly getManager: (deployment: Deployment) => Address },
): FamilyTarget<Deployment>[] {
  const chosen = filterTargets(targets, { chainId, what: `${exchange} positions` })
  if (manager === undefined) return chosen
  const narrowed = chosen.flatMap((target) => {
    const deployments = target.deployments.filter((each) => isAddressEqual(getManager(each), manager))
    return deployments.length > 0 ? [{ ...target, deployments }] : []
  })
  if (narrowed.length > 0) return narrowed
  const configured = chosen.flatMap(({ client, deployments }) =>
    deployments.map((each) => ({ chainId: client.chain.id, manager: getManager(each) })),
  )
  throw unknownManagerError(manager, configured)
}

/** The limits of one query to a target. */
export function getReadLimits(target: FamilyTarget<unknown>, work: Work) {
  return { work, budgetMs: BUDGET_MS, ...toReadOptions(target) }
}

/** Reads a target by a lens, one query. Throws as `ChainClient.read`, `readByLens`. */
export function readTargetByLens<Answer>(
  target: FamilyTarget<unknown>,
  lens: Omit<LensReading<Answer>, 'chainId' | 'at'>,
  work: Work,
): Promise<Answer> {
  const { client, block: at } = target
  const reading = { ...lens, chainId: client.chain.id, at }
  return client.read((endpoint, within) => readByLens(endpoint, reading, within), getReadLimits(target, work))
}

/** The positions read from a chain. */
interface ChainReading extends ClassifiedPositions<object> {
  readonly block: Block
}

/** Creates block caches for lists of wallets and readings of single positions. */
export function createReadingCaches<List extends ChainReading, Single extends ChainReading>(clock: Clock) {
  const limits = { clock, entriesMax: CACHE_ENTRIES_MAX, bytesMax: CACHE_BYTES_MAX / 2, getSize: getReadingBytes }
  return { lists: createBlockCache<List>(limits), singles: createBlockCache<Single>(limits) }
}

function getReadingBytes({ positions, spams, unreadable }: ChainReading): number {
  const [first] = positions
  const isBrief = first !== undefined && !('token0' in first || 'whole' in first)
  const positionBytes = isBrief ? BRIEF_BYTES : POSITION_BYTES
  return POSITION_BYTES + positionBytes * positions.length + BRIEF_BYTES * (spams.length + unreadable.length)
}

/** Targets and blocks of a reading, with the work of its request. */
export interface TargetReads<Deployment, Read extends { readonly block: Block } = { readonly block: Block }> {
  readonly targets: readonly FamilyTarget<Deployment>[]
  readonly reads: readonly Read[]
  readonly work: Work
}

/** Runs a task for the positions of each chain, with their target and their reading. */
export function forEachChain<
  Position extends { readonly chainId: number },
  Deployment,
  Read extends { readonly block: Block },
  Answer,
>(
  positions: readonly Position[],
  { targets, reads, work }: TargetReads<Deployment, Read>,
  task: (
    context: {
      readonly positions: readonly Position[]
      readonly target: FamilyTarget<Deployment>
      readonly read: Read
    },
    work: Work,
  ) => Promise<Answer>,
): Promise<Answer[]> {
  const tasks = reads.flatMap((read) => {
    const chainPositions = positions.filter(({ chainId }) => chainId === read.block.chainId)
    const target = targets.find(({ client }) => client.chain.id === read.block.chainId)
    if (target === undefined || chainPositions.length === 0) return []
    return [(shared: Work) => task({ positions: chainPositions, target, read }, shared)]
  })
  return allOrAbort(tasks, work)
}

/**
 * Positions in their order, with pool prices for tokens without any other source; `getAmounts` returns the total
 * amounts of a position. Throws `UnavailableError`.
 */
export async function addPoolPrices<
  Position extends { readonly chainId: number; readonly token0: PricedToken; readonly token1: PricedToken },
>(
  positions: readonly Position[],
  targetReads: TargetReads<unknown>,
  options: {
    readonly getAmounts: (position: Position) => TokenAmounts
    /** All positions of the wallet on a chain; absent if each of `positions` stands alone. */
    readonly listHeld: ((chainId: number) => HeldPairs<Position>) | undefined
    readonly clock: Clock
  },
): Promise<readonly Position[]> {
  const { getAmounts, listHeld, clock } = options
  const priced = await forEachChain(
    positions,
    targetReads,
    async ({ positions: pairs, target, read: { block } }, work) => {
      const query = {
        pairs,
        getAmounts,
        ...(listHeld && { listHeld: () => listHeld(block.chainId) }),
        client: target.client,
        block,
        reading: toReadOptions(target),
      }
      const pricedPairs = await withPoolPrices(query, clock, work)
      return pairs.map((pair, index) => [pair, pricedPairs[index] ?? pair] as const)
    },
  )
  const byPosition = new Map(priced.flat())
  return positions.map((position) => byPosition.get(position) ?? position)
}
