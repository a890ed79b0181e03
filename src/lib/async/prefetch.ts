import type { Work } from './work.ts'

/** Creates a prefetcher: it starts reads that may be needed soon, at most `readsMax`, and returns each result once. */
export function createPrefetcher<T>({ readsMax }: { readonly readsMax: number }) {
  const pending = new Map<string, Promise<T | undefined>>()
  return {
    /** Starts a read, unless it or `readsMax` others are pending. It is dropped when `work` ends. */
    start(key: string, read: (work: Work) => Promise<T>, work: Work): void {
      if (work.signal.aborted || pending.has(key) || pending.size >= readsMax) return
      const reading = read(work).catch(() => undefined)
      pending.set(key, reading)
      const drop = () => {
        if (pending.get(key) === reading) pending.delete(key)
      }
      work.signal.addEventListener('abort', drop, { once: true })
    },
    /** Takes the result of a read, once it is complete; undefined if it was not started or failed. */
    async take(key: string): Promise<T | undefined> {
      const reading = pending.get(key)
      pending.delete(key)
      return await reading
    },
  }
}
