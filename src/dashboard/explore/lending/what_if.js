/**
 * What a position would be after another step. It is counted here from figures at hand, in floating point: the digits
 * that an answer gives are exact, these are good to about one part in ten thousand.
 */

/**
 * What a position has of one token on one side.
 * @typedef {object} Leg
 * @property {string} id legs of one token have one id, and their prices move together
 * @property {string} symbol
 * @property {number} usd
 * @property {number} weight the part of a supply that counts before a liquidation, 0 if it backs nothing; of a debt 1
 */

/**
 * @typedef {object} Legs
 * @property {readonly Leg[]} supplies
 * @property {readonly Leg[]} debts
 */

/**
 * Further steps. Prices first, then what is borrowed or repaid, in US dollars at today's prices.
 * @typedef {object} Steps
 * @property {Readonly<Record<string, number>>} prices a token's price as a multiple of today's, by id; absent: 1
 * @property {Readonly<Record<string, number>>} borrowed by id, repaid if negative; at most what is owed is repaid
 */

/** @type {Steps} */
export const NO_STEPS = { prices: {}, borrowed: {} }

/**
 * Figures after steps. The health factor is Σ (collateral × its liquidation threshold) ÷ Σ debt, as the protocol counts
 * it: the threshold of Aave is that of the wallet's eMode if the asset counts there, that of Morpho Blue is the market's
 * LLTV; infinite without debt. Aave before 3.6 rounds the average threshold down to a hundredth of a percent: what is
 * counted here differs by no more than that and what accrues in between.
 *
 * @figure explore/health_factor_after
 * @source Aave V3 `GenericLogic.calculateUserAccountData`; Morpho.sol `_isHealthy`; klend `refresh_obligation`
 * @proof test/dashboard/explore/what_if_test.ts, test/dashboard/explore/what_if_morpho_test.ts
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
 * The multiple of today's price at which a token alone brings the position to a health factor of 1, everything else as
 * it is: (debt in other tokens − limit of other collateral) ÷ (its own limit − its own debt). Undefined if no price of
 * this token does; above 1 for a token that is owed.
 *
 * @figure explore/liquidation_price_factor
 * @source the health factor above, solved for one price
 * @proof test/dashboard/explore/what_if_test.ts, test/dashboard/explore/what_if_morpho_test.ts
 * @param {Legs} legs
 * @param {string} id
 */
export function liquidationAt({ supplies, debts }, id) {
  const limitOf = (/** @type {readonly Leg[]} */ legs) => sum(legs.map(({ usd, weight }) => usd * weight))
  const mine = (/** @type {Leg} */ leg) => leg.id === id
  const others = (/** @type {Leg} */ leg) => leg.id !== id
  const own = limitOf(supplies.filter(mine)) - limitOf(debts.filter(mine))
  const rest = limitOf(debts.filter(others)) - limitOf(supplies.filter(others))
  const multiple = rest / own
  return Number.isFinite(multiple) && multiple > 0 ? multiple : undefined
}

/**
 * What more can be owed before the health factor is 1, US dollars; 0 if nothing.
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
