import { hash } from 'node:crypto'
import { createLru } from '../../lib/lru.ts'
import { limitConcurrencyByOwner } from '../exchange/concurrency.ts'
import { PLANE_UNAUTHENTICATED_MAX } from '../limits.ts'
import type { Authenticate } from './credential.ts'

/** Sessions that are known again without a place for strangers. */
const SESSIONS_MAX = 1_000

/**
 * The same look-up of who acts, for few strangers at a time: anybody can invent secrets of a session, and each is
 * looked up in the database. A token is compared in memory, and a session that was recognised lately waits for no stranger.
 */
export function limitSessionLookups(authenticate: Authenticate): Authenticate {
  const asStranger = limitConcurrencyByOwner(PLANE_UNAUTHENTICATED_MAX)
  const recognised = createRecognizedCredentials(SESSIONS_MAX)
  return async (credential) => {
    const { bearer, session } = credential
    if (bearer !== undefined || session === undefined) return authenticate(credential)
    const secrets = `${session.cookie}\n${session.page}`
    if (recognised.has(secrets)) return authenticate(credential)
    const identity = await asStranger('', () => authenticate(credential))
    if (identity !== undefined) recognised.add(secrets)
    return identity
  }
}

/** Credentials that were recognised lately, at most `max` of them, kept as hashes. They are looked up all the same. */
export function createRecognizedCredentials(max: number) {
  const recent = createLru<true>({ entriesMax: max })
  return {
    has: (secret: string) => recent.get(hash('sha256', secret)) !== undefined,
    add: (secret: string) => recent.set(hash('sha256', secret), true),
  }
}
