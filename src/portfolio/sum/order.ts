import { sumE6 } from '../../finance/price/price.ts'
import { ROW_KINDS, type Row } from './row.ts'

/** Digits of the largest token id. */
const ID_DIGITS = 78

/** Rows by value as answers show it, largest first; then those that are not counted, spam last; then as `tieOf`. */
export function sortRows(rows: readonly Row[]): Row[] {
  return rows
    .map((row) => ({ row, rank: rankOf(row), tie: tieOf(row) }))
    .sort((a, b) => {
      if (a.rank !== b.rank) return a.rank > b.rank ? -1 : 1
      return a.tie < b.tie ? -1 : a.tie > b.tie ? 1 : 0
    })
    .map(({ row }) => row)
}

/** No value is as small as these. */
const REFUSED = -(10n ** 400n)
const SPAM = REFUSED - 1n

function rankOf({ verdict }: Row): bigint {
  if (verdict.counted) return sumE6([verdict.value])
  return verdict.reason === 'spam' ? SPAM : REFUSED
}

/** Chain, kind, address, position: text that sorts so. */
function tieOf({ chainId, kind, token, position }: Row): string {
  const numbers = [chainId, ROW_KINDS.indexOf(kind)].map((each) => String(each).padStart(16, '0'))
  const fields = Object.values(position ?? {}).map((field) =>
    /^[0-9]+$/.test(field) ? field.padStart(ID_DIGITS, '0') : field.toLowerCase(),
  )
  return [...numbers, token.address.toLowerCase(), ...fields].join()
}
