/** Costs of the edit steps from one sequence to another. */
interface EditCosts<Element> {
  /** 0 for elements that count as equal. */
  readonly replace: (from: Element, to: Element) => number
  /** @default 1 */
  readonly remove?: number
  /** @default 1 */
  readonly add?: number
  /** Above it the result may be any higher cost, which is found sooner. @default {Infinity} */
  readonly costMax?: number
}

/**
 * Lowest cost of turning one sequence into another by removing, adding and replacing elements, and by swapping
 * neighbours for 1 (Damerau-Levenshtein, each element in at most one swap).
 */
export function editDistance<Element>(
  from: ArrayLike<Element>,
  to: ArrayLike<Element>,
  { replace, remove = 1, add = 1, costMax = Number.POSITIVE_INFINITY }: EditCosts<Element>,
): number {
  // Strangers may ask: nothing is allocated for a cell, and a row beyond the bound is the last but one.
  const width = to.length + 1
  let twoBefore: number[] = []
  let previous: number[] = []
  for (let column = 0; column < width; column += 1) previous.push(column * add)
  let current: number[] = []
  let previousLeast = 0
  for (let row = 1; row <= from.length; row += 1) {
    const a = from[row - 1] as Element
    current[0] = row * remove
    let rowLeast = row * remove
    for (let column = 1; column < width; column += 1) {
      const b = to[column - 1] as Element
      let cost = Math.min(
        getCost(previous, column) + remove,
        getCost(current, column - 1) + add,
        getCost(previous, column - 1) + replace(a, b),
      )
      if (row > 1 && a === to[column - 2] && b === from[row - 2])
        cost = Math.min(cost, getCost(twoBefore, column - 2) + 1)
      current[column] = cost
      if (cost < rowLeast) rowLeast = cost
    }
    // A swap continues from the row before.
    if (rowLeast > costMax && previousLeast > costMax) return rowLeast
    previousLeast = rowLeast
    const spare = twoBefore
    twoBefore = previous
    previous = current
    current = spare
  }
  return getCost(previous, to.length)
}

/** Finds the item at the least distance, the first of equals; undefined if no item has a distance. */
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

/** Finds the name that `text` probably misspells, ignoring case; undefined if none is near. */
export function suggestName(text: string, names: Iterable<string>): string | undefined {
  return findNearest(names, (name) => misspellingDistance(text, name))
}

/**
 * Edit distance between a text and a name, ignoring case; undefined above a third of the name's length, so that long
 * texts cost nothing, and texts of other letters little.
 */
export function misspellingDistance(text: string, name: string): number | undefined {
  const distanceMax = Math.max(1, Math.floor(name.length / 3))
  if (Math.abs(name.length - text.length) > distanceMax) return undefined
  const [from, to] = [text.toLowerCase(), name.toLowerCase()]
  // A step brings in or takes away one letter at most.
  const [sent, meant] = [readLetters(from), readLetters(to)]
  if (countLetters(sent & ~meant) > distanceMax || countLetters(meant & ~sent) > distanceMax) return undefined
  const distance = editDistance(from, to, { replace: differ, costMax: distanceMax })
  return distance <= distanceMax ? distance : undefined
}

/** Set of the letters of a text, a bit each; those that share a bit count as one. */
function readLetters(text: string): number {
  let letters = 0
  for (let index = 0; index < text.length; index += 1) letters |= 1 << (text.charCodeAt(index) & 31)
  return letters
}

function countLetters(letters: number): number {
  let count = 0
  for (let rest = letters; rest !== 0; rest &= rest - 1) count += 1
  return count
}

function differ(a: string, b: string): number {
  return a === b ? 0 : 1
}

function getCost(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
