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

/** Makes deadlines of `budgetMs` each. */
export function createDeadlines(budgetMs: number): Deadlines {
  const running = new Set<(reason: Error) => void>()
  return {
    run(caller, read) {
      return new Promise((resolve, reject) => {
        const controller = new AbortController()
        const finish = () => {
          clearTimeout(timer)
          running.delete(end)
          caller.removeEventListener('abort', leave)
        }
        const end = (reason: Error) => {
          finish()
          reject(reason)
          controller.abort(reason)
        }
        const leave = () => end(new AbortedError('The caller left before the answer was ready'))
        const timer = setTimeout(
          () => end(new UnavailableError(`Cannot answer within ${budgetMs / 1000} s, try again`)),
          budgetMs,
        )
        running.add(end)
        if (caller.aborted) return leave()
        caller.addEventListener('abort', leave)
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
      for (const end of [...running]) end(new UnavailableError('Cannot answer: the service stops'))
    },
  }
}
