import { forEachLimit } from './for_each_limit.ts'
import type { Work } from './work.ts'

/**
 * Maps items by `task` in pieces of at most `size`, with at most `runningMax` pieces at the same time. `task` returns
 * one result for each item, in their order. The first failure aborts the other pieces.
 */
export async function mapChunks<Item, Result>(
  items: readonly Item[],
  { size, runningMax }: { readonly size: number; readonly runningMax: number },
  task: (piece: readonly Item[], work: Work) => Promise<readonly Result[]>,
  work: Work,
): Promise<Result[]> {
  const results: (readonly Result[])[] = []
  await forEachLimit(
    [...chunk(items, size).entries()],
    runningMax,
    async ([index, piece], shared) => {
      results[index] = await task(piece, shared)
    },
    work,
  )
  return results.flat()
}

/** Splits items, in their order, into pieces of at most `size`. */
export function chunk<Item>(items: readonly Item[], size: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  )
}
