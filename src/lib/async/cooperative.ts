import type { Clock } from '../clock.ts'

/** Long work in steps: it yields after each. */
export type Steps<T> = Generator<undefined, T, undefined>

/**
 * Does work in steps and lets the event loop turn between them, so that one long list does not hold up other requests.
 * Each step should take some milliseconds at most.
 */
export async function runCooperatively<T>(work: Steps<T>): Promise<T> {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
    await yieldToEventLoop()
  }
}

/** Who waits for a turn, in order. */
const waiting: (() => void)[] = []

/**
 * Lets the event loop turn. Those who wait go on one after the other, each in a turn of its own: the steps of many
 * would be long together.
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

/** How long steps work between two breaks, and how many of them pass before it is looked again. */
const WORK_MS = 1
const STEPS = 8

/**
 * Lets the event loop turn between the steps of a pass, which begins now, whenever they have worked for some time. Each
 * step should take a tenth of a millisecond at most.
 */
export function createYielder({ monotonicMs }: Pick<Clock, 'monotonicMs'>) {
  let beganMs = monotonicMs()
  let steps = 0
  return {
    /** True if it is time for a break. */
    isDue: () => ++steps % STEPS === 0 && monotonicMs() - beganMs >= WORK_MS,
    async take(): Promise<void> {
      await yieldToEventLoop()
      beganMs = monotonicMs()
    },
  }
}

/** What `work` makes of each item, in their order, so many in a turn; at once if they are fewer. */
export async function mapCooperatively<T, R>(
  items: readonly T[],
  inTurn: number,
  work: (item: T, index: number) => R,
): Promise<R[]> {
  const made: R[] = []
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % inTurn === 0) await yieldToEventLoop()
    made.push(work(item, index))
  }
  return made
}

/** Lets the event loop turn before a pass over items, if they are so many that it takes milliseconds. */
export async function yieldIfLarge({ length }: { readonly length: number }): Promise<void> {
  if (length >= MANY_ITEMS) await yieldToEventLoop()
}

const MANY_ITEMS = 1_000
/** Items that one step sorts or merges. */
const STEP_ITEMS = 4_096

/** A sorted copy, in steps. Equal items keep their order. */
export function* sortInSteps<T>(items: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  let runs: T[][] = []
  for (let at = 0; at < items.length; at += STEP_ITEMS) {
    if (at > 0) yield
    runs.push(items.slice(at, at + STEP_ITEMS).sort(compare))
  }
  while (runs.length > 1) {
    const longer: T[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      longer.push(yield* merged([runs[at] ?? [], runs[at + 1] ?? []], compare))
    }
    runs = longer
  }
  return runs[0] ?? []
}

function* merged<T>([left, right]: readonly [readonly T[], readonly T[]], compare: (a: T, b: T) => number): Steps<T[]> {
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
