import type { Clock } from '../lib/clock.ts'
import { AbortedError, UnavailableError } from '../lib/error.ts'

/** Runs reads under a budget, and can end all that are under way. */
export interface Deadlines {
  /**
   * The result of `read`, which is given a signal. Throws `AbortedError` when `caller` fires first, `UnavailableError`
   * when the budget is spent or `cancel` is called: whether or not `read` heeds its signal.
   */
  run<Result>(caller: AbortSignal, read: (signal: AbortSignal) => Promise<Result>): Promise<Result>
  /** Ends every read under way, for a stop that cannot wait. */
  cancel(): void
}

interface Running {
  readonly untilMs: number
  readonly end: (reason: Error) => void
}

/**
 * Makes deadlines of `budgetMs` each. All budgets are equal, so reads end in the order in which they began, and one
 * timer for the oldest is enough: a timer for each costs more than the rest of this file.
 */
export function createDeadlines(options: { readonly budgetMs: number; readonly clock: Clock }): Deadlines {
  const { budgetMs, clock } = options
  // A Set keeps the order of insertion.
  const running = new Set<Running>()
  let armed = false

  function arm(waitMs: number): void {
    armed = true
    // It must not keep a process alive that has nothing else to do.
    setTimeout(sweep, waitMs).unref()
  }

  function sweep(): void {
    armed = false
    const nowMs = clock.monotonicMs()
    for (const read of running) {
      if (read.untilMs > nowMs) {
        arm(read.untilMs - nowMs)
        return
      }
      read.end(new UnavailableError(`Cannot answer within ${budgetMs / 1000} s`))
    }
  }

  return {
    run(caller, read) {
      return new Promise((resolve, reject) => {
        const controller = new AbortController()
        const finish = () => {
          running.delete(entry)
          caller.removeEventListener('abort', leave)
        }
        const end = (reason: Error) => {
          finish()
          reject(reason)
          controller.abort(reason)
        }
        const leave = () => end(new AbortedError('The caller left before the answer was ready'))
        const entry = { untilMs: clock.monotonicMs() + budgetMs, end }
        if (caller.aborted) return leave()
        running.add(entry)
        caller.addEventListener('abort', leave)
        if (!armed) arm(budgetMs)
        read(controller.signal).then(
          (result) => {
            finish()
            resolve(result)
          },
          (error) => {
            finish()
            reject(error)
          },
        )
      })
    },
    cancel() {
      for (const { end } of [...running]) end(new UnavailableError('Cannot answer: the service stops'))
    },
  }
}
