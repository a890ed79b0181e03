import { createWork, type Unwitnessed, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { AbortedError, UnavailableError } from '../../lib/error.ts'
import type { ReadContext, RouteCall } from '../route/route.ts'

/** A task under a budget: the read of a call, or the preparation of a change. */
interface Task<Result> extends Pick<RouteCall, 'budgetMs'> {
  read(context: ReadContext): Promise<Result>
}

interface Reader extends Omit<ReadContext, 'work' | 'untilMs'> {
  readonly callerSignal: AbortSignal
}

export type Deadlines = ReturnType<typeof createDeadlines>

/**
 * Runs each read under a budget, `budgetMs` unless its route has one of its own, and can cancel all reads under way.
 * Reads of one budget expire in the order of their start, so one timer for the oldest suffices: a timer for each would
 * cost more than a whole read from memory.
 */
export function createDeadlines(options: { readonly budgetMs: number; readonly clock: Clock }) {
  const { clock } = options
  const queues = new Map<number, Queue>()

  function getQueue(budgetMs: number): Queue {
    const queue = queues.get(budgetMs) ?? new Queue(budgetMs, clock)
    queues.set(budgetMs, queue)
    return queue
  }
  const defaultQueue = getQueue(options.budgetMs)

  return {
    /**
     * Returns the result of `call`. Throws `UnavailableError` when the budget is spent or `cancel` is called, even if
     * the read ignores its signal; when the budget is spent, the timeout error that the read has set, if it has.
     * Throws `AbortedError` when the caller disconnects from a read that has taken its work.
     */
    read<Result>(call: Task<Result>, reader: Reader): Promise<Result> {
      const queue = call.budgetMs === undefined ? defaultQueue : getQueue(call.budgetMs)
      return queue.read(call, reader)
    },
    /** Ends every read under way, for a stop that cannot wait. */
    cancel(): void {
      for (const queue of queues.values()) queue.cancel()
    },
  }
}

class Queue {
  readonly #budgetMs: number
  readonly #clock: Clock
  // A Set keeps the order of insertion.
  readonly #running = new Set<Run>()
  #armed = false

  constructor(budgetMs: number, clock: Clock) {
    this.#budgetMs = budgetMs
    this.#clock = clock
  }

  read<Result>(call: Task<Result>, reader: Reader): Promise<Result> {
    if (!this.#armed) this.#arm(this.#budgetMs)
    // One promise instead of one for each step: a read from memory takes hardly longer than a promise.
    return new Promise((resolve, reject) => {
      const run = new Run(reader, { untilMs: this.#clock.monotonicMs() + this.#budgetMs, reject })
      this.#running.add(run)
      call.read(run).then(
        (answer) => {
          this.#leave(run)
          resolve(answer)
        },
        (error: unknown) => {
          this.#leave(run)
          reject(error)
        },
      )
    })
  }

  #leave(run: Run): void {
    this.#running.delete(run)
    run.leaveSignal()
  }

  cancel(): void {
    for (const run of this.#running) run.end(new UnavailableError('Cannot answer: the service stops'))
    this.#running.clear()
  }

  #arm(waitMs: number): void {
    this.#armed = true
    this.#clock.after(waitMs, () => this.#sweep(), { keepsAlive: false })
  }

  #sweep(): void {
    this.#armed = false
    const nowMs = this.#clock.monotonicMs()
    for (const run of this.#running) {
      if (run.untilMs > nowMs) {
        this.#arm(run.untilMs - nowMs)
        return
      }
      this.#running.delete(run)
      run.end(run.timeoutError ?? new UnavailableError(`Cannot answer within ${this.#budgetMs / 1000} s`))
    }
  }
}

const NO_CHAINS: Unwitnessed = new Set()

/**
 * One read under way. Its work, whose signal follows the caller's, is created on first use: changes and reads from
 * memory may need none, and note nothing then.
 */
class Run implements ReadContext, EventListenerObject {
  readonly organizationId: string
  readonly apiKeyId: string
  readonly requestedAtMs: number
  readonly untilMs: number
  readonly #callerSignal: AbortSignal
  readonly #reject: (reason: Error) => void
  #controller: AbortController | undefined
  #work: Work | undefined
  #createTimeoutError: (() => UnavailableError) | undefined

  constructor(
    { callerSignal, organizationId, apiKeyId, requestedAtMs }: Reader,
    { untilMs, reject }: { readonly untilMs: number; readonly reject: (reason: Error) => void },
  ) {
    this.organizationId = organizationId
    this.apiKeyId = apiKeyId
    this.requestedAtMs = requestedAtMs
    this.untilMs = untilMs
    this.#callerSignal = callerSignal
    this.#reject = reject
  }

  get work(): Work {
    if (this.#work === undefined) {
      this.#controller = new AbortController()
      this.#work = createWork(this.#controller.signal, {
        requesters: new Set([this.organizationId]),
        onTimeout: (createError) => {
          this.#createTimeoutError = createError
        },
      })
      if (this.#callerSignal.aborted) this.handleEvent()
      else this.#callerSignal.addEventListener('abort', this)
    }
    return this.#work
  }

  get unwitnessed(): Unwitnessed {
    return this.#work?.unwitnessed ?? NO_CHAINS
  }

  /** The error for the caller when the budget is spent, if the read has set one. */
  get timeoutError(): UnavailableError | undefined {
    return this.#createTimeoutError?.()
  }

  /** Ends the run whether or not the read heeds its signal. */
  end(reason: Error): void {
    this.leaveSignal()
    this.#reject(reason)
    this.#controller?.abort(reason)
  }

  leaveSignal(): void {
    if (this.#controller !== undefined) this.#callerSignal.removeEventListener('abort', this)
  }

  handleEvent(): void {
    this.end(new AbortedError('The caller left before the answer was ready'))
  }
}
