import { before, createIdle } from '../../lib/async/wait.ts'

/** Counts requests between their arrival and their answer, for the overload limit and for a stop that waits for them. */
export function createInFlight() {
  let count = 0
  const idle = createIdle(() => count === 0)
  return {
    count: () => count,
    enter(): void {
      count += 1
    },
    leave(): void {
      count -= 1
      idle.check()
    },
    /** True when no request is left, false if one still is after `deadlineMs`. */
    idle: (deadlineMs: number): Promise<boolean> =>
      before(deadlineMs, idle.wait()).then(
        () => true,
        () => false,
      ),
  }
}
