import type { Address } from 'viem'
import type { UnitOutcome } from '../../chain/call/exit/execute.ts'
import type { StepOutcome } from '../../chain/call/exit/step.ts'
import type { HoldingExit, HoldingStep, Refusal } from '../../family/exit.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import { presentAmount } from '../present.ts'
import type { Row } from '../sum/row.ts'

/** Reasons why a row does not arrive, or not all of it. */
export const EXIT_REASONS = [
  'paused',
  'no_liquidity',
  'hook_forbids',
  'token_refuses',
  'insolvent',
  'unfunded',
  'too_costly',
  'unsupported',
] as const
type ExitReason = (typeof EXIT_REASONS)[number]

/** Why a row does not arrive whole; `detail` is a sentence without a full stop. */
export interface Blockage {
  readonly reason: ExitReason
  readonly detail: string
}

/** What of a row arrived, or of a debt was repaid. */
export interface RowExit {
  /** Smallest units. */
  readonly arrived: bigint
  /** Absent if all of it arrived. */
  readonly blockage?: Blockage
}

/** Money from elsewhere with which a debt was repaid. */
export interface OutsideMoney {
  readonly token: Address
  /** Smallest units. */
  readonly amount: bigint
  /** Undefined if it was made up. */
  readonly from: Address | undefined
}

/** A unit, its rows, and what came of it; `lines` are in the order of its rows. */
export interface UnitExit {
  readonly exit: HoldingExit
  readonly rows: readonly Row[]
  readonly lines: readonly RowExit[]
  readonly outside: readonly OutsideMoney[]
  /** What became of its steps; empty if none was run. */
  readonly steps: readonly StepOutcome[]
}

