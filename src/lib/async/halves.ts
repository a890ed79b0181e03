/** Failed reads in a row after which the source fails, and not the items: it takes fewer to find one among 500. */
const FAILURES_MAX = 10

/** Splits a list in two. */
export function halve<T>(list: readonly T[]): readonly [readonly T[], readonly T[]] {
  const middle = Math.ceil(list.length / 2)
  return [list.slice(0, middle), list.slice(middle)]
}

/**
 * Reads items together, one result for each, in their order. A failed read is halved until the items that are its cause
 * stand alone, unless `isShared` says that its error has no item for its cause. Never rejects.
 */
export async function readInHalves<Item, Result>(
  items: readonly Item[],
  read: (part: readonly Item[]) => Promise<readonly Result[]>,
  isShared: (error: unknown) => boolean = () => false,
): Promise<readonly PromiseSettledResult<Result>[]> {
  let failuresInRow = 0
  let failure: unknown

  async function readPart(part: readonly Item[]): Promise<readonly PromiseSettledResult<Result>[]> {
    const reject = () => part.map(() => ({ status: 'rejected', reason: failure }) as const)
    if (failuresInRow >= FAILURES_MAX) return reject()
    try {
      const results = await read(part)
      failuresInRow = 0
      return results.map((value) => ({ status: 'fulfilled', value }))
    } catch (error) {
      failuresInRow++
      failure = error
      if (part.length <= 1 || isShared(error)) return reject()
      const [first, second] = halve(part)
      return [...(await readPart(first)), ...(await readPart(second))]
    }
  }

  return await readPart(items)
}
