import { hash } from 'node:crypto'
import { createLru } from '../../lib/lru.ts'
import { limitConcurrencyByOwner } from '../exchange/concurrency.ts'
import { PLANE_UNAUTHENTICATED_MAX } from '../limits.ts'
import type { Authenticate } from './credential.ts'

/** Most recently recognized sessions, which skip the limit. */
const SESSIONS_MAX = 1_000

/**
 * Limits concurrent look-ups of unknown sessions: session secrets can be invented, and each is looked up in the
 * database. Tokens are compared in memory, and recently recognized sessions skip the limit.
 */
export function limitSessionLookups(authenticate: Authenticate): Authenticate {
  const limitLookups = limitConcurrencyByOwner(PLANE_UNAUTHENTICATED_MAX)
  const recognised = createRecognizedCredentials(SESSIONS_MAX)
  return async (credential) => {
    const { bearer, session } = credential
    if (bearer !== undefined || session === undefined) return authenticate(credential)
    const secrets = `${session.cookie}\n${session.page}`
    if (recognised.has(secrets)) return authenticate(credential)
    const identity = await limitLookups('', () => authenticate(credential))
    if (identity !== undefined) recognised.add(secrets)
    return identity
  }
}

/** Creates a set of at most `max` recently recognized credentials, as hashes. They are still looked up each time. */
export function createRecognizedCredentials(max: number) {
  const recent = createLru<true>({ entriesMax: max })
  return {
    has: (secret: string) => recent.get(hash('sha256', secret)) !== undefined,
    add: (secret: string) => recent.set(hash('sha256', secret), true),
  }
}
