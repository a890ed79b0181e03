import { type Address, zeroAddress } from 'viem'
import type { Block } from '../chain/block.ts'
import type { ClassifiedPositions } from '../finance/liquidity/list/classify.ts'
import { ambiguousPositionError, selectOnlyPosition } from '../finance/liquidity/list/selection.ts'
import type { OwnPrice } from '../finance/liquidity/position_history/flow_price.ts'
import type { PnlOutcome, PnlState } from '../finance/liquidity/position_history/pnl.ts'
import { type HistoryAtBlock, readPnlOutcomes } from '../finance/liquidity/position_history/pnl_outcome.ts'
import type {
  PositionHistory,
  PositionHistoryQuery,
  PositionHistoryReader,
} from '../finance/liquidity/position_history/reader.ts'
import { createTimedHistories, type WaitLimits } from '../finance/liquidity/position_history/timed_histories.ts'
import type { PricedToken } from '../finance/liquidity/priced_token.ts'
import type { TokenAmounts } from '../finance/math/liquidity.ts'
import { asDirectPrice } from '../finance/price/price.ts'
import type { PendingTip } from '../history/tip.ts'
import type { Clock } from '../lib/clock.ts'
import { CodedError, UnavailableError } from '../lib/error.ts'
import type { HistoricalTargets } from './historical_targets.ts'
import type { TargetReads } from './managed_targets.ts'
import { type FamilyTarget, type Moment, readAt } from './target.ts'

/** A position as a family reads it. */
interface ManagedPosition<Deployment> {
  readonly chainId: number
  readonly tokenId: bigint
  readonly deployment: Deployment
  readonly liquidity: bigint
  readonly pool: { readonly sqrtPriceX96: bigint }
  readonly token0: PricedToken
  readonly token1: PricedToken
}

/** Whose life a family reads. */
export interface ManagedHistoryQuery<Deployment, Position> extends PositionHistoryQuery {
  readonly deployment: Deployment
  /** As it is at a block; undefined once it is burned. */
  readonly position: Position | undefined
}

/** How a family reads its positions, and what profit and loss needs to know about them. */
interface LivesSetup<Deployment extends { readonly startBlock: number }, Position> {
  readonly reader: {
    readonly past: HistoricalTargets<Deployment>
    /** The positions of an id on the places given, each at its block. Throws `UnavailableError`. */
    readOne(
      tokenId: bigint,
      from: Omit<TargetReads<Deployment>, 'reads'>,
    ): Promise<readonly (ClassifiedPositions<Position> & { readonly block: Block })[]>
  }
  readonly lives: PositionHistoryReader<ManagedHistoryQuery<Deployment, Position>>
  readonly clock: Clock
  readonly managerOf: (deployment: Deployment) => Address
  /** What withdrawing all liquidity would pay, and what collecting would. */
  readonly heldIn: (position: Position) => { readonly principal: TokenAmounts; readonly owed: TokenAmounts }
}

/** A position's life, and the position as it is at the block. */
interface PositionHistoryRead<Position> extends HistoryAtBlock {
  readonly position: Position
}

/** Where and when positions were read. */
type Reading<Deployment> = Omit<TargetReads<Deployment>, 'signal'>

interface FoundPosition<Deployment, Position> extends Reading<Deployment> {
  readonly position: Position
  readonly begun?: PendingTip | undefined
}

/** The position of an id, on these places. */
interface PositionSelection<Deployment> extends Moment {
  readonly id: bigint
  readonly places: readonly FamilyTarget<Deployment>[]
  /** If the caller named it: to look for a burned position on all chains would take too long. */
  readonly chain_id?: number | undefined
}

/** Lives of a family's positions, as its routes ask for them. */
export type PositionHistories<
  Deployment extends { readonly startBlock: number },
  Position extends ManagedPosition<Deployment>,
> = ReturnType<typeof createPositionHistories<Deployment, Position>>

/** Makes them for a family. */
export function createPositionHistories<
  Deployment extends { readonly startBlock: number },
  Position extends ManagedPosition<Deployment>,
