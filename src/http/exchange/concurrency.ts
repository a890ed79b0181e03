import { CodedError } from '../../lib/error.ts'

/** Limits the concurrent work of each owner. */
export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>

/**
 * Creates `max` slots for each owner, and never more than are free in total, so that a few owners cannot take all.
 * Owners without work under way take no memory. `what` names the work in the error.
 */
export function createConcurrencyLimiter(
  max: number,
  { getFreeSlots, what }: { readonly getFreeSlots: () => number; readonly what: string },
) {
  const countsByOwner = new Map<string, number>()
  return {
    /** Takes a slot. Throws `CodedError` SERVICE_UNAVAILABLE if the owner has none left. */
    acquire(owner: string): void {
      const count = countsByOwner.get(owner) ?? 0
      if (count >= Math.min(max, getFreeSlots())) {
        throw new CodedError('SERVICE_UNAVAILABLE', `Cannot answer: too many ${what} are under way`)
      }
      countsByOwner.set(owner, count + 1)
    },
    release(owner: string): void {
      const left = (countsByOwner.get(owner) ?? 1) - 1
      if (left > 0) countsByOwner.set(owner, left)
      else countsByOwner.delete(owner)
    },
  }
}

/** Limits the concurrent calls of each owner to `max`, regardless of other owners. */
export function limitConcurrencyByOwner(max: number) {
  const slots = createConcurrencyLimiter(max, { getFreeSlots: () => max, what: 'requests' })
  return async <T>(owner: string, work: () => Promise<T>): Promise<T> => {
    slots.acquire(owner)
    try {
      return await work()
    } finally {
      slots.release(owner)
    }
  }
}
