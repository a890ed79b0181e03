import { formatUsdE6 } from '../../finance/figure.ts'
import { sumE6 } from '../../finance/price/price.ts'
import { presentAmount, presentToken } from '../present.ts'
import { classifyAssets } from '../sum/classify.ts'
import type { HeldAsset, Row } from '../sum/row.ts'
import { computeTotal, type TotalOptions } from '../sum/total.ts'
import type { OutsideMoney } from './attribute.ts'
import { presentOwnMoney } from './present_own_money.ts'
import { presentSale } from './present_sale.ts'
import type { WalletExit } from './read.ts'
import type { Sale } from './sell.ts'

/** The rows of a wallet on a chain, the assets that they are of, and what came of them. */
export interface ExitRead {
  readonly rows: readonly Row[]
  readonly assets: ReadonlyMap<Row, HeldAsset>
  readonly exit: WalletExit
  /** False if the rows may not be all. */
  readonly isComplete: boolean
  readonly totals: TotalOptions
  /** Absent if nothing was to be sold. */
  readonly sale?: Sale | undefined
}

/** What of a wallet arrives, in sum, millionths of a US dollar; undefined if a repaid debt has no price. */
export function sumArrived({ rows, assets, exit, totals }: ExitRead): bigint | undefined {
  return sumRows(
    classifyArrived(rows, assets, toArrived(exit)).map(([, counted]) => counted),
    totals,
  )
}

function sumRows(arrived: readonly Row[], totals: TotalOptions): bigint | undefined {
  return arrived.length === 0 ? 0n : computeTotal(arrived, totals).netE6
}

/**
 * Presents what of a wallet's rows arrives. `blocked_usd` is what the book counts and does not arrive, accounts apart that
 * are left behind because they owe more than they own: those lack `walked_away_usd`.
 *
 * @figure book_usd, arrives_usd, blocked_usd, walked_away_usd
 * @source definition: `arrives_usd` is the sum of what arrives, debts negative, by the rules of `/v1/portfolio/balance`
 * @proof test/contract/portfolio/exit_test.ts
 */
export function presentExit({ rows, assets, exit, isComplete, totals, sale }: ExitRead) {
  const arrived = new Map(classifyArrived(rows, assets, toArrived(exit)))
  const own = exit.ownMoney?.arrived
  const alone = own && new Map(classifyArrived(rows, assets, (row) => own.get(row) ?? row.amount))
  const book = computeTotal(rows, totals).netE6
  const arrives = sumRows([...arrived.values()], totals)
  const walkedAway = -sumE6(exit.insolvent.flatMap(({ verdict }) => (verdict.counted ? [verdict.value] : [])))
  const isTold = book !== undefined && arrives !== undefined
  return {
    book_usd: book === undefined ? null : formatUsdE6(book),
    arrives_usd: arrives === undefined ? null : formatUsdE6(arrives),
    blocked_usd: isTold ? formatUsdE6(book - arrives + walkedAway) : null,
    walked_away_usd: formatUsdE6(walkedAway),
    outside: presentOutside(exit.outside, rows),
    own_money: exit.ownMoney
      ? presentOwnMoney(exit.ownMoney, { rows, arrivesE6: alone && sumRows([...alone.values()], totals) })
      : null,
    rows: rows.map((row) => {
      const { kind, token, amount, position } = row
      const { blockage } = exit.lines.get(row) ?? {}
      return {
        kind,
        token: presentToken(token),
        position,
        book: { ...presentAmount(amount, token.decimals), usd: presentValue(row) },
        arrives: presentPart(arrived.get(row)),
        ...(alone && { arrives_by_own_money: presentPart(alone.get(row)) }),
        blocked_by: blockage?.reason ?? null,
        detail: blockage?.detail ?? null,
      }
    }),
    executed_as: exit.executedAs ?? null,
    complete: isComplete && exit.isComplete,
    ...(sale && { sale: presentSale(sale, rows) }),
  }
}

/** Lists what can be sold: what arrives of rows and counts, in their order. */
export function listSellable({ rows, assets, exit }: Pick<ExitRead, 'rows' | 'assets' | 'exit'>): Row[] {
  return classifyArrived(rows, assets, toArrived(exit)).flatMap(([, part]) => (part.verdict.counted ? [part] : []))
}

/** Classifies what arrived as if it were all that the wallet has: execution has shown that it can be paid. */
function classifyArrived(
  rows: readonly Row[],
  assets: ReadonlyMap<Row, HeldAsset>,
  getArrived: (row: Row) => bigint,
): (readonly [Row, Row])[] {
  const arrived = rows.flatMap((row) => {
    const asset = assets.get(row)
    const amount = getArrived(row)
    if (asset === undefined || amount === 0n) return []
    const refused = asset.refused?.reason === 'withdrawal_reverts' ? undefined : asset.refused
    return [{ row, asset: { ...asset, amount, refused, payable: undefined, sources: undefined } }]
  })
  const counted = classifyAssets(
    arrived.map(({ asset }) => asset),
    { includeUnlisted: false },
  )
  return arrived.flatMap(({ row }, index) => {
    const part = counted[index]
    return part === undefined ? [] : [[row, part] as const]
  })
}

function toArrived({ lines }: WalletExit): (row: Row) => bigint {
  return (row) => lines.get(row)?.arrived ?? 0n
}

function presentPart(part: Row | undefined) {
  return part === undefined ? null : { ...presentAmount(part.amount, part.token.decimals), usd: presentValue(part) }
}

function presentOutside(outside: readonly OutsideMoney[], rows: readonly Row[]) {
  const sums = new Map<string, OutsideMoney>()
  for (const each of outside) {
    const key = `${each.token}${each.from ?? ''}`
    sums.set(key, { ...each, amount: each.amount + (sums.get(key)?.amount ?? 0n) })
  }
  return [...sums.values()].flatMap(({ token: address, amount, from }) => {
    const token = rows.find((row) => row.token.address === address)?.token
    if (token === undefined) return []
    return [{ token: presentToken(token), amount: presentAmount(amount, token.decimals), from: from ?? null }]
  })
}

function presentValue({ verdict }: Row): string | null {
  return verdict.counted ? formatUsdE6(sumE6([verdict.value])) : null
}
