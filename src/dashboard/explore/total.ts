import { sumDollars } from '../lib/decimal.ts'
import type { AaveList, FullPosition, PositionList } from '../lib/shapes.ts'
import type { RequestedPart } from './requests/answers.ts'
import type { Outcome } from './requests/polling.tsx'

/** Net worth of a wallet, as far as loaded. */
export interface Total {
  /** US dollars; undefined if no list was read. */
  readonly net: string | undefined
  /** `partial`: nothing is loading, but something could not be read. */
  readonly state: 'loading' | 'partial' | 'whole'
  /** Positions that are not in `net`. */
  readonly missing: number
  /** Price of the answers that another target health factor asks for again. */
  readonly targetCredits: number
}

/** Families whose requests name the health factor that safe amounts keep. */
const TARGETED = ['aave', 'morpho', 'kamino', 'obligation']
/** Families whose lists the net worth sums. */
const SUMMED = ['liquidity', 'aave', 'kamino']

/** Computes the net worth of a wallet's positions, as far as loaded. */
export function computeTotal(parts: readonly RequestedPart[]): Total {
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

/** Sums the charges of the answers that came. */
export function sumCredits(parts: readonly RequestedPart[]) {
  return parts.reduce((sum, { answer }) => sum + ((answer?.ok && answer.credits) || 0), 0)
}

/** Where there is nothing, the answer is 404. */
function isAnswered(answer: Outcome) {
  return answer?.ok === true || (answer?.ok === false && answer.code === 'NOT_FOUND')
}

/**
 * Sums the totals of several wallets. `net` is undefined if no wallet was read; a total is undefined before the
 * first drawing of its wallet.
 */
export function sumTotals(totals: readonly (Total | undefined)[]) {
  const nets = totals.flatMap((total) => total?.net ?? [])
  const isPartial = (total: Total | undefined) => total?.state === 'partial'
  return {
    net: nets.length === 0 ? undefined : sumDollars(nets),
    isLoading: totals.some((total) => total === undefined || total.state === 'loading'),
    unread: totals.filter((total) => isPartial(total) && total?.net === undefined).length,
    partial: totals.filter((total) => isPartial(total) && total?.net !== undefined).length,
    missing: totals.reduce((sum, total) => sum + (total?.missing ?? 0), 0),
  }
}

/** Collects the figures of the parts that have loaded. */
export function collectFigures(parts: readonly RequestedPart[]) {
  const bodies = (family: string) =>
    parts.flatMap((part) => (part.family === family && part.answer?.ok ? [part.answer.body] : []))
  const lists = bodies('liquidity') as PositionList[]
  const markets = [...bodies('aave'), ...bodies('kamino')] as AaveList[]
  const lendingPositions = markets.flatMap(({ data }) => data.flatMap((each) => each.positions))
  // The prices in a market of no table are its maker's.
  const known = lendingPositions.filter((each) => !('marketKnown' in each) || each.marketKnown)
  const positions = lists.flatMap(({ data }) => data) as FullPosition[]
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
