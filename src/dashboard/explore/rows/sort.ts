import type { Row, WalletRow } from './row.ts'

/** Order and filter of the list. */
export interface Order {
  readonly by: 'value' | 'what' | 'where' | 'wallet' | 'state' | 'rate' | 'profit' | 'fees'
  /** `out`: open and out of range. */
  readonly show: 'all' | Row['kind'] | 'in' | 'out' | 'closed'
  /** US dollars; hides rows below it, but none of unknown value. */
  readonly least: string
}

export const BY_VALUE: Order = { by: 'value', show: 'all', least: '0' }

const NUMBERS: Record<
  Exclude<Order['by'], 'what' | 'where' | 'wallet'>,
  (row: Row) => string | number | null | undefined
> = {
  value: ({ value }) => value,
  state: ({ state }) => state.urgency,
  rate: ({ rate }) => rate?.ratio,
  profit: ({ profit }) => profit,
  fees: ({ fees }) => fees,
}

/** Filters and sorts rows: names by their letters, figures with the largest first and unknown ones last. */
export function sortRows<Shown extends WalletRow>(rows: readonly Shown[], { by, show, least }: Order) {
  const shown = rows.filter((row) => isShown(row, show) && !isSmall(row, Number(least)))
  if (by === 'wallet') return shown.toSorted((a, b) => a.context.view.wallet.localeCompare(b.context.view.wallet, 'en'))
  if (by === 'what' || by === 'where') return shown.toSorted((a, b) => a[by].localeCompare(b[by], 'en'))
  const figure = (row: Row) => {
    const value = NUMBERS[by](row)
    return value === null || value === undefined ? Number.NEGATIVE_INFINITY : Number(value)
  }
  return shown.toSorted((a, b) => (figure(a) === figure(b) ? 0 : figure(b) - figure(a)))
}

function isShown({ kind, state }: Row, show: Order['show']) {
  return show === 'all' || show === kind || show === state.side
}

function isSmall({ value }: Row, least: number) {
  return value !== null && Math.abs(Number(value)) < least
}
