import { sumE6 } from '../../finance/price/price.ts'
import { ROW_KINDS, type Row } from './row.ts'

/** Digits of the largest token id. */
const ID_DIGITS = 78

/** Sorts rows by displayed value, largest first; then uncounted rows, spam last; ties by `toTieKey`. */
export function sortRows(rows: readonly Row[]): Row[] {
  return rows
    .map((row) => ({ row, rank: getRank(row), tieKey: toTieKey(row) }))
    .sort((a, b) => {
      if (a.rank !== b.rank) return a.rank > b.rank ? -1 : 1
      return a.tieKey < b.tieKey ? -1 : a.tieKey > b.tieKey ? 1 : 0
    })
    .map(({ row }) => row)
}

/** Ranks below every value. */
const UNCOUNTED_RANK = -(10n ** 400n)
const SPAM_RANK = UNCOUNTED_RANK - 1n

function getRank({ verdict }: Row): bigint {
  if (verdict.counted) return sumE6([verdict.value])
  return verdict.reason === 'spam' ? SPAM_RANK : UNCOUNTED_RANK
}

/** Text that sorts by chain, kind, address and position. */
function toTieKey({ chainId, kind, token, position }: Row): string {
  const numbers = [chainId, ROW_KINDS.indexOf(kind)].map((each) => String(each).padStart(16, '0'))
  const fields = Object.values(position ?? {}).map((field) =>
    /^[0-9]+$/.test(field) ? field.padStart(ID_DIGITS, '0') : field.toLowerCase(),
  )
  return [...numbers, token.address.toLowerCase(), ...fields].join()
}
