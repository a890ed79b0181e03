/**
 * Computes a position after a hypothetical step from the figures on the page, in floating point. Answers are exact; these
 * figures are accurate to about one part in ten thousand.
 */

/**
 * Holding of one token on one side of a position.
 * @typedef {object} Leg
 * @property {string} id legs with the same id are the same token: their prices move together
 * @property {string} symbol
 * @property {number} usd
 * @property {number} weight share of a supply that counts toward the liquidation limit, 0 if it is no collateral; 1 for a debt
 */

/**
 * @typedef {object} Legs
 * @property {readonly Leg[]} supplies
 * @property {readonly Leg[]} debts
 */

/**
 * Hypothetical changes: prices first, then borrowed or repaid amounts, in US dollars at today's prices.
 * @typedef {object} Steps
 * @property {Readonly<Record<string, number>>} prices price of a token as a multiple of today's, by id; absent: 1
 * @property {Readonly<Record<string, number>>} borrowed by id; negative: repaid, at most the debt
 */

/** @type {Steps} */
export const NO_STEPS = { prices: {}, borrowed: {} }

/**
 * Figures after hypothetical steps. The health factor is Σ (collateral × its liquidation threshold) ÷ Σ debt, as in the
 * protocol: the threshold of Aave is that of the wallet's eMode if the asset belongs to it, that of Morpho Blue is the
 * market's LLTV; infinite without debt. Aave before 3.6 rounds the average threshold down to a hundredth of a percent: this
 * figure differs by no more than that and the interest since the answer.
 *
 * @figure explore/health_factor_after
 * @source Aave V3 `GenericLogic.calculateUserAccountData`; Morpho.sol `_isHealthy`; klend `refresh_obligation`
 * @proof test/contract/dashboard/explore/what_if_test.ts, test/contract/dashboard/explore/what_if_morpho_test.ts
 * @param {Legs} legs
 * @param {Steps} steps
 */
export function whatIf({ supplies, debts }, { prices, borrowed }) {
  const priced = (/** @type {Leg} */ { id, usd }) => usd * (prices[id] ?? 1)
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
 *
 * @figure explore/liquidation_price_factor
 * @source the health factor above, solved for one price
 * @proof test/contract/dashboard/explore/what_if_test.ts, test/contract/dashboard/explore/what_if_morpho_test.ts
 * @param {Legs} legs
 * @param {string} id
 */
export function liquidationAt({ supplies, debts }, id) {
  const sumLimits = (/** @type {readonly Leg[]} */ legs) => sum(legs.map(({ usd, weight }) => usd * weight))
  const isToken = (/** @type {Leg} */ leg) => leg.id === id
  const isOtherToken = (/** @type {Leg} */ leg) => leg.id !== id
  const own = sumLimits(supplies.filter(isToken)) - sumLimits(debts.filter(isToken))
  const rest = sumLimits(debts.filter(isOtherToken)) - sumLimits(supplies.filter(isOtherToken))
  const multiple = rest / own
  return Number.isFinite(multiple) && multiple > 0 ? multiple : undefined
}

/**
 * Computes the additional debt at which the health factor is 1, US dollars; at least 0.
 * @param {Legs} legs
 */
export function computeBorrowRoom({ supplies, debts }) {
  const limit = sum(supplies.map(({ usd, weight }) => usd * weight))
  return Math.max(0, limit - sum(debts.map(({ usd }) => usd)))
}

/** @param {readonly number[]} values */
function sum(values) {
  return values.reduce((total, value) => total + value, 0)
}
