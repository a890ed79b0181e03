import { together } from './together.ts'

/**
 * Does work for each item, in their order, for at most so many at the same time. The first failure aborts the others, and
 * is thrown when they have ended.
 */
export async function fewAtOnce<Item>(
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
    await together(
      Array.from({ length: Math.min(atOnceMax, items.length) }, () => begin),
      signal,
    )
  } finally {
    // `together` does not wait for those that it aborts.
    await Promise.allSettled(lanes)
  }
}
