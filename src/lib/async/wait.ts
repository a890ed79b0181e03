/** Lets others wait until nothing is under way; `isIdle` is asked at each `wait` and `check`. */
export function createIdleWaiter(isIdle: () => boolean) {
  const waiting: (() => void)[] = []
  return {
    wait: (): Promise<void> => (isIdle() ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    /** To be called when something has ended. */
    check(): void {
      if (isIdle()) for (const wake of waiting.splice(0)) wake()
    },
  }
}

/** What `withTimeout` throws. */
export const TIMED_OUT = Symbol('deadline')

/** Waits for a promise that may never settle, at most `deadlineMs`; throws `TIMED_OUT` after that. */
export function withTimeout<T>(deadlineMs: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(TIMED_OUT), deadlineMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
