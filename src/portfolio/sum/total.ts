import { exactSum, getConfidence, type PriceConfidence, sumE6 } from '../../finance/price/price.ts'
import { groupBy } from '../../lib/group_by.ts'
import type { Decimal } from '../../lib/number/decimal.ts'
import { type Gap, listGaps } from './gap.ts'
import type { Row, RowKind } from './row.ts'

/** Sums of rows, each figure rounded once, in millionths of a US dollar. */
export interface Total {
  /** Assets less debts; undefined if a debt has no price, or if nothing could have one. */
  readonly netE6: bigint | undefined
  readonly assetsE6: bigint
  /** Not negative, like `kindsE6.borrowed`. */
  readonly debtE6: bigint
  readonly kindsE6: Readonly<Record<RowKind, bigint>>
  /** What the sums lack. */
  readonly gaps: readonly Gap[]
}

/** What is known about the chains of rows. */
export interface TotalOptions {
  /** Chains without any source of prices. */
  readonly unsourced: ReadonlySet<number>
  /** Positions that no row is of, as items of a list. */
  readonly omitted?: readonly string[]
}

/** The sum of a wallet's rows, and its parts. */
export interface Breakdown extends Total {
  /** Chains with a row, counted or not, by id, ascending. */
  readonly chains: readonly (Total & { readonly chainId: number; readonly counted: number })[]
  /** Debts are negative. */
  readonly confidencesE6: Readonly<Record<PriceConfidence, bigint>>
  readonly rows: { readonly counted: number; readonly unpriced: number; readonly spam: number; readonly others: number }
}

/**
 * The sum of counted rows. Sums are of exact values, rounded once, half away from zero.
 *
 * The net is undefined if a debt has no price, and if no chain of the rows has a source of prices.
 *
 * @figure net_worth_usd, assets_usd, debt_usd, wallet_usd, liquidity_usd, supplied_usd, borrowed_usd
 * @source definition: assets − debts
 * @proof test/unit/portfolio/sum/total_test.ts, test/contract/portfolio/random_test.ts
 */
export function computeTotal(rows: readonly Row[], { unsourced, omitted = [] }: TotalOptions): Total {
  const values: Record<RowKind, Decimal[]> = { wallet: [], liquidity: [], supplied: [], borrowed: [] }
  for (const { kind, verdict } of rows) if (verdict.counted) values[kind].push(verdict.value)
  const [wallet, liquidity] = [exactSum(values.wallet), exactSum(values.liquidity)]
  const [supplied, borrowed] = [exactSum(values.supplied), exactSum(values.borrowed)]
  const owned = [wallet, liquidity, supplied]
  const debtE6 = -sumE6([borrowed])
  const isBlind = rows.length > 0 && rows.every(({ chainId }) => unsourced.has(chainId))
  return {
    netE6: isBlind || rows.some(isUnpricedDebt) ? undefined : sumE6([...owned, borrowed]),
    gaps: listGaps(rows, { unsourced, omitted }),
    assetsE6: sumE6(owned),
    debtE6,
    kindsE6: {
      wallet: sumE6([wallet]),
      liquidity: sumE6([liquidity]),
      supplied: sumE6([supplied]),
      borrowed: debtE6,
    },
  }
}

/**
 * The sum of counted rows, with its parts by chain and by price confidence: each is the sum of the counted rows whose
 * price has that confidence, debts negative.
 *
 * @figure oracle_usd, derived_usd, assumed_usd, market_usd
 * @source definition
 * @proof test/unit/portfolio/sum/total_test.ts
 */
export function computeBalance(rows: readonly Row[], options: TotalOptions): Breakdown {
  const values: Record<PriceConfidence, Decimal[]> = { oracle: [], derived: [], assumed: [], market: [] }
  for (const { price, verdict } of rows) {
    if (verdict.counted && price !== undefined) values[getConfidence(price)].push(verdict.value)
  }
  const sumNet = (confidence: PriceConfidence) => sumE6(values[confidence])
  const countUncounted = (reason: string) =>
    rows.filter(({ verdict }) => !verdict.counted && verdict.reason === reason).length
  const [counted, unpriced, spam] = [countCounted(rows), countUncounted('unpriced'), countUncounted('spam')]
  const total = computeTotal(rows, options)
  const chains = [...groupBy(rows, ({ chainId }) => chainId)].sort(([a], [b]) => a - b)
  return {
    ...total,
    chains: chains.map(([chainId, chainRows]) => {
      const { netE6, assetsE6, debtE6, kindsE6, gaps } =
        chains.length === 1 ? total : computeTotal(chainRows, { unsourced: options.unsourced })
      return { chainId, counted: countCounted(chainRows), netE6, assetsE6, debtE6, kindsE6, gaps }
    }),
    confidencesE6: {
      oracle: sumNet('oracle'),
      derived: sumNet('derived'),
      assumed: sumNet('assumed'),
      market: sumNet('market'),
    },
    rows: { counted, unpriced, spam, others: rows.length - counted - unpriced - spam },
  }
}

function countCounted(rows: readonly Row[]): number {
  return rows.filter(({ verdict }) => verdict.counted).length
}

/** True if a debt has no price, so that assets less debts would be too much. */
function isUnpricedDebt({ kind, verdict }: Row): boolean {
  return kind === 'borrowed' && !verdict.counted
}
