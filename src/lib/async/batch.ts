import type { Clock } from '../clock.ts'
import { UnavailableError } from '../error.ts'
import { createIdleWaiter } from './abort.ts'

export interface BatcherOptions<Item, Result> {
  /**
   * Processes all items at once. Results are in the order of the items; an `Error` among them rejects its item. A
   * rejection rejects every item of the batch.
   */
  readonly flush: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>
  readonly clock: Clock
  readonly itemsMax: number
  /** Most items in the queue; more are rejected. */
  readonly queueMax: number
  /** Most concurrent flushes. @default 4 */
  readonly flightsMax?: number
  /** A concurrent flush starts only once the oldest running one is older than this. @default 2 */
  readonly flightAgeMs?: number
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Most event-loop turns that a flush waits for more items. */
const TURNS_MAX = 4
/** From this many items on, the fixed cost of a flush is negligible, and waiting would leave the database idle. */
const ITEMS_ENOUGH = 64

/**
 * Creates a batcher: each flush takes the items that arrived while the previous one ran. If no flush is running, the
 * next one starts as soon as an event-loop turn brings no more items, without a timer. Flushes overlap only if they are
 * slow, as over a network.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>) {
  const { flush, clock, itemsMax, queueMax, flightsMax = 4, flightAgeMs = 2 } = options
  let queue: Waiting<Item, Result>[] = []
  const startedMs: number[] = []
  let items = 0
  let isScheduled = false
  let cancelTimer: (() => void) | undefined
  const idle = createIdleWaiter(() => items === 0)

  function schedule(): void {
    if (isScheduled || queue.length === 0) return
    const oldestMs = startedMs[0]
    if (oldestMs === undefined) {
      isScheduled = true
      waitForMore(0, 0)
    } else if (startedMs.length < flightsMax && cancelTimer === undefined) {
      cancelTimer = clock.after(Math.max(1, flightAgeMs - (clock.monotonicMs() - oldestMs)), startAnother)
    }
  }

  /** Waits while items still arrive: they come in bursts, and a flush costs more than the turns that make it larger. */
  function waitForMore(turns: number, lengthBefore: number): void {
    setImmediate(() => {
      if (turns + 1 >= TURNS_MAX || queue.length === lengthBefore || queue.length >= ITEMS_ENOUGH) start()
      else waitForMore(turns + 1, queue.length)
    })
  }

  function startAnother(): void {
    cancelTimer = undefined
    const oldestMs = startedMs[0]
    if (oldestMs !== undefined && clock.monotonicMs() - oldestMs >= flightAgeMs && !isScheduled) start()
    else schedule()
  }

  function start(): void {
    isScheduled = false
    if (queue.length === 0 || startedMs.length >= flightsMax) return
    const batch = queue.length <= itemsMax ? queue : queue.slice(0, itemsMax)
    queue = queue.length <= itemsMax ? [] : queue.slice(itemsMax)
    const atMs = clock.monotonicMs()
    startedMs.push(atMs)
    void runFlush(batch, () => {
      startedMs.splice(startedMs.indexOf(atMs), 1)
      items -= batch.length
      if (startedMs.length === 0) {
        cancelTimer?.()
        cancelTimer = undefined
      }
      // Flush waiting items before delivering this flush's results, or the database would idle meanwhile.
      if (!isScheduled && startedMs.length === 0 && queue.length > 0) start()
      else schedule()
      idle.check()
    })
    schedule()
  }

  async function runFlush(batch: readonly Waiting<Item, Result>[], onSettled: () => void): Promise<void> {
    let results: readonly (Result | Error)[]
    try {
      results = await flush(batch.map((each) => each.item))
      if (results.length !== batch.length || hasHole(results)) {
        throw new Error(`Cannot settle a batch of ${batch.length} items: the number of results differs`)
      }
    } catch (error) {
      onSettled()
      for (const each of batch) each.reject(error)
      return
    }
    onSettled()
    for (let index = 0; index < batch.length; index++) {
      const result = results[index] as Result | Error
      if (result instanceof Error) batch[index]?.reject(result)
      else batch[index]?.resolve(result)
    }
  }

  return {
    /** Queues an item; resolves with its result. Rejects with `UnavailableError` at once if the queue is full. */
    submit(item: Item): Promise<Result> {
      if (queue.length >= queueMax)
        return Promise.reject(new UnavailableError('Too many requests wait for the database'))
      return new Promise((resolve, reject) => {
        queue.push({ item, resolve, reject })
        items++
        schedule()
      })
    },
    /** Number of items that are queued or in flight. */
    get size(): number {
      return items
    },
    /** Resolves when no item is queued or in flight. */
    idle: idle.wait,
  }
}

function hasHole(results: readonly unknown[]): boolean {
  for (let index = 0; index < results.length; index++) if (!(index in results)) return true
  return false
}
