import { exactSum, usdValue } from '../../finance/price/price.ts'
import type { Decimal } from '../../lib/number/decimal.ts'
import type { Row } from '../sum/row.ts'
import type { Blockage, RowExit, UnitExit } from './attribute.ts'

/** A unit whose account the wallet leaves behind, because repaying takes more than what arrives. */
export interface Abandonment {
  readonly unit: UnitExit
  /** Rows of the account. */
  readonly rows: ReadonlySet<Row>
  /** True if it owes more than it owns, and not only more than what arrives. */
  readonly isInsolvent: boolean
}

/**
 * Finds the account that is left behind: an exit is worth at least nothing, because a debt need not be repaid. Undefined if
 * the unit has no debt, is worth it, or lacks a price that would tell.
 */
export function findAbandonment(unit: UnitExit): Abandonment | undefined {
  const { exit, rows, lines } = unit
  if (rows.every(({ kind }) => kind !== 'borrowed')) return undefined
  const isFree = (row: Row) =>
    exit.steps.some(
      (step) => step.isFree && step.kind === row.kind && step.parts?.includes(row.position?.['part'] ?? ''),
    )
  const account = rows.filter((row) => !isFree(row))
  const net = sumValues(account, (row) => lines[rows.indexOf(row)]?.arrived ?? 0n)
  if (net === undefined || net.units >= 0n) return undefined
  const book = sumValues(account, (row) => row.amount)
  return { unit, rows: new Set(account), isInsolvent: book !== undefined && book.units < 0n }
}

/** Takes the account's rows out of what arrives. Rows that are free of it are of another unit then. */
export function abandon({ unit, rows: account, isInsolvent }: Abandonment): UnitExit {
  const { rows, lines } = unit
  const first = lines.find(({ blockage }, index) => blockage !== undefined && account.has(rows[index] as Row))?.blockage
  const fallback: Blockage = { reason: 'insolvent', detail: INSOLVENT }
  const blockage: Blockage =
    !isInsolvent && first !== undefined
      ? { reason: first.reason, detail: `Repaying would take more than what arrives: ${first.detail}` }
      : fallback
  const abandoned = lines.map((line, index): RowExit => {
    const row = rows[index]
    return row !== undefined && account.has(row) ? { arrived: 0n, blockage } : line
  })
  return { ...unit, lines: abandoned, outside: [] }
}

const INSOLVENT = 'The account owes more than it would pay out, so that it is left behind'

/** Values amounts of rows, debts negative; undefined if one above zero has no price. */
function sumValues(rows: readonly Row[], getAmount: (row: Row) => bigint): Decimal | undefined {
  const values = rows.flatMap((row): (Decimal | undefined)[] => {
    const amount = getAmount(row)
    if (amount === 0n) return []
    const { price, token } = row
    if (price === undefined || token.decimals === undefined) return [undefined]
    const value = usdValue(amount, { decimals: token.decimals, price })
    return [row.kind === 'borrowed' ? { ...value, units: -value.units } : value]
  })
  return values.every((each) => each !== undefined) ? exactSum(values as Decimal[]) : undefined
}
