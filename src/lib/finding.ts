/** What an examination found. `lack`: it works, and something costs more or is missing. `failureFinding`: it cannot be used. */
export interface Finding {
  /** What was asked, in a word or two. */
  readonly check: string
  readonly verdict: 'good' | 'lack' | 'failed'
  /** What is there, in words. Never an address or another's own words, which may hold secrets. */
  readonly found: string
  /** What a lack or a failure costs. */
  readonly cost?: string
}

/** A finding without a cost. */
export function okFinding(check: string, found: string): Finding {
  return { check, verdict: 'good', found }
}

/** A finding that costs something. */
export function warningFinding(check: string, found: string, cost: string): Finding {
  return { check, verdict: 'lack', found, cost }
}

/** A finding that makes the rest useless. */
export function failureFinding(check: string, found: string, cost: string): Finding {
  return { check, verdict: 'failed', found, cost }
}
