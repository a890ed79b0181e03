/** Begins reads before it is certain that somebody will ask for them, at most `readsMax`; each is handed out once. */
export function createPrefetcher<T>({ readsMax }: { readonly readsMax: number }) {
  const begun = new Map<string, Promise<T | undefined>>()
  return {
    /** Begins a read, unless it or too many others are under way. It is dropped when `signal` fires. */
    start(key: string, read: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): void {
      if (signal.aborted || begun.has(key) || begun.size >= readsMax) return
      const reading = read(signal).catch(() => undefined)
      begun.set(key, reading)
      const drop = () => {
        if (begun.get(key) === reading) begun.delete(key)
      }
      signal.addEventListener('abort', drop, { once: true })
    },
    /** True if it was begun and not handed out yet. */
    has: (key: string): boolean => begun.has(key),
    /** What was begun, once it is there; undefined if it was not begun or failed. */
    async take(key: string): Promise<T | undefined> {
      const reading = begun.get(key)
      begun.delete(key)
      return await reading
    },
  }
}