>(setup: LivesSetup<Deployment, Position>) {
  const { reader, lives, clock, managerOf, heldIn } = setup
  const timedLives = createTimedHistories({ lives, clock })

  const only = (reads: Awaited<ReturnType<typeof reader.readOne>>, id: bigint) =>
    selectOnlyPosition(reads, { id, managerOf })

  /** A position as profit and loss counts it. */
  function stateOf(position: Position, timestampSec: bigint): PnlState {
    const { token0, token1, liquidity, pool } = position
    const { principal, owed } = heldIn(position)
    return {
      liquidity,
      timestampSec,
      sqrtPriceX96: pool.sqrtPriceX96,
      principal: [principal.amount0, principal.amount1],
      owed: [owed.amount0, owed.amount1],
      own: [ownPriceOf(token0), ownPriceOf(token1)],
    }
  }

  /** The question for the life of a position that was read, and where and when it was read. */
  function askAbout(position: Position, { places, reads }: Reading<Deployment>) {
    const { chainId, tokenId, deployment } = position
    const place = places.find(({ client }) => client.chain.id === chainId)
    const block = reads.find((read) => read.block.chainId === chainId)?.block
    if (place === undefined || block === undefined) throw new Error('Cannot tell a life without its place')
    const { client } = place
    const manager = managerOf(deployment)
    return { place, block, question: { client, manager, deployment, tokenId, position, block: block.number } }
  }

  async function lifeOf(
    found: FoundPosition<Deployment, Position>,
    signal: AbortSignal,
  ): Promise<PositionHistoryRead<Position>> {
    const { position, begun } = found
    const { chainId, tokenId, deployment } = position
    const { place, block, question } = askAbout(position, found)
    const life = await lives.read({ ...question, begun }, signal)
    if (life === undefined) throw new UnavailableError(`The mint of position ${tokenId} was not found`)
    const at = (now: Position, when: Block): PositionHistoryRead<Position> => {
      return { chainId, tokenId, life, position: now, state: stateOf(now, when.timestampSec), block: when }
    }
    if (life.end.number >= block.number) return at(position, block)
    // History ends before the newest block: everything is answered as of there.
    const earlier = { ...place, deployments: [deployment], block: life.end }
    const atEnd = only(await reader.readOne(tokenId, { places: [earlier], signal }), tokenId)
    if (atEnd === undefined) throw new UnavailableError(`Position ${tokenId} is too new: try again in a minute`)
    return at(atEnd, life.end)
  }

  async function findBurned(
    { id, places }: Pick<PositionSelection<Deployment>, 'id' | 'places'>,
    signal: AbortSignal,
  ): Promise<HistoryAtBlock | undefined> {
    const found: { readonly chainId: number; readonly manager: Address; readonly life: PositionHistory }[] = []
    for (const { client, deployments, block } of places) {
      for (const deployment of deployments) {
        const manager = managerOf(deployment)
        const question = { client, manager, deployment, tokenId: id, position: undefined, block: block?.number }
        const life = await lives.read(question, signal)
        if (life !== undefined) found.push({ chainId: client.chain.id, manager, life })
      }
    }
    if (found.length > 1) throw ambiguousPositionError(found, id)
    const [first] = found
    if (first === undefined) return undefined
    const { chainId, life } = first
    const asked = places[0]?.block
    const block = asked !== undefined && asked.number < life.end.number ? asked : life.end
    return { chainId, tokenId: id, life, state: undefined, block }
  }

  return {
    /**
     * The life of a position that was read, and the position as of where its history ends. Throws `UnavailableError`
     * until the history is complete.
     */
    of: lifeOf,
    /**
     * The life of the one position of an id, burned or not. Throws `CodedError` NOT_FOUND, or MISSING_PARAMETER naming
     * what would settle which one is meant; `UnavailableError` until its history is complete.
     */
    async find(
      { id, chain_id: chainId, places: known, ...moment }: PositionSelection<Deployment>,
      signal: AbortSignal,
    ): Promise<HistoryAtBlock> {
      const [first] = known
      const begun = first === undefined || known.length > 1 ? undefined : lives.prepare(first.client, signal)
      const { places, reads } = await readAt({ places: known, moment, past: reader.past, signal }, async (here) => ({
        places: here,
        reads: await reader.readOne(id, { places: here, signal }),
      }))
      const position = only(reads, id)
      if (position !== undefined) return await lifeOf({ position, places, reads, begun }, signal)
      if (chainId === undefined) {
        throw new CodedError(
          'NOT_FOUND',
          `There is no position ${id} on any manager asked; one that was burned needs parameter "chain_id"`,
        )
      }
      const burned = await findBurned({ id, places }, signal)
      if (burned !== undefined) return burned
      throw new CodedError('NOT_FOUND', `There never was a position ${id} on any manager asked`)
    },
    /** Profit and loss of positions of a list at the block of each, in their order. Waits and throws as `TimedLives`. */
    async outcomes(
      list: Reading<Deployment> & { readonly items: readonly Position[] },
      within: WaitLimits,
    ): Promise<readonly PnlOutcome[]> {
      const asked = list.items.map((position) => {
        const { question, block } = askAbout(position, list)
        return { question, state: stateOf(position, block.timestampSec) }
      })
      return await readPnlOutcomes(timedLives, asked, within)
    },
  }
}

/** As in the past: wrappers and pools price nothing here, but for the native token, which costs what its wrapper costs. */
function ownPriceOf({ address, price }: PricedToken): OwnPrice {
  if (address === zeroAddress && price?.source === 'wrapper') return { ...price, source: 'wrapper' }
  return asDirectPrice(price) ?? { because: 'no source of its price is configured or answers' }
}
