/** Slots for work under way, counted by organization. */
export interface OrganizationSlots {
  /** Takes a slot; false if the organization has none left. */
  take(organizationId: string): boolean
  /** Gives a slot back. */
  free(organizationId: string): void
}

/**
 * Makes `max` slots for each organization, and never more than as many as places are left for all: many that are greedy
 * leave room for the next who comes. Organizations without work under way take no memory.
 */
export function createOrganizationSlots(max: number, placesLeft: () => number = () => max): OrganizationSlots {
  const taken = new Map<string, number>()
  return {
    take(organizationId) {
      const count = taken.get(organizationId) ?? 0
      if (count >= Math.min(max, placesLeft())) return false
      taken.set(organizationId, count + 1)
      return true
    },
    free(organizationId) {
      const count = taken.get(organizationId) ?? 0
      if (count > 1) taken.set(organizationId, count - 1)
      else taken.delete(organizationId)
    },
  }
}
