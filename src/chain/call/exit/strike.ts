import type { ExitUnit, StepOutcome } from './step.ts'

/** Times that suspects may use up a unit's gas before what depends on all of them is left out. */
const STRIKES_MAX = 2
/** Times that all suspects of a wallet together may, those apart that are left out already. */
const ALL_STRIKES_MAX = 10

/** Suspects that were together in a unit whose gas was used up: one of them did it. */
interface Strike {
  readonly suspects: readonly string[]
  count: number
}

/** What counts strikes. */
export type Strikes = ReturnType<typeof createStrikes>

/** Counts units whose gas was used up, by what may have done it, so that no hostile contract takes all the time. */
export function createStrikes() {
  const strikes = new Map<string, Strike>()
  let total = 0
  return {
    /** Counts a unit if the gas of one of its steps was used up. */
    note(unit: ExitUnit, steps: readonly StepOutcome[]): void {
      const suspects = listSuspects(unit)
      if (suspects.length === 0 || steps.every(({ kind }) => kind !== 'too_costly')) return
      const key = suspects.join()
      const strike = strikes.get(key) ?? { suspects, count: 0 }
      strikes.set(key, strike)
      strike.count++
      if (strike.count <= STRIKES_MAX) total++
    },
    /**
     * True if the unit has all suspects of units that were struck too often: with some of them it may be an innocent one
     * that shared a unit with a hostile one. True for any unit with suspects once there were too many strikes.
     */
    isStruck(unit: ExitUnit): boolean {
      if (total === 0) return false
      const suspects = new Set(listSuspects(unit))
      if (suspects.size > 0 && total >= ALL_STRIKES_MAX) return true
      return [...strikes.values()].some(
        (strike) => strike.count >= STRIKES_MAX && strike.suspects.every((each) => suspects.has(each)),
      )
    },
  }
}

/** A unit's suspects, in one order. */
export function listSuspects({ suspects = [] }: ExitUnit): string[] {
  return [...new Set(suspects.map((each) => each.toLowerCase()))].sort()
}
