import { timingSafeEqual } from 'node:crypto'
import { loginLinkListHashed, sessionListHashed } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import { createBatcher } from '../lib/async/batch.ts'
import type { Clock } from '../lib/clock.ts'
import { createLru } from '../lib/lru.ts'
import { hashKey } from './key.ts'
import { isLink, isSession, type Session, type SessionSecrets } from './session.ts'

/** Most look-ups in a statement, and most that wait for one. */
const BATCH_MAX = 1_024
const QUEUE_MAX = 4_096
/** Most recently recognized sessions. */
const RECOGNIZED_MAX = 1_000

type SessionRow = Awaited<ReturnType<typeof sessionListHashed>>[number]
type LinkRow = Awaited<ReturnType<typeof loginLinkListHashed>>[number]

/** A login link that was not used yet; nulls are the operator's. */
export interface LoginLink {
  readonly organizationId: string | null
  readonly organizationName: string | null
}

/** Looks up sessions and login links by their secrets. */
export type SessionLookup = ReturnType<typeof createSessionLookup>

/**
 * Creates a look-up of sessions and login links. Strangers can invent any number of secrets, so all that arrive together
 * are looked up in one statement, and one such statement runs at a time. Recently recognized sessions are looked up
 * apart from them, so that they wait for no stranger.
 */
export function createSessionLookup({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  const limits = { clock, itemsMax: BATCH_MAX, queueMax: QUEUE_MAX, flightsMax: 1 }
  const createSessionBatcher = () =>
    createBatcher<string, SessionRow | undefined>({
      ...limits,
      async flush(hashes) {
        const rows = new Map((await sessionListHashed(db, { hashes })).map((row) => [row.hash, row]))
        return hashes.map((hash) => rows.get(hash))
      },
    })
  const strangers = createSessionBatcher()
  const recognized = createSessionBatcher()
  const recognizedHashes = createLru<true>({ entriesMax: RECOGNIZED_MAX })
  const links = createBatcher<string, LinkRow | undefined>({
    ...limits,
    async flush(hashes) {
      const rows = new Map((await loginLinkListHashed(db, { hashes })).map((row) => [row.hash, row]))
      return hashes.map((hash) => rows.get(hash))
    },
  })

  return {
    /**
     * Finds the session of both secrets; undefined if it has ended or its organization is deleted. Throws
     * `UnavailableError` if too many look-ups wait.
     */
    async findSession(secrets: SessionSecrets): Promise<Session | undefined> {
      if (!isSession(secrets)) return undefined
      const hash = hashKey(secrets.cookie)
      const isRecognized = recognizedHashes.get(hash) !== undefined
      const row = await (isRecognized ? recognized : strangers).submit(hash)
      if (row === undefined || !timingSafeEqual(Buffer.from(row.page_hash), Buffer.from(hashKey(secrets.page))))
        return undefined
      recognizedHashes.set(hash, true)
      return { id: row.id, organizationId: row.organization_id, expiresAt: row.expires_at }
    },
    /** Finds a login link, so that opening it may be tried. Throws `UnavailableError` as `findSession` does. */
    async findLink(secret: string): Promise<LoginLink | undefined> {
      const row = isLink(secret) ? await links.submit(hashKey(secret)) : undefined
      return row && { organizationId: row.organization_id, organizationName: row.organization_name }
    },
  }
}
