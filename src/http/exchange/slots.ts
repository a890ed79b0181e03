import { CodedError } from '../../lib/error.ts'

interface SlotOptions {
  /** @default as many as there are slots */
  readonly placesLeft?: () => number
  /** Of what there is too much, for the error. @default requests */
  readonly what?: string
}

/** Slots of owners, of whom each may take a few. */
export type SlotsByOwner = ReturnType<typeof createSlotsByOwner>

/** Runs work in a slot of its owner. Throws `CodedError` SERVICE_UNAVAILABLE if the owner has none left. */
export type OwnerSlots = <T>(owner: string, work: () => Promise<T>) => Promise<T>

/**
 * Makes `max` slots for each owner, and never more than as many as places are left for all: many that are greedy leave
 * room for the next who comes. Owners without work under way take no memory.
 */
export function createSlotsByOwner(max: number, { placesLeft = () => max, what = 'requests' }: SlotOptions = {}) {
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
    /** Gives back what was taken. */
    leave(owner: string): void {
      const left = (taken.get(owner) ?? 1) - 1
      if (left > 0) taken.set(owner, left)
      else taken.delete(owner)
    },
  }
}

/** The same for work that is one function. */
export function createOwnerSlots(max: number, options?: SlotOptions): OwnerSlots {
  const slots = createSlotsByOwner(max, options)
  return async (owner, work) => {
    slots.take(owner)
    try {
      return await work()
    } finally {
      slots.leave(owner)
    }
  }
}
