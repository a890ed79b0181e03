/** Creates a waiter for an idle state; `wait` and `check` each evaluate `isIdle`. */
export function createIdleWaiter(isIdle: () => boolean) {
  const waiting: (() => void)[] = []
  return {
    wait: (): Promise<void> => (isIdle() ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    /** Wakes the waiters if idle; call it whenever work has ended. */
    check(): void {
      if (isIdle()) for (const wake of waiting.splice(0)) wake()
    },
  }
}

/** Thrown by `withTimeout`. */
export const TIMED_OUT = Symbol('deadline')

/** Waits for a promise that may never settle, at most `deadlineMs`; then throws `TIMED_OUT`. */
export function withTimeout<T>(deadlineMs: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(TIMED_OUT), deadlineMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
