import { sumDollars } from '../lib/decimal.js'

/**
 * Net worth of a wallet, as far as loaded.
 * @typedef {object} Total
 * @property {string | undefined} net US dollars; undefined if no list was read
 * @property {'loading' | 'partial' | 'whole'} state `partial`: nothing is loading, but something could not be read
 * @property {number} missing positions that are not in `net`
 * @property {number} targetCredits price of the answers that another target health factor asks for again
 */

/** Families whose requests name the health factor that safe amounts keep. */
const TARGETED = ['aave', 'morpho', 'kamino', 'obligation']
/** Families whose lists the net worth sums. */
const SUMMED = ['liquidity', 'aave', 'kamino']

/**
 * Computes the net worth of a wallet's positions, as far as loaded.
 * @param {readonly import('./requests/answers.js').RequestedPart[]} parts
 * @returns {Total}
 */
export function computeTotal(parts) {
  const { liquidity, netWorths, unpriced, barred, notLoaded, added } = collectFigures(parts)
  const summed = parts.filter(({ family }) => SUMMED.includes(family))
  const wasRead = summed.some(({ answer }) => isAnswered(answer))
  const isLoading = summed.some(({ answer }) => answer === undefined || (!answer.ok && answer.progress !== undefined))
  const isWhole = summed.length > 0 && summed.every(({ answer }) => isAnswered(answer))
  return {
    net: wasRead ? sumDollars([...liquidity, ...netWorths]) : undefined,
    state: isLoading ? 'loading' : isWhole ? 'whole' : 'partial',
    missing: unpriced + barred + notLoaded + added,
    targetCredits: sumCredits(parts.filter(({ family }) => TARGETED.includes(family))),
  }
}

/** Sums the charges of the answers that came. @param {readonly import('./requests/answers.js').RequestedPart[]} parts */
export function sumCredits(parts) {
  return parts.reduce((sum, { answer }) => sum + ((answer?.ok && answer.credits) || 0), 0)
}

/** Where there is nothing, the answer is 404. @param {import('./requests/polling.js').Outcome} answer */
function isAnswered(answer) {
  return answer?.ok === true || (answer?.ok === false && answer.code === 'NOT_FOUND')
}

/**
 * Sums the totals of several wallets. `net` is undefined if no wallet was read.
 * @param {readonly (Total | undefined)[]} totals undefined before the wallet's first drawing
 */
export function sumTotals(totals) {
  const nets = totals.flatMap((total) => total?.net ?? [])
  const isPartial = (/** @type {Total | undefined} */ total) => total?.state === 'partial'
  return {
    net: nets.length === 0 ? undefined : sumDollars(nets),
    isLoading: totals.some((total) => total === undefined || total.state === 'loading'),
    unread: totals.filter((total) => isPartial(total) && total?.net === undefined).length,
    partial: totals.filter((total) => isPartial(total) && total?.net !== undefined).length,
    missing: totals.reduce((sum, total) => sum + (total?.missing ?? 0), 0),
  }
}

/**
 * Collects the figures of the parts that have loaded.
 * @param {readonly import('./requests/answers.js').RequestedPart[]} parts
 */
export function collectFigures(parts) {
  const bodies = (/** @type {string} */ family) =>
    parts.flatMap((part) => (part.family === family && part.answer?.ok ? [part.answer.body] : []))
  const lists = /** @type {import('../lib/shapes.d.ts').PositionList[]} */ (bodies('liquidity'))
  const markets = /** @type {import('../lib/shapes.d.ts').AaveList[]} */ ([...bodies('aave'), ...bodies('kamino')])
  const lendingPositions = markets.flatMap(({ data }) => data.flatMap((each) => each.positions))
  // The prices in a market of no table are its maker's.
  const known = lendingPositions.filter((each) => !('marketKnown' in each) || each.marketKnown)
  const positions = /** @type {import('../lib/shapes.d.ts').FullPosition[]} */ (lists.flatMap(({ data }) => data))
  const priced = positions.filter(({ usd }) => usd.total !== null)
  const barred = positions.filter(({ withdrawable_error: error }) => error).length
  const firstPages = lists.flatMap(({ pagination }) => (pagination.page === 1 ? [pagination.total] : []))
  return {
    notLoaded: firstPages.reduce((sum, total) => sum + total, 0) - positions.length,
    liquidity: priced.flatMap(({ usd }) => usd.total ?? []),
    fees: priced.flatMap(({ usd }) => usd.uncollected_fees ?? []),
    withdrawn: priced.flatMap(({ usd }) => usd.withdrawn_principal ?? []),
    // Without its history the fees within a position's uncollected sum are unknown.
    mixed: priced.flatMap(({ usd, uncollected_fees: fees }) =>
      fees === null ? [usd.total ?? '0', `-${usd.amounts}`] : [],
    ),
    netWorths: known.map(({ netWorthUSD }) => netWorthUSD),
    obligations: lendingPositions.length,
    added: new Set(parts.flatMap(({ family, id }) => (family === 'obligation' ? [id] : []))).size,
    barred,
    unpriced: positions.length - priced.length - barred + lendingPositions.length - known.length,
  }
}
