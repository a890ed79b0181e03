import * as v from 'valibot'
import {
  CREDITS_PER_DAY_MAX,
  createKey,
  GRACE_DEFAULT_SEC,
  GRACE_MAX_SEC,
  KEY_LIST_MAX,
  listKeys,
  rerollKey,
  revokeKey,
} from '../account/api_key.ts'
import type { Database } from '../db/database.ts'
import { getSignedInOrganization } from '../http/plane/signed_in.ts'
import { dataOutput, idParameter, integerBetween, label, listOutput, pageEntries } from '../http/request/schema.ts'
import { createPagination } from '../http/route/page.ts'
import { type ActContext, defineRoute, type FreeRoute } from '../http/route/route.ts'
import { CodedError } from '../lib/error.ts'
import { toActor } from './access.ts'
import { apiKeySchema, newApiKeySchema } from './schema.ts'
import { requireEndpoints, type Switchboard } from './switches.ts'

const NAME_MAX = 100
const TIME = 'expected an ISO 8601 time with its zone'

/** What names the organization in the path; nothing if a session does. */
interface OwnerInput {
  readonly organization_id?: string | undefined
}

interface Inputs {
  readonly ofOwner: v.GenericSchema<unknown, OwnerInput>
  readonly pageOfOwner: v.GenericSchema<unknown, OwnerInput & { readonly page: number; readonly limit: number }>
  readonly keyOfOwner: v.GenericSchema<unknown, OwnerInput & { readonly key_id: string }>
}

const owned = { organization_id: idParameter }
const BY_PATH: Inputs = {
  ofOwner: v.object(owned),
  pageOfOwner: v.object({ ...owned, ...pageEntries }),
  keyOfOwner: v.object({ ...owned, key_id: idParameter }),
}
/** Without the organization's id: a session must not name another one. */
const BY_SESSION: Inputs = {
  ofOwner: v.object({}),
  pageOfOwner: v.object(pageEntries),
  keyOfOwner: v.object({ key_id: idParameter }),
}

/**
 * Keys of an organization: create, list, revoke, reroll. The organization is in the path, or else that of the session:
 * both planes have these routes.
 */
export function keyRoutes(options: {
  readonly db: Database
  readonly base: string
  readonly board: Switchboard
  /** Where the organization's id comes from. */
  readonly owner: 'path' | 'session'
}): readonly FreeRoute[] {
  const { db, owner, board } = options
  const path = owner === 'path' ? `${options.base}/organizations/:organization_id/keys` : `${options.base}/keys`
  const { ofOwner, pageOfOwner, keyOfOwner } = owner === 'path' ? BY_PATH : BY_SESSION

  const list = defineRoute({
    method: 'GET',
    path,
    summary: 'Keys, revoked ones too, oldest first. A key itself is shown only when it is made.',
    input: pageOfOwner,
    output: listOutput(apiKeySchema),
    errors: [404],
    async act(asked, context) {
      const { page, limit } = asked
      const { items, total } = await listKeys(db, { organizationId: ownerOf(asked, context), page, limit })
      return { data: items, pagination: createPagination({ page, limit, total, url: context.url }) }
    },
  })
  const create = defineRoute({
    method: 'POST',
    path,
    summary: 'Create a key; it is shown this once. A suspended organization cannot have another.',
    status: 201,
    input: ofOwner,
    body: v.strictObject({
      name: label(NAME_MAX),
      expires_at: v.optional(v.pipe(v.string(TIME), v.isoTimestamp(TIME))),
      allowed_networks: v.optional(texts('expected networks such as 10.0.0.0/8 or 2001:db8::/32')),
      allowed_endpoints: v.optional(texts('expected endpoints such as GET /v1/lending/aave-v3')),
      credits_per_day: v.optional(integerBetween(1, CREDITS_PER_DAY_MAX)),
    }),
    output: dataOutput(newApiKeySchema),
    errors: [403, 404],
    async act(asked, context) {
      requireEndpoints(board, asked.allowed_endpoints ?? [])
      const made = await createKey(db, {
        organizationId: ownerOf(asked, context),
        name: asked.name,
        expiresAt: asked.expires_at === undefined ? undefined : timeToCome(asked.expires_at, context.nowMs),
        limits: {
          networks: asked.allowed_networks ?? null,
          endpoints: asked.allowed_endpoints ?? null,
          creditsPerDay: asked.credits_per_day ?? null,
        },
        by: toActor(context.identity),
      })
      return { data: made }
    },
  })
  const revoke = defineRoute({
    method: 'DELETE',
    path: `${path}/:key_id`,
    summary: 'Revoke a key: from its next request on it is refused. Idempotent.',
    input: keyOfOwner,
    output: dataOutput(apiKeySchema),
    errors: [404],
    async act(asked, context) {
      const owning = { organizationId: ownerOf(asked, context), keyId: asked.key_id }
      return { data: await revokeKey(db, { ...owning, by: toActor(context.identity) }) }
    },
  })
  const reroll = defineRoute({
    method: 'POST',
    path: `${path}/:key_id/reroll`,
    summary: `Replace a key; the old one works on for the grace period, ${GRACE_DEFAULT_SEC} seconds unless given.`,
    status: 201,
    input: keyOfOwner,
    body: v.strictObject({ grace_sec: v.optional(integerBetween(0, GRACE_MAX_SEC)) }),
    output: dataOutput(newApiKeySchema),
    errors: [403, 404],
    async act(asked, context) {
      const made = await rerollKey(db, {
        organizationId: ownerOf(asked, context),
        keyId: asked.key_id,
        graceSec: asked.grace_sec,
        by: toActor(context.identity),
      })
      return { data: made }
    },
  })
  return [list, create, revoke, reroll]
}

function ownerOf({ organization_id: inPath }: OwnerInput, { identity }: ActContext): string {
  return inPath ?? getSignedInOrganization(identity)
}

function texts(expected: string) {
  return v.pipe(v.array(v.string(expected), expected), v.minLength(1, expected), v.maxLength(KEY_LIST_MAX, expected))
}

function timeToCome(text: string, nowMs: number): Date {
  const time = new Date(text)
  if (time.getTime() > nowMs) return time
  throw new CodedError('INVALID_PARAMETER', 'Cannot read parameter "expires_at": expected a time to come')
}
