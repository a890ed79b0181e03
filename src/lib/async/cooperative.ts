import type { Clock } from '../clock.ts'

/** Long work in steps: the generator yields after each. */
export type Steps<T> = Generator<undefined, T, undefined>

/**
 * Runs work in steps and yields to the event loop between them, so that one long list does not delay other requests.
 * Each step should take at most some milliseconds.
 */
export async function runCooperatively<T>(work: Steps<T>): Promise<T> {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    await yieldToEventLoop()
  }
}

/** Waiters for a turn of the event loop, in order. */
const waiting: (() => void)[] = []

/**
 * Yields to the event loop. Waiters resume one per turn, so their steps do not add up.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(next)
  })
}

function next(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(next)
}

/** How long steps run between two breaks, milliseconds, and how many steps pass between two looks at the clock. */
const WORK_MS = 1
const STEPS_PER_CHECK = 8

/**
 * Creates a yielder for a pass that starts now: a break is due whenever its steps have run for `WORK_MS`. Each step
 * should take at most a tenth of a millisecond.
 */
export function createYielder({ monotonicMs }: Pick<Clock, 'monotonicMs'>) {
  let startedMs = monotonicMs()
  let steps = 0
  return {
    /** True if it is time for a break. */
    isDue: () => ++steps % STEPS_PER_CHECK === 0 && monotonicMs() - startedMs >= WORK_MS,
    async take(): Promise<void> {
      await yieldToEventLoop()
      startedMs = monotonicMs()
    },
  }
}

/** Maps items by `work`, in their order, `itemsPerTurn` in each event-loop turn; does not yield for fewer. */
export async function mapCooperatively<T, R>(
  items: readonly T[],
  itemsPerTurn: number,
  work: (item: T, index: number) => R,
): Promise<R[]> {
  const results: R[] = []
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % itemsPerTurn === 0) await yieldToEventLoop()
    results.push(work(item, index))
  }
  return results
}

/** Yields to the event loop before a pass over items, if their number makes it take milliseconds. */
export async function yieldIfLarge({ length }: { readonly length: number }): Promise<void> {
  if (length >= MANY_ITEMS) await yieldToEventLoop()
}

const MANY_ITEMS = 1_000
/** Items that one step sorts or merges. */
const STEP_ITEMS = 4_096

/** Returns a sorted copy, computed in steps. Equal items keep their order. */
export function* sortInSteps<T>(items: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  let runs: T[][] = []
  for (let at = 0; at < items.length; at += STEP_ITEMS) {
    if (at > 0) yield
    runs.push(items.slice(at, at + STEP_ITEMS).sort(compare))
  }
  while (runs.length > 1) {
    const longer: T[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      longer.push(yield* mergeInSteps([runs[at] ?? [], runs[at + 1] ?? []], compare))
    }
    runs = longer
  }
  return runs[0] ?? []
}

function* mergeInSteps<T>(
  [left, right]: readonly [readonly T[], readonly T[]],
  compare: (a: T, b: T) => number,
): Steps<T[]> {
  const result: T[] = []
  let [fromLeft, fromRight] = [0, 0]
  while (fromLeft < left.length && fromRight < right.length) {
    if (result.length % STEP_ITEMS === STEP_ITEMS - 1) yield
    const [a, b] = [left[fromLeft] as T, right[fromRight] as T]
    if (compare(a, b) <= 0) {
      result.push(a)
      fromLeft++
    } else {
      result.push(b)
      fromRight++
    }
  }
  for (; fromLeft < left.length; fromLeft++) result.push(left[fromLeft] as T)
  for (; fromRight < right.length; fromRight++) result.push(right[fromRight] as T)
  return result
}
