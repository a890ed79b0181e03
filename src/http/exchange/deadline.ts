import { onBehalfOf } from '../../lib/async/askers.ts'
import { lateReasonOf } from '../../lib/async/late.ts'
import type { Clock } from '../../lib/clock.ts'
import { AbortedError, UnavailableError } from '../../lib/error.ts'
import type { Answer, Call, ReadContext } from '../route/route.ts'

/** For whom a read is. */
interface Reader extends Omit<ReadContext, 'signal' | 'untilMs'> {
  /** Fires when they leave. */
  readonly callerSignal: AbortSignal
}

export type Deadlines = ReturnType<typeof createDeadlines>

/**
 * Runs reads under a budget of `budgetMs` each, and can end all that are under way. All budgets are equal, so reads end in the order in which they began, and one
 * timer for the oldest is enough: a timer for each would cost more than a whole read from memory.
 */
export function createDeadlines(options: { readonly budgetMs: number; readonly clock: Clock }) {
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
      running.delete(run)
      run.end(run.late ?? new UnavailableError(`Cannot answer within ${budgetMs / 1000} s`))
    }
  }

  return {
    /**
     * The answer of `call`. Throws `UnavailableError` when the budget is spent or `cancel` is called, whether or not the
     * read heeds its signal: when the budget is spent, the error that the read has named by `whenLate`, if it has. Throws
     * `AbortedError` when the caller leaves a read that has asked for its signal.
     */
    async read(call: Call, reader: Reader): Promise<Answer> {
      const run = new Run(reader, clock.monotonicMs() + budgetMs)
      running.add(run)
      if (!armed) arm(budgetMs)
      try {
        return await run.read(call)
      } finally {
        running.delete(run)
        run.leaveSignal()
      }
    },
    /** Ends every read under way, for a stop that cannot wait. */
    cancel(): void {
      for (const run of running) run.end(new UnavailableError('Cannot answer: the service stops'))
    },
  }
}

/** One read under way. Its signal, which follows the caller's, is made only when it asks: reads from memory do not. */
class Run implements ReadContext, EventListenerObject {
  readonly organizationId: string
  readonly requestedAtMs: number
  readonly untilMs: number
  readonly #callerSignal: AbortSignal
  #reject: ((reason: Error) => void) | undefined
  #controller: AbortController | undefined

  constructor({ callerSignal, organizationId, requestedAtMs }: Reader, untilMs: number) {
    this.organizationId = organizationId
    this.requestedAtMs = requestedAtMs
    this.untilMs = untilMs
    this.#callerSignal = callerSignal
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      onBehalfOf(new Set([this.organizationId]), this.#controller.signal)
      if (this.#callerSignal.aborted) this.handleEvent()
      else this.#callerSignal.addEventListener('abort', this)
    }
    return this.#controller.signal
  }

  /** What its caller is told when the budget is spent, if the read has said so. */
  get late(): UnavailableError | undefined {
    return this.#controller && lateReasonOf(this.#controller.signal)
  }

  /** Runs the read until it ends or is ended. */
  read(call: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#reject = reject
      call.read(this).then(resolve, reject)
    })
  }

  end(reason: Error): void {
    this.#reject?.(reason)
    this.#controller?.abort(reason)
  }

  /** Stops following the caller's signal. */
  leaveSignal(): void {
    if (this.#controller !== undefined) this.#callerSignal.removeEventListener('abort', this)
  }

  /** The caller has left. */
  handleEvent(): void {
    this.end(new AbortedError('The caller left before the answer was ready'))
  }
}
