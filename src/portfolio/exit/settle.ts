import type { HoldingExit } from '../../family/exit.ts'
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

/** What is left to do without repaying: nothing in an insolvent account, else what its debts do not hold. */
export function getFreeExit({ unit, isInsolvent }: Abandonment): HoldingExit {
  // The protocol's own call runs all steps.
  const { ownCall: _, ...exit } = unit.exit
  return { ...exit, steps: exit.steps.filter(({ kind, isFree }) => isFree || (!isInsolvent && kind !== 'borrowed')) }
}

/**
 * Replaces what arrives by what arrives without repaying; `again`: the outcome of `getFreeExit`, if it has steps. A row of
 * the account says what kept it from arriving although all was repaid, and one that did arrive that the debts hold it.
 */
export function abandon({ unit, rows: account, isInsolvent }: Abandonment, again: UnitExit | undefined): UnitExit {
  const { rows, lines } = unit
  const stuck = rows.find(
    (row, index) => account.has(row) && row.kind !== 'borrowed' && lines[index]?.blockage !== undefined,
  )
  const held: Blockage =
    isInsolvent || stuck === undefined
      ? { reason: 'insolvent', detail: INSOLVENT }
      : {
          reason: 'unsupported',
          detail: `The account is left behind: not all of its ${stuck.token.symbol} arrives, and repaying takes more than the rest`,
        }
  const left = rows.map((row, index): RowExit => {
    const line = again?.lines[index] ?? { arrived: 0n, blockage: held }
    if (!account.has(row) || line.blockage === undefined) return line
    return { ...line, blockage: isInsolvent ? held : (lines[index]?.blockage ?? held) }
  })
  return { ...unit, exit: again?.exit ?? unit.exit, lines: left, outside: [], steps: again?.steps ?? [] }
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
