import { CodedError } from '../../lib/error.ts'

/**
 * Runs work, which may reject but not throw, in a slot of its owner. Throws `CodedError` SERVICE_UNAVAILABLE at once if the
 * owner has none left.
 */
export type OwnerSlots = <T>(owner: string, work: () => Promise<T>) => Promise<T>

/**
 * Makes `max` slots for each owner, and never more than as many as places are left for all: many that are greedy leave
 * room for the next who comes. Owners without work under way take no memory.
 */
export function createOwnerSlots(
  max: number,
  options: {
    /** @default as many as there are slots */
    readonly placesLeft?: () => number
    /** Of what there is too much, for the error. @default requests */
    readonly what?: string
  } = {},
): OwnerSlots {
  const { placesLeft = () => max, what = 'requests' } = options
  const taken = new Map<string, number>()
  return (owner, work) => {
    const count = taken.get(owner) ?? 0
    if (count >= Math.min(max, placesLeft())) {
      throw new CodedError('SERVICE_UNAVAILABLE', `Cannot answer: too many ${what} are under way`)
    }
    taken.set(owner, count + 1)
    const working = work()
    const leave = () => {
      const left = (taken.get(owner) ?? 1) - 1
      if (left > 0) taken.set(owner, left)
      else taken.delete(owner)
    }
    working.then(leave, leave)
    return working
  }
}
