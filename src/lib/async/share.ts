import type { Clock } from '../clock.ts'

/**
 * Wraps a read so that calls share one, its failure too, until `ms` after its start: a page without a key may be asked
 * any number of times.
 */
export function shareReads<T>(
  read: () => Promise<T>,
  { ms, clock }: { readonly ms: number; readonly clock: Clock },
): () => Promise<T> {
  let shared: { readonly promise: Promise<T>; readonly startedMs: number } | undefined
  return () => {
    const nowMs = clock.monotonicMs()
    if (shared === undefined || nowMs - shared.startedMs > ms) shared = { promise: read(), startedMs: nowMs }
    return shared.promise
  }
}
