/** Result of one check. `lack`: it works, but something costs more or is missing. `failed`: it cannot be used. */
export interface Finding {
  /** Name of the check, in a word or two. */
  readonly check: string
  readonly verdict: 'good' | 'lack' | 'failed'
  /** The state, in words. Never an address or a quoted message: these may hold secrets. */
  readonly found: string
  /** The consequence of a lack or a failure. */
  readonly cost?: string
}

/** Creates a finding without a consequence. */
export function okFinding(check: string, found: string): Finding {
  return { check, verdict: 'good', found }
}

/** Creates a finding for something that works at a cost. */
export function warningFinding(check: string, found: string, cost: string): Finding {
  return { check, verdict: 'lack', found, cost }
}

/** Creates a finding for something that cannot be used. */
export function failureFinding(check: string, found: string, cost: string): Finding {
  return { check, verdict: 'failed', found, cost }
}
