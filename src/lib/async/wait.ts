/** Lets others wait until nothing is under way. */
interface Idle {
  /** Resolves when nothing is under way. */
  wait(): Promise<void>
  /** To be called when something has ended. */
  check(): void
}

/** Makes one; `isIdle` is asked at each `wait` and `check`. */
export function createIdle(isIdle: () => boolean): Idle {
  const waiting: (() => void)[] = []
  return {
    wait: () => (isIdle() ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    check() {
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
