import type { Clock } from '../lib/clock.ts'
import { AbortedError, UnavailableError } from '../lib/error.ts'

/** What a read is given of its deadline. */
export interface ReadScope {
  /** Fires when the caller leaves, the budget is spent, or all reads are ended. */
  readonly signal: AbortSignal
}

/** Runs reads under a budget, and can end all that are under way. */
export interface Deadlines {
  /**
   * The result of `read`. Throws `UnavailableError` when the budget is spent or `cancel` is called, whether or not
   * `read` heeds its signal, and `AbortedError` when the caller leaves a read that has asked for its signal.
   */
  run<Result>(request: Request, read: (scope: ReadScope) => Promise<Result>): Promise<Result>
  /** Ends every read under way, for a stop that cannot wait. */
  cancel(): void
}

/**
 * Makes deadlines of `budgetMs` each. All budgets are equal, so reads end in the order in which they began, and one
 * timer for the oldest is enough: a timer for each would cost more than a whole read from memory.
 */
export function createDeadlines(options: { readonly budgetMs: number; readonly clock: Clock }): Deadlines {
  const { budgetMs, clock } = options
  // A Set keeps the order of insertion.
  const running = new Set<Run>()
  let armed = false

  function arm(waitMs: number): void {
    armed = true
    // It must not keep a process alive that has nothing else to do.
    setTimeout(sweep, waitMs).unref()
  }

  function sweep(): void {
    armed = false
    const nowMs = clock.monotonicMs()
    for (const run of running) {
      if (run.untilMs > nowMs) {
        arm(run.untilMs - nowMs)
        return
      }
      run.end(new UnavailableError(`Cannot answer within ${budgetMs / 1000} s`))
    }
  }

  return {
    run(request, read) {
      return new Promise((resolve, reject) => {
        const run = new Run(request, { untilMs: clock.monotonicMs() + budgetMs, running, reject })
        running.add(run)
        if (!armed) arm(budgetMs)
        read(run).then(
          (result) => {
            run.finish()
            resolve(result)
          },
          (error) => {
            run.finish()
            reject(error)
          },
        )
      })
    },
    cancel() {
      for (const run of [...running]) run.end(new UnavailableError('Cannot answer: the service stops'))
    },
  }
}

/** One read under way. Its signal, which listens to the caller's, is made only when it asks: reads from memory do not. */
class Run implements ReadScope {
  readonly untilMs: number
  readonly #request: Request
  readonly #running: Set<Run>
  readonly #reject: (reason: Error) => void
  #controller: AbortController | undefined

  constructor(
    request: Request,
    parts: { readonly untilMs: number; readonly running: Set<Run>; readonly reject: (reason: Error) => void },
  ) {
    this.#request = request
    this.untilMs = parts.untilMs
    this.#running = parts.running
    this.#reject = parts.reject
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#request.signal.aborted) this.#leave()
      else this.#request.signal.addEventListener('abort', this.#leave)
    }
    return this.#controller.signal
  }

  end(reason: Error): void {
    this.finish()
    this.#reject(reason)
    this.#controller?.abort(reason)
  }

  finish(): void {
    this.#running.delete(this)
    if (this.#controller !== undefined) this.#request.signal.removeEventListener('abort', this.#leave)
  }

  readonly #leave = (): void => this.end(new AbortedError('The caller left before the answer was ready'))
}
