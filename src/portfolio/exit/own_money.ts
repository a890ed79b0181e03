import type { Address } from 'viem'
import type { UnitOutcome } from '../../chain/call/exit/execute.ts'
import type { ExitUnit, StepOutcome } from '../../chain/call/exit/step.ts'
import type { HoldingStep } from '../../family/exit.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import type { Row } from '../sum/row.ts'
import { attribute, getWorth, isPaid, type UnitExit } from './attribute.ts'

/** Rounds of repaying what can be repaid and withdrawing: what one account pays out may repay another one. */
const ROUNDS = 2
/** Positions without debts that pay what is owed, the worthiest: all withdrawals are in one call. */
const PAYERS_MAX = 20
/** Tokens that may be lacking, each of which takes a call, and a step of all others. */
const LACKING_MAX = 8
/** Steps of one call, which holds 255, besides those that bring what is lacking. */
const STEPS_MAX = 255 - LACKING_MAX
/** Times that a smaller amount is looked for. */
const TRIES_MAX = 4

/** What a wallet does without money from elsewhere. */
export interface OwnMoney {
  /** What of each row arrives, of a debt what is repaid, smallest units; undefined if no endpoint could tell. */
  readonly arrived: ReadonlyMap<Row, bigint> | undefined
  /**
   * What the wallet must have besides, so that all arrives that arrives with money from elsewhere, smallest units: with
   * one unit less of one of them it does not. Undefined if no endpoint could tell.
   */
  readonly lacking: readonly { readonly token: Address; readonly amount: bigint }[] | undefined
}

/** Executes units from the state of the block; undefined if no endpoint can. */
type Run = (units: readonly ExitUnit[]) => Promise<{ readonly units: readonly UnitOutcome[] } | undefined>

/**
 * Executes what a wallet does with its own money alone, in one call: it withdraws what is free of debts and pays in tokens
 * that it owes, then, account by account and twice, repays each debt whole if it can, and withdraws all, or else what the
 * debts leave free, the worthiest first. If debts are left, it finds the least with which they are not, by execution too.
 * Undefined if there is no debt but of accounts that are left behind. That least is first what is left of the debts, less what
 * the wallet has of their tokens then, and is lowered by the least that it had of a token after a repayment.
 */
export async function readOwnMoney(
  { units, rows }: { readonly units: readonly UnitExit[]; readonly rows: readonly Row[] },
  run: Run,
): Promise<OwnMoney | undefined> {
  const plan = createPlan(units)
  if (plan === undefined) return undefined
  const held = new Map<Address, bigint>()
  for (const { kind, token, amount } of rows) if (kind === 'wallet') add(held, token.address as Address, amount)
  const tryWith = async (amounts: readonly Money[]) => {
    const outcomes = await run(amounts.map((money) => toUnit(plan, money)))
    return amounts.map((money, index) => follow(plan, { held, money, outcome: outcomes?.units[index] }))
  }
  const [alone] = plan.steps.length > STEPS_MAX ? [] : await tryWith([new Map()])
  if (alone === undefined) return { arrived: undefined, lacking: undefined }
  const arrived = new Map(
    units.flatMap((unit) => unit.rows.map((row, index) => [row, unit.lines[index]?.arrived ?? 0n])),
  )
  for (const unit of plan.debtors) for (const [row, amount] of attributeTrace(unit, alone)) arrived.set(row, amount)
  const lacking = alone.isWhole ? new Map() : await findLeast(alone.left, tryWith)
  return { arrived, lacking: lacking && [...lacking].map(([token, amount]) => ({ token, amount })) }
}

/** Money of the wallet by token, smallest units. */
type Money = ReadonlyMap<Address, bigint>

/** A step of a unit, and its place there. */
interface PlannedStep {
  readonly unit: UnitExit
  readonly index: number
  readonly step: HoldingStep
}

interface Plan {
  /** Accounts with debts, those apart that are left behind. */
  readonly debtors: readonly UnitExit[]
  readonly steps: readonly PlannedStep[]
}

