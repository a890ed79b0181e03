import { COLLECTABLE_PARTS } from '../../family/outlook.ts'
import { exactSum, sumE6, type UsdPrice } from '../../finance/price/price.ts'
import { type Decimal, formatExact } from '../../lib/number/decimal.ts'
import { pow10 } from '../../lib/number/fixed_point.ts'
import type { Rational } from '../../lib/number/rational.ts'
import type { Row } from '../sum/row.ts'
import { computeDailyFees } from './fees.ts'
import { collectOutlooks, type OwnedOutlook, type OwnedRow } from './outlooks.ts'
import type { WalletChain } from './read.ts'

/** Digits to which what a position earns is kept in a sum: less than the sixth digit of a hundred thousand of them. */
const EARNED_DIGITS = 18

/** What positions earn. */
export interface Earnings {
  /** US dollars. */
  readonly perDay: Decimal
  readonly toCollectE6: bigint
  readonly earningsLack: readonly Lack[]
}

/** Something that an income lacks. */
interface Lack {
  readonly what: string
  /** Whole tokens, all digits; null if it is no amount of a token. */
  readonly amount: string | null
  /** A sentence without a full stop. */
  readonly why: string
}

/**
 * Sums what positions earn in a day: interest less what debts cost at the rates of the block, and fees at the pace of the
 * last day; and what can be collected without withdrawing anything: fees, what was withdrawn before, and rewards.
 *
 * @figure per_day_usd, to_collect_usd, overview/amount
 * @source definition: net daily interest of lending positions, fees between two blocks, rows by their part
 * @proof test/contract/portfolio/overview_test.ts
 */
export function summarizeEarnings(
  rows: readonly OwnedRow[],
  reads: readonly WalletChain[],
  outlooks: ReadonlyMap<string, OwnedOutlook>,
): Earnings {
  const fees = listFees(rows, reads, outlooks)
  const interest = [...outlooks.values()].flatMap(({ outlook: { interestUsd } }) => interestUsd ?? [])
  const untold = [...outlooks.values()].flatMap(({ outlook, chainId }) =>
    (outlook.untold ?? []).map(({ what, why }) => ({ what: `${what} on chain ${chainId}`, amount: null, why })),
  )
  const collectable = rows.filter(isCollectable)
  const uncounted = collectable.flatMap(({ token: { symbol, decimals }, amount, chainId, verdict }): Lack[] => {
    if (verdict.counted || verdict.reason === 'spam') return []
    const what = `${symbol} to collect on chain ${chainId}`
    return [{ what, amount: decimals === undefined ? null : formatExact(amount, decimals), why: verdict.detail }]
  })
  return {
    perDay: exactSum([...interest, ...fees.flatMap((each) => ('perDay' in each ? each.perDay : []))].map(toDecimal)),
    toCollectE6: sumE6(collectable.flatMap(({ verdict }) => (verdict.counted ? verdict.value : []))),
    earningsLack: [...untold, ...fees.flatMap((each) => ('lack' in each ? each.lack : [])), ...uncounted],
  }
}

function toDecimal({ numerator, denominator }: Rational): Decimal {
  return { units: (numerator * pow10(EARNED_DIGITS)) / denominator, scale: EARNED_DIGITS }
}

function isCollectable({ kind, position }: Row): boolean {
  const part = position?.['part'] ?? ''
  return part === 'rewards' || (kind === 'liquidity' && COLLECTABLE_PARTS.includes(part))
}

type FeesOfDay = { readonly perDay: Rational } | { readonly lack: Lack }

/** Fees of a day of each position that earns some, or what is not known. */
function listFees(
  rows: readonly OwnedRow[],
  reads: readonly WalletChain[],
  outlooks: ReadonlyMap<string, OwnedOutlook>,
): FeesOfDay[] {
  const prices = new Map(
    rows.flatMap(({ chainId, token, price, kind }): (readonly [string, UsdPrice])[] =>
      price === undefined || kind === 'borrowed' ? [] : [[`${chainId}:${token.address}`, price]],
    ),
  )
  const before = collectOutlooks(
    reads.flatMap(({ wallet, before: read }) => (typeof read === 'object' ? [{ wallet, read }] : [])),
  )
  const failures = new Map(
    reads.flatMap(({ wallet, read, before: why }) =>
      typeof why === 'string' ? [[`${wallet}:${read.block.chainId}`, why] as const] : [],
    ),
  )
  return [...outlooks].flatMap(([key, { wallet, chainId, outlook }]): FeesOfDay[] => {
    const { fees, position, code } = outlook
    if (fees === undefined) return []
    const failure = failures.get(`${wallet}:${chainId}`)
    const getPrice = (token: string) => prices.get(`${chainId}:${token}`)
    const perDay = failure ?? computeDailyFees(fees, before.get(key)?.outlook.fees, getPrice)
    if (typeof perDay !== 'string') return [{ perDay }]
    const id = position['token_id'] ?? ''
    return [{ lack: { what: `fees of position ${id} of ${code} on chain ${chainId}`, amount: null, why: perDay } }]
  })
}
