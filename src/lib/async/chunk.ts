import { forEachLimit } from './for_each_limit.ts'

/**
 * What `work` makes of items, piece by piece: at most `size` in one, and at most `running` pieces at the same time. It
 * gives one result for each item, in their order. The first failure aborts the others.
 */
export async function mapChunks<Item, Result>(
  items: readonly Item[],
  { size, running }: { readonly size: number; readonly running: number },
  work: (piece: readonly Item[], signal: AbortSignal) => Promise<readonly Result[]>,
  signal: AbortSignal,
): Promise<Result[]> {
  const made: (readonly Result[])[] = []
  await forEachLimit(
    [...chunk(items, size).entries()],
    running,
    async ([index, piece], shared) => {
      made[index] = await work(piece, shared)
    },
    signal,
  )
  return made.flat()
}

/** The items in their order, at most `size` in one piece. */
export function chunk<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