function createPlan(units: readonly UnitExit[]): Plan | undefined {
  const owed = new Set<Address>()
  const debtors = units.filter(({ exit, steps }) => {
    const loans = exit.steps.flatMap(({ loan }) => (loan === undefined || steps.length === 0 ? [] : [loan.token]))
    for (const token of loans) owed.add(token)
    return loans.length > 0
  })
  if (debtors.length === 0) return undefined
  const isPayer = (unit: UnitExit) => !debtors.includes(unit) && isSure(unit.steps) && paysAny(unit, owed)
  const payers = units.filter(isPayer).slice(0, PAYERS_MAX)
  const rounds = Array.from({ length: ROUNDS }, (_, round) => debtors.flatMap((unit) => orderSteps(unit, round > 0)))
  const paid = payers.flatMap((unit) => unit.exit.steps.map((step, index) => ({ unit, index, step })))
  return { debtors, steps: [...paid, ...rounds.flat()] }
}

/**
 * Withdrawals by what they are worth, after all others: what the debts leave free of one may be all that they do. `isLater`:
 * true if that part may be withdrawn already.
 */
function orderSteps(unit: UnitExit, isLater: boolean): PlannedStep[] {
  const groups: { readonly worth: number; readonly steps: PlannedStep[] }[] = []
  for (const [index, step] of unit.exit.steps.entries()) {
    const planned = { unit, index, step }
    const paid = unit.rows.filter((row) => step.tokens.some((token) => isPaid(row, step, token)))
    const worth = step.kind === 'supplied' ? Math.max(0, ...paid.map(getWorth)) : Number.POSITIVE_INFINITY
    const group = groups.at(-1)
    const [all] = group?.steps ?? []
    if (!step.isFallback || group === undefined || all === undefined) groups.push({ worth, steps: [planned] })
    else {
      group.steps.push(planned)
      if (isLater && step.rest) group.steps.unshift({ ...all, step: { ...all.step, calls: step.rest } })
    }
  }
  return groups.sort((a, b) => (a.worth === b.worth ? 0 : b.worth - a.worth)).flatMap(({ steps }) => steps)
}

function paysAny({ exit, steps }: UnitExit, tokens: ReadonlySet<Address>): boolean {
  return exit.steps.some((step, index) => {
    const outcome = steps[index]
    return step.tokens.some((token, place) => {
      return tokens.has(token) && outcome?.kind === 'done' && (outcome.deltas[place] ?? 0n) > 0n
    })
  })
}

/** One call that begins with the money. */
function toUnit({ steps }: Plan, money: Money): ExitUnit {
  const exits = [...new Set(steps.map(({ unit }) => unit.exit))]
  return {
    steps: [
      ...[...money].map(([token, amount]) => ({ tokens: [token], loan: { token, amount }, calls: [] })),
      ...steps.map(({ unit: { exit }, step: { loan: _, ...step } }) => ({ ...step, suspects: exit.suspects ?? [] })),
    ],
    parties: exits.flatMap(({ parties = [] }) => parties),
    suspects: exits.flatMap(({ suspects = [] }) => suspects),
  }
}

/** What came of the steps of a plan. */
interface Trace {
  readonly done: readonly { readonly planned: PlannedStep; readonly outcome: StepOutcome }[]
  /** True if all was done that is done with money from elsewhere. */
  readonly isWhole: boolean
  /** Debts that are left, less what the wallet has of their tokens. */
  readonly left: Money
  /** The least that the wallet had of a token after a repayment in it: by so much less money would have done. */
  readonly spare: Money
}

