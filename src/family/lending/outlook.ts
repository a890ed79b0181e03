import { formatHealthFactor } from '../../finance/figure.ts'
import { type BoundlessRatio, dailyInterest } from '../../finance/math/lending.ts'
import { compareRational, formatRational, ONE, type Rational, rational } from '../../lib/number/rational.ts'
import type { PositionOutlook, ToDo } from '../outlook.ts'
import type { LiquidationReason } from './due.ts'
import type { MarketRead } from './market_routes.ts'
import type { YieldPosition } from './yield.ts'

/** Below it a position is near liquidation: a fall of its collateral by a fifth leads there. */
const NEAR = rational(5n, 4n)
/** How long before its time a debt is called due, seconds. */
const DUE_SOON_SEC = 7n * 86_400n

const REASON_WORDS: Readonly<Record<Exclude<LiquidationReason, 'health_factor'>, string>> = {
  deleveraging: 'it is being deleveraged',
  market_deleveraging: 'its market is being deleveraged',
  debt_matured: 'its debt has matured',
  term_ended: 'its term has ended',
  obligation_order: 'an order of its own allows it',
}

/** What a lending family knows of a position. */
interface LendingFacts extends Pick<PositionOutlook, 'position' | 'code'> {
  /** Where it is, for a sentence: `Aave V3 market main`. */
  readonly title: string
  /** Undefined if it is unknown. */
  readonly healthFactor: BoundlessRatio | undefined
  readonly liquidatableBecause: readonly LiquidationReason[]
  /** From then on its debt can be called due, Unix seconds; undefined if never. */
  readonly dueAtSec: bigint | undefined
  /** Time of the read, Unix seconds. */
  readonly nowSec: bigint
  /** Its value and yields, or why they cannot be told: a sentence without a full stop. */
  readonly value: YieldPosition | string
}

/**
 * Says what a lending position's owner has to see to, and what it earns in a day: interest alone, as far as its market
 * could pay it out.
 */
export function outlookLending(facts: LendingFacts): PositionOutlook {
  const { position, code, title, value } = facts
  const toDo = [findRisk(facts), findDue(facts)].filter((each) => each !== undefined)
  if (typeof value === 'string') return { position, code, toDo, untold: [{ what: `interest of ${title}`, why: value }] }
  const { totals, paidSupplies, ...legs } = value
  const { dailyNetUsd } = dailyInterest(totals, paidSupplies === undefined ? legs : { ...legs, supplies: paidSupplies })
  return { position, code, toDo, interestUsd: dailyNetUsd }
}

/** What a family whose debts have no term knows of its positions. */
interface MarketRules<Position> {
  readonly family: string
  /** Where a market is, for a sentence: `Aave V3 market main`. */
  readonly nameMarket: (market: string) => string
  readonly getHealthFactor: (position: Position) => BoundlessRatio | undefined
  readonly findLiquidationReasons: (position: Position) => readonly LiquidationReason[]
  readonly toLending: (position: Position) => YieldPosition
}

/** Says what is to be seen to in each market of a read, and what it earns. */
export function outlookMarkets<Position extends { readonly market: string }>(
  { wallets, unanswerable, block: { timestampSec: nowSec } }: MarketRead<Position>,
  { family, nameMarket, getHealthFactor, findLiquidationReasons, toLending }: MarketRules<Position>,
): PositionOutlook[] {
  const toFacts = (market: string) => ({
    position: { family, market_id: market },
    code: family.replaceAll('-', '_'),
    title: nameMarket(market),
    dueAtSec: undefined,
    nowSec,
  })
  const known = wallets.flatMap(({ positions }) =>
    positions.map((position) =>
      outlookLending({
        ...toFacts(position.market),
        healthFactor: getHealthFactor(position),
        liquidatableBecause: findLiquidationReasons(position),
        value: toLending(position),
      }),
    ),
  )
  const unknown = unanswerable.map(({ market, reason }) => {
    const value = `The position has no value because ${reason}`
    return outlookLending({ ...toFacts(market), healthFactor: undefined, liquidatableBecause: [], value })
  })
  return [...known, ...unknown]
}

function findRisk({ title, healthFactor, liquidatableBecause }: LendingFacts): ToDo | undefined {
  const health = healthFactor === undefined ? undefined : formatHealthFactor(healthFactor)
  if (liquidatableBecause.length > 0) {
    const reasons = liquidatableBecause.map((reason) =>
      reason === 'health_factor' ? `its health factor is ${health}` : REASON_WORDS[reason],
    )
    const text = `Any wallet can liquidate the debt in ${title} now: ${reasons.join(' and ')}.`
    return { kind: 'liquidatable', text, concerns: isDebt }
  }
  if (healthFactor === undefined || healthFactor === 'max' || compareRational(healthFactor, NEAR) >= 0) return undefined
  const text =
    compareRational(healthFactor, ONE) < 0
      ? `The health factor in ${title} is ${health}, below 1: its debt can be liquidated as soon as its market allows it.`
      : `The debt in ${title} can be liquidated once its collateral falls by ${formatFall(healthFactor)} %: its health factor is ${health}.`
  return { kind: 'near_liquidation', text, concerns: isDebt }
}

/** Formats by how much collateral can fall before the health factor is 1, percent: rounded down. */
function formatFall({ numerator, denominator }: Rational): string {
  const fall = rational((numerator - denominator) * 100n, numerator)
  return formatRational(fall, { digits: 1, rounding: 'toward_zero' })
}

function findDue({ title, dueAtSec, nowSec }: LendingFacts): ToDo | undefined {
  if (dueAtSec === undefined || dueAtSec > nowSec + DUE_SOON_SEC) return undefined
  const day = new Date(Number(dueAtSec) * 1_000).toISOString().slice(0, 10)
  const text =
    dueAtSec > nowSec
      ? `The debt in ${title} can be called due from ${day} on.`
      : `The debt in ${title} is due since ${day}.`
  return { kind: 'due', text, concerns: isDebt }
}

function isDebt({ kind }: { readonly kind: string }): boolean {
  return kind === 'borrowed'
}
