import { timingSafeEqual } from 'node:crypto'
import {
  loginLinkInsert,
  loginLinkListHashed,
  sessionDelete,
  sessionDeleteAll,
  sessionInsert,
  sessionListHashed,
} from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import { createBatcher } from '../lib/async/batch.ts'
import type { Clock } from '../lib/clock.ts'
import { createLru } from '../lib/lru.ts'
import { randomBase62 } from '../lib/text/base62.ts'
import { type Actor, toAuditParams } from './audit.ts'
import { newId } from './id.ts'
import { hashKey } from './key.ts'
import { organizationNotFoundError } from './organization.ts'

/** Lifetimes of a login link and of a session, seconds. */
export const LOGIN_LINK_SEC = 900
const OPERATOR_SESSION_SEC = 12 * 3_600
const ORGANIZATION_SESSION_SEC = 7 * 86_400

/** 190 bits: secrets cannot be guessed, so a fast hash suffices for storage. */
const SECRET_LENGTH = 32
const LINK = /^ws_login_[0-9A-Za-z]{32}$/
const COOKIE = /^ws_session_[0-9A-Za-z]{32}$/
const PAGE = /^ws_page_[0-9A-Za-z]{32}$/

interface Session {
  readonly id: string
  /** Null for the operator. */
  readonly organizationId: string | null
  readonly expiresAt: Date
}

/** The two secrets of a session in a browser; both are required. */
interface SessionSecrets {
  /** Sent by the browser with each request, to every port of the host. */
  readonly cookie: string
  /** Stored by a tab for one origin, port included, and sent by its pages. */
  readonly page: string
}

/**
 * Creates a secret that opens one session of the operator (`organizationId` null) or of an organization within
 * 15 minutes. Throws `CodedError` ORGANIZATION_NOT_FOUND.
 */
export async function createLoginLink(
  db: Database,
  { organizationId, by }: { readonly organizationId: string | null; readonly by: Actor },
): Promise<{ readonly secret: string; readonly expiresAt: Date }> {
  const secret = `ws_login_${randomBase62(SECRET_LENGTH)}`
  const [row] = await loginLinkInsert(db, {
    hash: hashKey(secret),
    organizationId,
    lifetimeSec: LOGIN_LINK_SEC,
    ...toAuditParams(by),
  })
  if (row === undefined) throw organizationNotFoundError(organizationId ?? '')
  return { secret, expiresAt: row.expires_at }
}

/**
 * Opens the session of a link, which works once: of several concurrent uses, one gets a session. Returns undefined if
 * the link is unknown, used or expired. The secrets are always generated, never taken from the request.
 */
export async function openSession(db: Database, secret: string): Promise<(Session & SessionSecrets) | undefined> {
  if (!isLink(secret)) return undefined
  const cookie = `ws_session_${randomBase62(SECRET_LENGTH)}`
  const page = `ws_page_${randomBase62(SECRET_LENGTH)}`
  const id = newId('ses')
  const [row] = await sessionInsert(db, {
    linkHash: hashKey(secret),
    id,
    hash: hashKey(cookie),
    pageHash: hashKey(page),
    operatorSec: OPERATOR_SESSION_SEC,
    organizationSec: ORGANIZATION_SESSION_SEC,
  })
  return row && { id, cookie, page, organizationId: row.organization_id, expiresAt: row.expires_at }
}

/** True if a text may be the secret of a login link. */
function isLink(secret: string): boolean {
  return LINK.test(secret)
}

/** True if two texts may be the secrets of a session. */
function isSession({ cookie, page }: SessionSecrets): boolean {
  return COOKIE.test(cookie) && PAGE.test(page)
}

/** Ends a session: its next request answers 401. Idempotent. */
export async function endSession(db: Database, { id, by }: { readonly id: string; readonly by: Actor }): Promise<void> {
  await sessionDelete(db, { id, actor: by.kind })
}

/** Ends the sessions and unused links of an organization, or all for null; returns how many sessions ended. */
export async function endSessions(
  db: Database,
  { organizationId, by }: { readonly organizationId: string | null; readonly by: Actor },
): Promise<number> {
  const [row] = await sessionDeleteAll(db, { organizationId, ...toAuditParams(by) })
  return row?.ended ?? 0
}

/** Most look-ups in a statement, and most that wait for one. */
const BATCH_MAX = 1_024
const QUEUE_MAX = 4_096
/** Most recently recognized sessions. */
const RECOGNIZED_MAX = 1_000

type SessionRow = Awaited<ReturnType<typeof sessionListHashed>>[number]
type LinkRow = Awaited<ReturnType<typeof loginLinkListHashed>>[number]

/** A login link that was not used yet; nulls are the operator's. */
interface LoginLink {
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
