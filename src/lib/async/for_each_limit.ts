import { allOrAbort } from './all_or_abort.ts'

/**
 * Runs `work` for each item, in their order, for at most `concurrencyMax` at the same time. The first failure aborts
 * the others, and is thrown when they have ended.
 */
export async function forEachLimit<Item>(
  items: readonly Item[],
  concurrencyMax: number,
  work: (item: Item, signal: AbortSignal) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const queue = items.values()
  const runLane = async (shared: AbortSignal) => {
    for (const item of queue) {
      shared.throwIfAborted()
      await work(item, shared)
    }
  }
  const lanes: Promise<void>[] = []
  const begin = (shared: AbortSignal) => {
    const running = runLane(shared)
    lanes.push(running)
    return running
  }
  try {
    await allOrAbort(
      Array.from({ length: Math.min(concurrencyMax, items.length) }, () => begin),
      signal,
    )
  } finally {
    // `allOrAbort` does not wait for the tasks that it aborts.
    await Promise.allSettled(lanes)
  }
}
