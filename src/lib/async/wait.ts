/** Lets others wait until nothing is under way; `isIdle` is asked at each `wait` and `check`. */
export function createIdle(isIdle: () => boolean) {
  const waiting: (() => void)[] = []
  return {
    wait: (): Promise<void> => (isIdle() ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    /** To be called when something has ended. */
    check(): void {
      if (isIdle()) for (const wake of waiting.splice(0)) wake()
    },
  }
}

/** What `before` throws. */
export const DEADLINE = Symbol('deadline')

/** Waits for a promise that may never settle, at most `deadlineMs`; throws `DEADLINE` after that. */
export function before<T>(deadlineMs: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(DEADLINE), deadlineMs)
    promise.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
