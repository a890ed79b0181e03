import type { TickRange } from '../../../finance/math/liquidity.ts'
import {
  addAmounts,
  type CollectSplit,
  type Flow,
  isZero,
  type Pair,
  splitCollect,
  subtractAmounts,
} from '../../../finance/math/pnl/flow.ts'
import type { Steps } from '../../../lib/async/cooperative.ts'
import { groupBy } from '../../../lib/group_by.ts'
import {
  computePairPrices,
  type FlowPrice,
  type MissingPrice,
  type OwnPrice,
  type PnlToken,
  poolPriceAt,
  rawPrices,
  toPoolPrice,
} from './flow_price.ts'
import type { PositionFlow } from './position_flow.ts'

/** Time and prices of a block with flows. */
export interface BlockFacts {
  readonly timestampSec: bigint
  /** Absent if no flow of the block needs prices. */
  readonly own?: Pair<OwnPrice>
  /** The pool's price at the end of the block, if it was read. */
  readonly sqrtPriceX96?: bigint | undefined
  /** True if a price rests on the word of one endpoint. */
  readonly isAlone?: boolean
}

/** The immutable part of a position. */
export interface PnlSubject extends TickRange {
  readonly tokens: Pair<PnlToken>
}

/** A flow with its time, its prices, and for a collect its split into principal and fees. */
export interface ValuedFlow {
  readonly row: PositionFlow
  readonly timestampSec: bigint
  /** Absent if the flow needs none. */
  readonly prices?: Pair<FlowPrice> | MissingPrice
  readonly paid?: CollectSplit
}

/** Flows of one step. */
const STEP_FLOWS = 256
const NOT_READ = { because: 'no source of its price was asked' }

/** Returns the amounts of a flow, raw units. */
export function getAmounts({ amount0, amount1 }: PositionFlow): Pair<bigint> {
  return [amount0, amount1]
}

/** Liquidity after all flows; negative if flows are missing. */
export function liquidityAfter(rows: readonly PositionFlow[]): bigint {
  return rows.reduce((sum, { kind, liquidity }) => sum + (kind === 'decrease' ? -liquidity : liquidity), 0n)
}

/** Withdrawn and uncollected tokens after all flows, raw units. */
export function pendingAfter(rows: readonly PositionFlow[]): Pair<bigint> {
  return rows.reduce<Pair<bigint>>(advancePending, [0n, 0n])
}

/** Blocks whose prices are needed: of deposits, of payments, and of the last flow, where a closed history ends. */
export function pricedBlocks(rows: readonly PositionFlow[]): ReadonlySet<number> {
  const last = lastFlow(rows)
  return new Set(rows.filter((row) => isPriced(row) || row === last).map(({ block }) => block))
}

/** The last flow except collects of nothing, which an owner can repeat without end. */
export function lastFlow(rows: readonly PositionFlow[]): PositionFlow | undefined {
  return rows.findLast((row) => row.kind !== 'collect' || !isZero(getAmounts(row)))
}

/**
 * Adds time, prices and splits to flows, in their order, in steps. Throws `RangeError` if `facts` lacks the block of a
 * flow.
 */
export function* valueFlowsInSteps(
  rows: readonly PositionFlow[],
  { subject, facts }: { readonly subject: PnlSubject; readonly facts: ReadonlyMap<number, BlockFacts> },
): Steps<ValuedFlow[]> {
  const last = lastFlow(rows)
  const byBlock = groupBy(rows, ({ block }) => block)
  const flows: ValuedFlow[] = []
  let pending: Pair<bigint> = [0n, 0n]

  function computePrices(row: PositionFlow, { own = [NOT_READ, NOT_READ], sqrtPriceX96 }: BlockFacts) {
    if (!own.some((price) => 'because' in price)) return computePairPrices(subject.tokens, own, undefined)
    const atFlow = poolPriceAt(row, byBlock.get(row.block) ?? [], subject)
    const pool = atFlow ?? (sqrtPriceX96 === undefined ? undefined : toPoolPrice(sqrtPriceX96))
    return computePairPrices(subject.tokens, own, pool)
  }

  for (const row of rows) {
    const blockFacts = facts.get(row.block)
    if (blockFacts === undefined) throw new RangeError(`Cannot value flows: no facts about block ${row.block}`)
    const { timestampSec } = blockFacts
    const priced = isPriced(row) || row === last ? { prices: computePrices(row, blockFacts) } : {}
    const paid = row.kind === 'collect' ? { paid: splitCollect(getAmounts(row), pending) } : {}
    pending = advancePending(pending, row)
    flows.push({ row, timestampSec, ...priced, ...paid })
    if (flows.length % STEP_FLOWS === 0) yield
  }
  return flows
}

/** The first price that profit and loss lacks; undefined if all are there. */
export function missingPrice(flows: readonly ValuedFlow[]): MissingPrice | undefined {
  for (const { row, prices } of flows) {
    if (row.kind !== 'decrease' && isPriced(row) && prices !== undefined && 'because' in prices) return prices
  }
  return undefined
}

/** Converts flows to the input of profit and loss, without those whose price is missing. */
export function* toPnlFlows(flows: readonly ValuedFlow[], tokens: Pair<PnlToken>): Generator<Flow, void, undefined> {
  for (const { row, timestampSec: timeSec, prices } of flows) {
    const amounts = getAmounts(row)
    if (row.kind === 'decrease') yield { kind: 'decrease', timeSec, liquidity: row.liquidity, amounts }
    if (row.kind === 'decrease' || !isPriced(row) || prices === undefined || 'because' in prices) continue
    const shared = { timeSec, amounts, prices: rawPrices(tokens, prices) }
    if (row.kind === 'increase') yield { kind: 'increase', liquidity: row.liquidity, ...shared }
    else yield { kind: 'collect', ...shared }
  }
}

function isPriced(row: PositionFlow): boolean {
  return row.kind === 'increase' || (row.kind === 'collect' && !isZero(getAmounts(row)))
}

function advancePending(pending: Pair<bigint>, row: PositionFlow): Pair<bigint> {
  if (row.kind === 'increase') return pending
  const amounts = getAmounts(row)
  return row.kind === 'decrease'
    ? addAmounts(pending, amounts)
    : subtractAmounts(pending, splitCollect(amounts, pending).principal)
}
