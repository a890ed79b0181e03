/** Reads that are begun before it is certain that somebody will ask for them; each is handed out once. */
export interface Ahead<T> {
  /** Begins a read, unless it or too many others are under way. It is dropped when `signal` fires. */
  start(key: string, read: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): void
  /** True if it was begun and not handed out yet. */
  has(key: string): boolean
  /** What was begun, once it is there; undefined if it was not begun or failed. */
  take(key: string): Promise<T | undefined>
}

/** Makes it for at most `readsMax` reads that nobody has asked for yet. */
export function createAhead<T>({ readsMax }: { readonly readsMax: number }): Ahead<T> {
  const begun = new Map<string, Promise<T | undefined>>()
  return {
    start(key, read, signal) {
      if (signal.aborted || begun.has(key) || begun.size >= readsMax) return
      const reading = read(signal).catch(() => undefined)
      begun.set(key, reading)
      const drop = () => {
        if (begun.get(key) === reading) begun.delete(key)
      }
      signal.addEventListener('abort', drop, { once: true })
    },
    has: (key) => begun.has(key),
    async take(key) {
      const reading = begun.get(key)
      begun.delete(key)
      return await reading
    },
  }
}
