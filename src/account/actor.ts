/** Who makes a change, as the audit list names it. */
export interface Actor {
  readonly kind: 'cli' | 'token' | 'operator session' | 'organization session' | 'first start'
  /** Id of the session, if it is made in one. */
  readonly sessionId: string | null
}

/** The command line: whoever can run it on the database. */
export const CLI: Actor = { kind: 'cli', sessionId: null }
