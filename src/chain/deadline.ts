/** A time limit that ends an operation, and tells whether it was the limit or the caller that did. */
export interface Deadline {
  /** Fires when the limit is reached or the parent fires. */
  readonly signal: AbortSignal
  /** Milliseconds left, zero when over. */
  remainingMs(): number
  /** Stops the timer and forgets the parent; call it in `finally`. */
  stop(): void
}

/** Starts a limit of `ms` that also follows `parent`. Times are monotonic milliseconds from `now`. */
export function startDeadline(
  ms: number,
  options: { readonly parent: AbortSignal; readonly now: () => number },
): Deadline {
  const { parent, now } = options
  const controller = new AbortController()
  const endsAtMs = now() + ms
  const abort = () => controller.abort()
  const timer = setTimeout(abort, ms)
  if (parent.aborted) abort()
  else parent.addEventListener('abort', abort, { once: true })
  return {
    signal: controller.signal,
    remainingMs: () => (controller.signal.aborted ? 0 : Math.max(0, endsAtMs - now())),
    stop() {
      clearTimeout(timer)
      parent.removeEventListener('abort', abort)
    },
  }
}
