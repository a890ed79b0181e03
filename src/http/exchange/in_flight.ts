import { before, createIdle } from '../../lib/async/wait.ts'

/** Requests between their arrival and their answer. */
interface InFlight {
  count(): number
  enter(): void
  leave(): void
  /** True when no request is left, false if one still is after `deadlineMs`. */
  idle(deadlineMs: number): Promise<boolean>
}

/** Counts requests in flight, for the overload limit and for a stop that waits for them. */
export function createInFlight(): InFlight {
  let count = 0
  const idle = createIdle(() => count === 0)
  return {
    count: () => count,
    enter() {
      count += 1
    },
    leave() {
      count -= 1
      idle.check()
    },
    idle: (deadlineMs) =>
      before(deadlineMs, idle.wait()).then(
        () => true,
        () => false,
      ),
  }
}