/** Returns a text that the rows of one unit have in common. */
export function toUnitKey(position: HoldingExit['position']): string {
  return JSON.stringify(
    Object.entries(position)
      .filter(([field]) => field !== 'part')
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

/**
 * Attributes what arrived to the rows of a unit: of each token no more than the rows have, because a hook may promise a
 * bonus to every position, and fees before principal. What was repaid of a debt is what was lent, if anything was, less what
 * is left. If the loan that it may take is not enough for that, a token lies, and nothing of the unit arrives.
 *
 * @figure exit/amount
 * @source the wallet's balances before and after each step
 * @proof test/contract/portfolio/exit_test.ts
 */
export function attribute(exit: HoldingExit, rows: readonly Row[], outcome: UnitOutcome): UnitExit {
  const refuse = (blockage: Blockage) => {
    return { exit, rows, lines: rows.map(() => ({ arrived: 0n, blockage })), outside: [], steps: [] }
  }
  if (outcome.kind !== 'run') return refuse(UNTRIED[outcome.kind])
  const arrived = new Map<Row, bigint>(rows.map((row) => [row, 0n]))
  const outside: OutsideMoney[] = []
  const order = [...rows].sort((a, b) => toRank(a) - toRank(b))
  for (const [index, step] of exit.steps.entries()) {
    const result = outcome.steps[index]
    if (result?.kind !== 'done') continue
    for (const [place, token] of step.tokens.entries()) {
      const delta = result.deltas[place] ?? 0n
      const paid = order.filter((row) => isPaid(row, step, token))
      if (step.loan === undefined) {
        pay(paid, delta, arrived)
        continue
      }
      const amount = (result.lent?.amount ?? 0n) - delta
      if (amount < 0n || amount > step.loan.amount) return refuse(IMPOSSIBLE)
      const [debt] = paid
      if (debt !== undefined) arrived.set(debt, (arrived.get(debt) ?? 0n) + amount)
      if (result.lent === undefined) continue
      const { lender } = result.lent
      outside.push({ token, amount, from: outcome.made.has(lender) ? undefined : lender })
    }
  }
  const lines = rows.map((row): RowExit => {
    const amount = arrived.get(row) ?? 0n
    if (amount >= row.amount) return { arrived: amount }
    return { arrived: amount, blockage: explainRow(row, { exit, rows, steps: outcome.steps }) }
  })
  return { exit, rows, lines, outside, steps: outcome.steps }
}

const UNTRIED: Readonly<Record<'too_costly' | 'unsupported', Blockage>> = {
  too_costly: { reason: 'too_costly', detail: 'Taking it out uses up the gas of a call' },
  unsupported: { reason: 'unsupported', detail: 'No endpoint executes it' },
}

const SUSPECTED: Blockage = {
  reason: 'too_costly',
  detail: 'It takes more gas than is left beside contracts that used up that of others',
}

const IMPOSSIBLE: Blockage = {
  reason: 'unsupported',
  detail: 'The balance of its token changes by an amount that no repayment explains',
}

function toRank({ position }: Row): number {
  return position?.['part'] === 'principal' ? 1 : 0
}

/** True if a step pays or repays a row in a token. */
export function isPaid(row: Row, { kind, parts }: HoldingStep, token: Address): boolean {
  const part = row.position?.['part'] ?? ''
  return row.kind === kind && row.token.address === token && (parts === undefined || parts.includes(part))
}

/** Value of a row for an order alone. */
export function getWorth({ verdict }: Row): number {
  return verdict.counted ? Math.abs(Number(verdict.value.units)) / 10 ** verdict.value.scale : 0
}

function pay(rows: readonly Row[], delta: bigint, arrived: Map<Row, bigint>): void {
  let left = delta
  for (const row of rows) {
    const before = arrived.get(row) ?? 0n
    const share = minBigint(left, row.amount - before)
    if (share <= 0n) continue
    arrived.set(row, before + share)
    left -= share
  }
}

interface RunUnit {
  readonly exit: HoldingExit
  readonly rows: readonly Row[]
  readonly steps: readonly StepOutcome[]
}

/** Explains why not all of a row arrived, by the first of its steps that failed. */
function explainRow(row: Row, unit: RunUnit): Blockage {
  const failure = findFailure(row, unit)
  if (failure === undefined) return { reason: 'token_refuses', detail: 'Less arrived than its contracts owe' }
  if (failure !== 'health') return failure
  const debts = unit.rows.filter(({ kind }) => kind === 'borrowed')
  for (const debt of debts) {
    const cause = findFailure(debt, unit)
    if (cause !== undefined && cause !== 'health') {
      return {
        reason: cause.reason,
        detail: `The debt in ${debt.token.symbol} holds it, which is not repaid: ${cause.detail}`,
      }
    }
  }
  return { reason: 'unsupported', detail: 'What the account owes holds it' }
}

/** Finds why a row's steps failed; undefined if none did. */
function findFailure(row: Row, { exit, steps }: RunUnit): Blockage | 'health' | undefined {
  const own = exit.steps.flatMap((step, index) => {
    const outcome = steps[index]
    const isOwn = step.tokens.length === 0 ? isPart(row, step) : step.tokens.some((token) => isPaid(row, step, token))
    return isOwn && outcome !== undefined ? [{ step, outcome }] : []
  })
  const [first, ...later] = own.filter(({ outcome }) => !['done', 'skipped'].includes(outcome.kind))
  if (first === undefined) return undefined
  const { step, outcome } = first
  if (outcome.kind === 'too_costly') return UNTRIED.too_costly
  if (outcome.kind === 'suspected') return SUSPECTED
  if (outcome.kind === 'unfunded') {
    if (exit.explain(outcome.reason) === 'token_refuses')
      return { reason: 'token_refuses', detail: REFUSALS.token_refuses }
    const { raw, amount } = presentAmount(row.amount, row.token.decimals)
    const lacking = amount === null ? `${raw} units` : `${amount} ${row.token.symbol}`
    return { reason: 'unfunded', detail: `No contract was found that lends the ${lacking} to repay it` }
  }
  if (outcome.kind !== 'reverted') return { reason: 'unsupported', detail: 'The balance of a token cannot be read' }
  const success = own.find((each) => each.outcome.kind === 'done' && each.step.because !== undefined)
  const refusal =
    exit.explain(outcome.reason, step.kind) ??
    success?.step.because ??
    later.flatMap((each) =>
      each.outcome.kind === 'reverted' ? (exit.explain(each.outcome.reason, step.kind) ?? []) : [],
    )[0]
  if (refusal === 'health') return refusal
  if (refusal !== undefined) return { reason: refusal, detail: REFUSALS[refusal] }
  const asked = step.kind === 'borrowed' ? 'repayment' : 'withdrawal'
  return { reason: 'unsupported', detail: `Its ${asked} reverts for a reason that is not known: ${outcome.reason}` }
}

/** True if a step without tokens prepares what the row is paid by. */
function isPart(row: Row, { kind, parts = [] }: HoldingStep): boolean {
  return row.kind === kind && parts.includes(row.position?.['part'] ?? '')
}

const REFUSALS: Readonly<Record<Exclude<Refusal, 'health'>, string>> = {
  paused: 'Its market is paused or inactive',
  no_liquidity: 'Its market does not have so much',
  hook_forbids: 'The hook of its pool does not let it be withdrawn',
  token_refuses: 'A token refuses the transfer',
}