/** Follows the wallet's balances through an execution; undefined if it does not tell what more money would do. */
function follow(
  plan: Plan,
  { held, money, outcome }: { readonly held: Money; readonly money: Money; readonly outcome: UnitOutcome | undefined },
): Trace | undefined {
  if (outcome?.kind !== 'run' || !isSure(outcome.steps)) return undefined
  const balances = new Map(held)
  const spare = new Map(money)
  for (const [token, amount] of money) add(balances, token, amount)
  const steps = outcome.steps.slice(money.size)
  const done = plan.steps.flatMap((planned, index) => {
    const result = steps[index]
    return result?.kind === 'done' ? [{ planned, outcome: result }] : []
  })
  for (const { planned, outcome: result } of done) {
    for (const [place, token] of planned.step.tokens.entries()) {
      add(balances, token, result.deltas[place] ?? 0n)
      const least = spare.get(token)
      if (planned.step.kind !== 'borrowed' || least === undefined) continue
      spare.set(token, minBigint(least, balances.get(token) ?? 0n))
    }
  }
  /** What asks for less is not tried where all of it arrived. */
  const isDone = (unit: UnitExit, index: number): boolean =>
    done.some(({ planned }) => planned.unit === unit && planned.index === index) ||
    (unit.exit.steps[index]?.isFallback === true && isDone(unit, index - 1))
  const left = new Map<Address, bigint>()
  let isWhole = true
  for (const unit of plan.debtors) {
    for (const [index, step] of unit.exit.steps.entries()) {
      const lent = unit.steps[index]
      if (lent === undefined || !['done', 'unfunded'].includes(lent.kind) || isDone(unit, index)) continue
      isWhole = false
      if (step.loan === undefined || lent.kind !== 'done' || lent.lent === undefined) continue
      const { token } = step.loan
      add(left, token, lent.lent.amount - (lent.deltas[step.tokens.indexOf(token)] ?? 0n))
    }
  }
  for (const token of left.keys()) add(left, token, -(balances.get(token) ?? 0n))
  return { done, isWhole, left, spare }
}

/** True if neither more gas nor another lender may have changed what came of steps. */
function isSure(steps: readonly StepOutcome[]): boolean {
  return steps.every(({ kind }) => ['done', 'reverted', 'skipped'].includes(kind))
}

/** What an execution without loans brought the rows of an account. */
function attributeTrace(unit: UnitExit, { done }: Trace): (readonly [Row, bigint])[] {
  const own = done.filter(({ planned }) => planned.unit === unit)
  const exit = { ...unit.exit, steps: own.map(({ planned }) => planned.step) }
  const steps = own.map(({ outcome }) => outcome)
  const { lines } = attribute(exit, unit.rows, { kind: 'run', steps, made: new Set() })
  return unit.rows.map((row, index) => [row, lines[index]?.arrived ?? 0n])
}

/**
 * Finds the least money with which nothing is left: what was lacking without any, less what was to spare, until with one
 * unit less of any token something is left. Undefined if that is not found.
 */
async function findLeast(
  left: Money,
  tryWith: (amounts: readonly Money[]) => Promise<readonly (Trace | undefined)[]>,
): Promise<Money | undefined> {
  let money = keepPositive(left)
  for (let round = 0; round < TRIES_MAX && money.size > 0 && money.size <= LACKING_MAX; round++) {
    const fewer = [...money.keys()].map((token) => subtract(money, new Map([[token, 1n]])))
    const amounts = [money, ...fewer]
    const traces = await tryWith(amounts)
    if (traces.some((trace) => trace === undefined) || !traces[0]?.isWhole) return undefined
    const least = traces.findLastIndex((trace) => trace?.isWhole)
    const better = subtract(amounts[least] ?? money, traces[least]?.spare ?? new Map())
    if (least === 0 && sum(better) === sum(money)) return money
    money = better
  }
  return undefined
}

function subtract(money: Money, less: Money): Money {
  return keepPositive(new Map([...money].map(([token, amount]) => [token, amount - (less.get(token) ?? 0n)])))
}

function keepPositive(money: Money): Money {
  return new Map([...money].filter(([, amount]) => amount > 0n))
}

function sum(money: Money): bigint {
  return [...money.values()].reduce((total, amount) => total + amount, 0n)
}

function add(money: Map<Address, bigint>, token: Address, amount: bigint): void {
  money.set(token, (money.get(token) ?? 0n) + amount)
}
