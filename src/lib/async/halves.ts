/** Failed reads in a row after which the source fails, and not the items. */
const FAILURES_MAX = 16

/** Splits a list in two. */
export function halve<T>(list: readonly T[]): readonly [readonly T[], readonly T[]] {
  const middle = Math.ceil(list.length / 2)
  return [list.slice(0, middle), list.slice(middle)]
}

/**
 * Reads items together, one result for each, in their order. A failed read is halved until the items that are its cause
 * stand alone, unless `isShared` says that its error has no item for its cause. Larger parts come first: items beside one
 * another that cannot be read are told from a failed source by the parts without them. Never rejects.
 */
export async function readInHalves<Item, Result>(
  items: readonly Item[],
  read: (part: readonly Item[]) => Promise<readonly Result[]>,
  isShared: (error: unknown) => boolean = () => false,
): Promise<readonly PromiseSettledResult<Result>[]> {
  const settled: PromiseSettledResult<Result>[] = []
  let failuresInRow = 0
  let failure: unknown
  const parts: { readonly at: number; readonly part: readonly Item[] }[] = [{ at: 0, part: items }]
  for (const { at, part } of parts) {
    if (failuresInRow < FAILURES_MAX) {
      try {
        const results = await read(part)
        failuresInRow = 0
        for (const [index, value] of results.entries()) settled[at + index] = { status: 'fulfilled', value }
        continue
      } catch (error) {
        failuresInRow++
        failure = error
        if (part.length > 1 && !isShared(error)) {
          const [first, second] = halve(part)
          parts.push({ at, part: first }, { at: at + first.length, part: second })
          continue
        }
      }
    }
    for (const index of part.keys()) settled[at + index] = { status: 'rejected', reason: failure }
  }
  return settled
}
