import { allOrAbort } from './all_or_abort.ts'
import type { Work } from './work.ts'

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
