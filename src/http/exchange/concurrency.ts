import { CodedError } from '../../lib/error.ts'

/** Slots of owners, of whom each may take a few. */
export type ConcurrencyLimiter = ReturnType<typeof createConcurrencyLimiter>

/**
 * Makes `max` slots for each owner, and never more than as many as places are left for all: many that are greedy leave
 * room for the next who comes. Owners without work under way take no memory. `what` there is too much of is for the error.
 */
export function createConcurrencyLimiter(
  max: number,
  { placesLeft, what }: { readonly placesLeft: () => number; readonly what: string },
) {
  const taken = new Map<string, number>()
  return {
    /** Throws `CodedError` SERVICE_UNAVAILABLE if the owner has none left. */
    take(owner: string): void {
      const count = taken.get(owner) ?? 0
      if (count >= Math.min(max, placesLeft())) {
        throw new CodedError('SERVICE_UNAVAILABLE', `Cannot answer: too many ${what} are under way`)
      }
      taken.set(owner, count + 1)
    },
    leave(owner: string): void {
      const left = (taken.get(owner) ?? 1) - 1
      if (left > 0) taken.set(owner, left)
      else taken.delete(owner)
    },
  }
}

/** The same for work that is one function, however many others have places. */
export function limitConcurrencyByOwner(max: number) {
  const slots = createConcurrencyLimiter(max, { placesLeft: () => max, what: 'requests' })
  return async <T>(owner: string, work: () => Promise<T>): Promise<T> => {
    slots.take(owner)
    try {
      return await work()
    } finally {
      slots.leave(owner)
    }
  }
}
