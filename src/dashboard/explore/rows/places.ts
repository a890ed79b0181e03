import { useRef, useState } from '../../lib/view.ts'
import type { WalletRow } from './row.ts'
import { toRowId } from './row.ts'
import type { Order } from './sort.ts'
import { sortRows } from './sort.ts'

/**
 * Sorts rows by the reader's order, and holds their places while the reader is among them, by the focus or by a pointer that
 * moves: answers still come, and must not move a row away from a pointer that is about to press its bell. What comes
 * meanwhile stands last. Returns the rows, and the properties of the element that has them.
 */
export function usePlaces(rows: readonly WalletRow[], order: Order) {
  const list = useRef<HTMLUListElement | null>(null)
  const hasPointer = useRef(false)
  const shown = useRef<{ readonly order: Order; readonly ids: readonly string[] }>({ order, ids: [] })
  const [, setDeparture] = useState(0)
  const sorted = sortRows(rows, order)
  // Unlike `:focus-within`, also in a dialog of a row.
  const isHeld = hasPointer.current || list.current?.contains(document.activeElement) === true
  // A change of the order is the reader's own.
  const placed = isHeld && order === shown.current.order ? keepPlaces(sorted, shown.current.ids) : sorted
  shown.current = { order, ids: placed.map(toRowId) }
  const leave = () => setDeparture((count) => count + 1)
  const listProps = {
    ref: list,
    // A pointer at rest, under which a row comes to lie, is no visit. Nor is a finger: it would leave, and rows be sorted, before
    // its tap arrives; the focus holds them from the tap on.
    onPointerMove({ pointerType }: PointerEvent) {
      if (pointerType !== 'touch') hasPointer.current = true
    },
    onPointerLeave() {
      hasPointer.current = false
      leave()
    },
    onFocusOut({ relatedTarget }: FocusEvent) {
      if (list.current?.contains(relatedTarget as Node | null) === false) leave()
    },
  }
  return { placed, listProps }
}

/** Leaves rows whose ids were shown in the places that they had; others follow in their order. */
export function keepPlaces<Shown extends WalletRow>(sorted: readonly Shown[], shown: readonly string[]) {
  const places = new Map(shown.map((id, place) => [id, place]))
  const find = (row: Shown) => places.get(toRowId(row)) ?? shown.length
  return sorted.toSorted((a, b) => find(a) - find(b))
}
