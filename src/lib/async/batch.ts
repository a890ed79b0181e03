import type { Clock } from '../clock.ts'
import { UnavailableError } from '../error.ts'
import { createIdleWaiter } from './wait.ts'

export interface BatcherOptions<Item, Result> {
  /**
   * Does the work for all items at once; results are in their order, and an error among them fails its item. A rejection
   * fails every item of the batch.
   */
  readonly flush: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>
  readonly clock: Clock
  readonly itemsMax: number
  /** Most items that may wait; more are refused. */
  readonly queueMax: number
  /** Most flushes under way. @default 4 */
  readonly flightsMax?: number
  /** A further flush starts only while the oldest under way is older than this. @default 2 */
  readonly flightAgeMs?: number
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Most turns of the event loop that a flush waits for more items. */
const TURNS_MAX = 4
/** With so many items the fixed cost of a flush hardly counts, and waiting longer would leave the database idle. */
const ITEMS_ENOUGH = 64

/**
 * Groups items into batches: each flush takes what arrived while the one before was under way. Without a timer: if
 * nothing is under way, a flush leaves as soon as a turn of the event loop brings no further items. More than one flush is
 * under way only if flushes are slow, as over a network.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>) {
  const { flush, clock, itemsMax, queueMax, flightsMax = 4, flightAgeMs = 2 } = options
  let queue: Waiting<Item, Result>[] = []
  const startedMs: number[] = []
  let items = 0
  let scheduled = false
  let timer: ReturnType<typeof setTimeout> | undefined
  const idle = createIdleWaiter(() => items === 0)

  function schedule(): void {
    if (scheduled || queue.length === 0) return
    const oldestMs = startedMs[0]
    if (oldestMs === undefined) {
      scheduled = true
      gather(0, 0)
    } else if (startedMs.length < flightsMax && timer === undefined) {
      timer = setTimeout(startAnother, Math.max(1, Math.ceil(flightAgeMs - (clock.monotonicMs() - oldestMs))))
    }
  }

  /** Items come in bursts, as answers free their callers: a flush costs more than the turns that make it larger. */
  function gather(turns: number, before: number): void {
    setImmediate(() => {
      if (turns + 1 >= TURNS_MAX || queue.length === before || queue.length >= ITEMS_ENOUGH) start()
      else gather(turns + 1, queue.length)
    })
  }

  function startAnother(): void {
    timer = undefined
    const oldestMs = startedMs[0]
    if (oldestMs !== undefined && clock.monotonicMs() - oldestMs >= flightAgeMs && !scheduled) start()
    else schedule()
  }

  function start(): void {
    scheduled = false
    if (queue.length === 0 || startedMs.length >= flightsMax) return
    const batch = queue.length <= itemsMax ? queue : queue.slice(0, itemsMax)
    queue = queue.length <= itemsMax ? [] : queue.slice(itemsMax)
    const atMs = clock.monotonicMs()
    startedMs.push(atMs)
    void fly(batch, () => {
      startedMs.splice(startedMs.indexOf(atMs), 1)
      items -= batch.length
      if (timer !== undefined && startedMs.length === 0) {
        clearTimeout(timer)
        timer = undefined
      }
      // Waiting items leave before this flush's results do, or the database would idle meanwhile.
      if (!scheduled && startedMs.length === 0 && queue.length > 0) start()
      else schedule()
      idle.check()
    })
    schedule()
  }

  async function fly(batch: readonly Waiting<Item, Result>[], landed: () => void): Promise<void> {
    let results: readonly (Result | Error)[]
    try {
      results = await flush(batch.map((each) => each.item))
      if (results.length !== batch.length || hasHole(results)) {
        throw new Error(`Cannot settle a batch of ${batch.length}: other results came back`)
      }
    } catch (error) {
      landed()
      for (const each of batch) each.reject(error)
      return
    }
    landed()
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
    /** Items that wait or are in flight. */
    get size(): number {
      return items
    },
    /** Resolves when nothing waits and nothing is in flight. */
    idle: idle.wait,
  }
}

function hasHole(results: readonly unknown[]): boolean {
  for (let index = 0; index < results.length; index++) if (!(index in results)) return true
  return false
}
