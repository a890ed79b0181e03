import type { Clock } from '../clock.ts'

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

/** Waits for a promise that may never settle, at most `ms`; then throws `TIMED_OUT`. */
export function withTimeout<T>(
  promise: Promise<T>,
  { ms, clock }: { readonly ms: number; readonly clock: Clock },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => reject(TIMED_OUT))
    promise.then(resolve, reject).finally(cancel)
  })
}
