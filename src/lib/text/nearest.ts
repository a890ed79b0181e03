/** What steps from one sequence to another cost. */
interface EditCosts<Element> {
  /** 0 for what counts as equal. */
  readonly replace: (from: Element, to: Element) => number
  /** @default 1 */
  readonly remove?: number
  /** @default 1 */
  readonly add?: number
}

/**
 * Cost of the cheapest way from one sequence to another by removing, adding and replacing elements, and by swapping
 * neighbours for 1 (Damerau and Levenshtein, each element in at most one swap).
 */
export function editDistance<Element>(
  from: ArrayLike<Element>,
  to: ArrayLike<Element>,
  { replace, remove = 1, add = 1 }: EditCosts<Element>,
): number {
  let older: readonly number[] = []
  let before: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column * add)
  for (let row = 1; row <= from.length; row += 1) {
    const now = [row * remove]
    for (let column = 1; column <= to.length; column += 1) {
      const [a, b] = [from[row - 1] as Element, to[column - 1] as Element]
      const isSwapped = row > 1 && a === to[column - 2] && b === from[row - 2]
      now[column] = Math.min(
        cost(before, column) + remove,
        cost(now, column - 1) + add,
        cost(before, column - 1) + replace(a, b),
        isSwapped ? cost(older, column - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    older = before
    before = now
  }
  return cost(before, to.length)
}

/** Of `items` the one at the least distance, the first of several; undefined if none has one. */
export function findNearest<Item>(
  items: Iterable<Item>,
  distanceTo: (item: Item) => number | undefined,
): Item | undefined {
  let best: { readonly item: Item; readonly distance: number } | undefined
  for (const item of items) {
    const distance = distanceTo(item)
    if (distance !== undefined && (best === undefined || distance < best.distance)) best = { item, distance }
  }
  return best?.item
}

/** Of `names` the one that `text` probably was meant to be; undefined if none is near. Case does not count. */
export function suggestName(text: string, names: Iterable<string>): string | undefined {
  return findNearest(names, (name) => misspellingDistance(text, name))
}

/**
 * How many letters differ between a name and what somebody wrote, in any case; undefined if it is more than a third of
 * the name, so that long texts cost nothing.
 */
export function misspellingDistance(text: string, name: string): number | undefined {
  const most = Math.max(1, Math.floor(name.length / 3))
  if (Math.abs(name.length - text.length) > most) return undefined
  const distance = editDistance(text.toLowerCase(), name.toLowerCase(), { replace: (a, b) => (a === b ? 0 : 1) })
  return distance <= most ? distance : undefined
}

function cost(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
