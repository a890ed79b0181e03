import { limitWork, type Work } from './work.ts'

/**
 * Runs `task` for each item, in their order, for at most `concurrencyMax` at the same time. The first failure aborts
 * the others, and is thrown when they have ended.
 */
export async function forEachLimit<Item>(
  items: readonly Item[],
  concurrencyMax: number,
  task: (item: Item, work: Work) => Promise<unknown>,
  work: Work,
): Promise<void> {
  const queue = items.values()
  const runLane = async (shared: Work) => {
    for (const item of queue) {
      shared.signal.throwIfAborted()
      await task(item, shared)
    }
  }
  const lanes: Promise<void>[] = []
  const begin = (shared: Work) => {
    const running = runLane(shared)
    lanes.push(running)
    return running
  }
  try {
    await allOrAbort(
      Array.from({ length: Math.min(concurrencyMax, items.length) }, () => begin),
      work,
    )
  } finally {
    // `allOrAbort` does not wait for the tasks that it aborts.
    await Promise.allSettled(lanes)
  }
}

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

/** Runs all tasks concurrently; the first failure aborts the others. */
export async function allOrAbort<T>(tasks: readonly ((work: Work) => Promise<T>)[], work: Work): Promise<T[]> {
  const [only] = tasks
  if (only === undefined) return []
  if (tasks.length === 1) return [await only(work)]
  const controller = new AbortController()
  const shared = limitWork(work, controller.signal)
  try {
    return await Promise.all(tasks.map((task) => task(shared)))
  } catch (error) {
    controller.abort()
    throw error
  }
}
