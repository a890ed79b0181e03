/** Places for work under way, counted by owner. */
export interface Slots {
  /** Takes a place; false where the owner has all of its own already. */
  take(owner: string): boolean
  /** Gives a place back. */
  free(owner: string): void
}

/** Makes `max` places for each owner; owners without work under way take no memory. */
export function createSlots(max: number): Slots {
  const taken = new Map<string, number>()
  return {
    take(owner) {
      const count = taken.get(owner) ?? 0
      if (count >= max) return false
      taken.set(owner, count + 1)
      return true
    },
    free(owner) {
      const count = taken.get(owner) ?? 0
      if (count > 1) taken.set(owner, count - 1)
      else taken.delete(owner)
    },
  }
}
