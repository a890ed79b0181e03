import type { Steps } from '../../../lib/async/cooperative.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { TickRange } from '../../math/liquidity.ts'
import { type Both, type Flow, isNothing, minus, type Paid, plus, splitPaid } from '../../math/pnl/flow.ts'
import { bothPrices, type FlowPrice, type MissingPrice, type OwnPrice, type PnlToken, rawPrices } from './flow_price.ts'
import { poolPriceAt, poolPriceOf } from './pool_price.ts'
import type { PositionFlow } from './position_flow.ts'

/** What is known about a block of flows. */
export interface BlockFacts {
  readonly timestampSec: bigint
  /** Absent if no flow of the block needs prices. */
  readonly own?: Both<OwnPrice>
  /** The pool's price at the end of the block, if it was asked for. */
  readonly sqrtPriceX96?: bigint | undefined
}

/** What never changes about a position. */
export interface PnlSubject extends TickRange {
  readonly tokens: Both<PnlToken>
}

/** A flow with its time, its prices, and for a collect what of it is fees. */
export interface LifeFlow {
  readonly row: PositionFlow
  readonly timestampSec: bigint
  /** Absent if none are needed. */
  readonly prices?: Both<FlowPrice> | MissingPrice
  readonly paid?: Paid
}

/** Flows of one step. */
const STEP_FLOWS = 256
const NOT_ASKED = { because: 'no source of its price was asked' }

/** Raw units of both tokens of a flow. */
export function amountsOf({ amount0, amount1 }: PositionFlow): Both<bigint> {
  return [amount0, amount1]
}

/** Liquidity after all flows; negative if some are missing. */
export function liquidityAfter(rows: readonly PositionFlow[]): bigint {
  return rows.reduce((sum, { kind, liquidity }) => sum + (kind === 'decrease' ? -liquidity : liquidity), 0n)
}

/** Tokens that were withdrawn and not collected after all flows, raw units. */
export function pendingAfter(rows: readonly PositionFlow[]): Both<bigint> {
  return rows.reduce<Both<bigint>>(pendingNext, [0n, 0n])
}

/** Blocks whose prices are needed: of deposits, of payments, and of the last flow, at which a closed life ends. */
export function pricedBlocks(rows: readonly PositionFlow[]): ReadonlySet<number> {
  const last = lastFlow(rows)
  return new Set(rows.filter((row) => isPriced(row) || row === last).map(({ block }) => block))
}

/** The last flow that is more than a collect of nothing, which anybody who may collect can repeat for ever. */
export function lastFlow(rows: readonly PositionFlow[]): PositionFlow | undefined {
  return rows.findLast((row) => row.kind !== 'collect' || !isNothing(amountsOf(row)))
}

/**
 * Flows with what is known about their blocks, in their order, in steps. Throws `RangeError` if nothing is known about
 * one.
 */
export function* lifeInSteps(
  rows: readonly PositionFlow[],
  { subject, facts }: { readonly subject: PnlSubject; readonly facts: ReadonlyMap<number, BlockFacts> },
): Steps<LifeFlow[]> {
  const last = lastFlow(rows)
  const byBlock = groupBy(rows, ({ block }) => block)
  const life: LifeFlow[] = []
  let pending: Both<bigint> = [0n, 0n]

  function pricesOf(row: PositionFlow, { own = [NOT_ASKED, NOT_ASKED], sqrtPriceX96 }: BlockFacts) {
    if (!own.some((price) => 'because' in price)) return bothPrices(subject.tokens, own, undefined)
    const atFlow = poolPriceAt(row, byBlock.get(row.block) ?? [], subject)
    const pool = atFlow ?? (sqrtPriceX96 === undefined ? undefined : poolPriceOf(sqrtPriceX96))
    return bothPrices(subject.tokens, own, pool)
  }

  for (const row of rows) {
    const known = facts.get(row.block)
    if (known === undefined) throw new RangeError(`Cannot tell a life: nothing is known about block ${row.block}`)
    const { timestampSec } = known
    const priced = isPriced(row) || row === last ? { prices: pricesOf(row, known) } : {}
    const paid = row.kind === 'collect' ? { paid: splitPaid(amountsOf(row), pending) } : {}
    pending = pendingNext(pending, row)
    life.push({ row, timestampSec, ...priced, ...paid })
    if (life.length % STEP_FLOWS === 0) yield
  }
  return life
}

/** The first price that profit and loss lacks; undefined if it lacks none. */
export function missingPrice(life: readonly LifeFlow[]): MissingPrice | undefined {
  for (const { row, prices } of life) {
    if (row.kind !== 'decrease' && isPriced(row) && prices !== undefined && 'because' in prices) return prices
  }
  return undefined
}

/** The flows of a life as profit and loss counts them, without those whose price is missing. */
export function* countedFlows(life: readonly LifeFlow[], tokens: Both<PnlToken>): Generator<Flow, void, undefined> {
  for (const { row, timestampSec: timeSec, prices } of life) {
    const amounts = amountsOf(row)
    if (row.kind === 'decrease') yield { kind: 'decrease', timeSec, liquidity: row.liquidity, amounts }
    if (row.kind === 'decrease' || !isPriced(row) || prices === undefined || 'because' in prices) continue
    const shared = { timeSec, amounts, prices: rawPrices(tokens, prices) }
    if (row.kind === 'increase') yield { kind: 'increase', liquidity: row.liquidity, ...shared }
    else yield { kind: 'collect', ...shared }
  }
}

function isPriced(row: PositionFlow): boolean {
  return row.kind === 'increase' || (row.kind === 'collect' && !isNothing(amountsOf(row)))
}

function pendingNext(pending: Both<bigint>, row: PositionFlow): Both<bigint> {
  if (row.kind === 'increase') return pending
  const amounts = amountsOf(row)
  return row.kind === 'decrease' ? plus(pending, amounts) : minus(pending, splitPaid(amounts, pending).principal)
}
