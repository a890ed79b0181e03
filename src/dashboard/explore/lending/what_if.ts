/**
 * Computes a position after a hypothetical step from the figures on the page, in floating point. Answers are exact; these
 * figures are accurate to about one part in ten thousand.
 */

/** Holding of one token on one side of a position. */
interface Leg {
  /** Legs with the same id are the same token: their prices move together. */
  readonly id: string
  readonly symbol: string
  readonly usd: number
  /** Share of a supply that counts toward the liquidation limit, 0 if it is no collateral; 1 for a debt. */
  readonly weight: number
}

export interface Legs {
  readonly supplies: readonly Leg[]
  readonly debts: readonly Leg[]
}

/** Hypothetical changes: prices first, then borrowed or repaid amounts, in US dollars at today's prices. */
interface Steps {
  /** Price of a token as a multiple of today's, by id; absent: 1. */
  readonly prices: Readonly<Record<string, number>>
  /** By id; negative: repaid, at most the debt. */
  readonly borrowed: Readonly<Record<string, number>>
}

export const NO_STEPS: Steps = { prices: {}, borrowed: {} }

/**
 * Figures after hypothetical steps. The health factor is Σ (collateral × its liquidation threshold) ÷ Σ debt, as in the
 * protocol: the threshold of Aave is that of the wallet's eMode if the asset belongs to it, that of Morpho Blue is the
 * market's LLTV; infinite without debt. Aave before 3.6 rounds the average threshold down to a hundredth of a percent: this
 * figure differs by no more than that and the interest since the answer.
 * @figure explore/health_factor_after
 * @source Aave V3 `GenericLogic.calculateUserAccountData`; Morpho.sol `_isHealthy`; klend `refresh_obligation`
 * @proof test/contract/dashboard/explore/what_if_test.ts, test/contract/dashboard/explore/what_if_morpho_test.ts
 */
export function whatIf({ supplies, debts }: Legs, { prices, borrowed }: Steps) {
  const priced = ({ id, usd }: Leg) => usd * (prices[id] ?? 1)
  const owed = new Map(debts.map((debt) => [debt.id, 0]))
  for (const debt of debts) owed.set(debt.id, (owed.get(debt.id) ?? 0) + debt.usd)
  for (const [id, usd] of Object.entries(borrowed)) owed.set(id, Math.max(0, (owed.get(id) ?? 0) + usd))
  const collateral = sum(supplies.map((leg) => (leg.weight > 0 ? priced(leg) : 0)))
  const limit = sum(supplies.map((leg) => priced(leg) * leg.weight))
  const debt = sum([...owed].map(([id, usd]) => usd * (prices[id] ?? 1)))
  return {
    collateral,
    debt,
    ltv: collateral === 0 ? 0 : debt / collateral,
    healthFactor: debt === 0 ? Number.POSITIVE_INFINITY : limit / debt,
  }
}

/**
 * The multiple of today's price of one token at which the position has a health factor of 1, everything else unchanged:
 * (debt in other tokens − limit of other collateral) ÷ (its own limit − its own debt). Undefined if no price of this token
 * leads to 1; above 1 for a borrowed token.
 * @figure explore/liquidation_price_factor
 * @source the health factor above, solved for one price
 * @proof test/contract/dashboard/explore/what_if_test.ts, test/contract/dashboard/explore/what_if_morpho_test.ts
 */
export function liquidationAt({ supplies, debts }: Legs, id: string) {
  const sumLimits = (legs: readonly Leg[]) => sum(legs.map(({ usd, weight }) => usd * weight))
  const isToken = (leg: Leg) => leg.id === id
  const isOtherToken = (leg: Leg) => leg.id !== id
  const own = sumLimits(supplies.filter(isToken)) - sumLimits(debts.filter(isToken))
  const rest = sumLimits(debts.filter(isOtherToken)) - sumLimits(supplies.filter(isOtherToken))
  const multiple = rest / own
  return Number.isFinite(multiple) && multiple > 0 ? multiple : undefined
}

/** Computes the additional debt at which the health factor is 1, US dollars; at least 0. */
export function computeBorrowRoom({ supplies, debts }: Legs) {
  const limit = sum(supplies.map(({ usd, weight }) => usd * weight))
  return Math.max(0, limit - sum(debts.map(({ usd }) => usd)))
}

function sum(values: readonly number[]) {
  return values.reduce((total, value) => total + value, 0)
}
