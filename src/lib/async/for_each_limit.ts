import { allOrAbort } from './all_or_abort.ts'

/**
 * Does work for each item, in their order, for at most so many at the same time. The first failure aborts the others, and
 * is thrown when they have ended.
 */
export async function forEachLimit<Item>(
  items: readonly Item[],
  atOnceMax: number,
  work: (item: Item, signal: AbortSignal) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const waiting = items.values()
  const lane = async (shared: AbortSignal) => {
    for (const item of waiting) {
      shared.throwIfAborted()
      await work(item, shared)
    }
  }
  const lanes: Promise<void>[] = []
  const begin = (shared: AbortSignal) => {
    const running = lane(shared)
    lanes.push(running)
    return running
  }
  try {
    await allOrAbort(
      Array.from({ length: Math.min(atOnceMax, items.length) }, () => begin),
      signal,
    )
  } finally {
    // `allOrAbort` does not wait for those that it aborts.
    await Promise.allSettled(lanes)
  }
}
