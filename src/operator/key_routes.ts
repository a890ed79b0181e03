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
import { parseInstantMs } from '../lib/text/instant.ts'
import { toActor } from './access.ts'
import { apiKeySchema, newApiKeySchema } from './schema.ts'
import { requireEndpoints, type Switchboard } from './switches.ts'

const NAME_MAX = 100
const TIME = 'expected an ISO 8601 time with its zone'

/** The organization's id from the path; empty if the session determines the organization. */
interface OwnerInput {
  readonly organization_id?: string | undefined
}

interface Inputs {
  readonly ownerInput: v.GenericSchema<unknown, OwnerInput>
  readonly pageInput: v.GenericSchema<unknown, OwnerInput & { readonly page: number; readonly limit: number }>
  readonly keyInput: v.GenericSchema<unknown, OwnerInput & { readonly key_id: string }>
}

const owned = { organization_id: idParameter }
const BY_PATH: Inputs = {
  ownerInput: v.object(owned),
  pageInput: v.object({ ...owned, ...pageEntries }),
  keyInput: v.object({ ...owned, key_id: idParameter }),
}
/** Inputs without the organization's id: a session must not name another organization. */
const BY_SESSION: Inputs = {
  ownerInput: v.object({}),
  pageInput: v.object(pageEntries),
  keyInput: v.object({ key_id: idParameter }),
}

/**
 * Routes for keys of an organization: create, list, revoke, reroll. Both planes have them: the path names the
 * organization, or the session determines it.
 */
export function keyRoutes(options: {
  readonly db: Database
  readonly base: string
  readonly board: Switchboard
  /** Source of the organization's id. */
  readonly owner: 'path' | 'session'
}): readonly FreeRoute[] {
  const { db, owner, board } = options
  const path = owner === 'path' ? `${options.base}/organizations/:organization_id/keys` : `${options.base}/keys`
  const { ownerInput, pageInput, keyInput } = owner === 'path' ? BY_PATH : BY_SESSION

  const list = defineRoute({
    method: 'GET',
    path,
    summary: 'Keys, revoked ones too, oldest first. A key itself is shown only when it is created.',
    input: pageInput,
    output: listOutput(apiKeySchema),
    errors: [404],
    async act(input, context) {
      const { page, limit } = input
      const { items, total } = await listKeys(db, { organizationId: getOwner(input, context), page, limit })
      return { data: items, pagination: createPagination({ page, limit, total, url: context.url }) }
    },
  })
  const create = defineRoute({
    method: 'POST',
    path,
    summary: 'Create a key; it is shown only once. A suspended organization cannot create keys.',
    status: 201,
    input: ownerInput,
    body: v.strictObject({
      name: label(NAME_MAX),
      expires_at: v.optional(v.pipe(v.string(TIME), v.isoTimestamp(TIME), v.check(isInstant, TIME))),
      allowed_networks: v.optional(stringList('expected networks such as 10.0.0.0/8 or 2001:db8::/32')),
      allowed_endpoints: v.optional(stringList('expected endpoints such as GET /v1/lending/aave-v3')),
      credits_per_day: v.optional(integerBetween(1, CREDITS_PER_DAY_MAX)),
    }),
    output: dataOutput(newApiKeySchema),
    errors: [403, 404],
    async act(input, context) {
      requireEndpoints(board, input.allowed_endpoints ?? [])
      const key = await createKey(db, {
        organizationId: getOwner(input, context),
        name: input.name,
        expiresAt: input.expires_at === undefined ? undefined : parseFutureTime(input.expires_at, context.nowMs),
        limits: {
          networks: input.allowed_networks ?? null,
          endpoints: input.allowed_endpoints ?? null,
          creditsPerDay: input.credits_per_day ?? null,
        },
        by: toActor(context.identity),
      })
      return { data: key }
    },
  })
  const revoke = defineRoute({
    method: 'DELETE',
    path: `${path}/:key_id`,
    summary: 'Revoke a key: its next request is refused. Idempotent.',
    input: keyInput,
    output: dataOutput(apiKeySchema),
    errors: [404],
    async act(input, context) {
      const keyPath = { organizationId: getOwner(input, context), keyId: input.key_id }
      return { data: await revokeKey(db, { ...keyPath, by: toActor(context.identity) }) }
    },
  })
  const reroll = defineRoute({
    method: 'POST',
    path: `${path}/:key_id/reroll`,
    summary: `Replace a key; the old one still works for the grace period, ${GRACE_DEFAULT_SEC} seconds unless given.`,
    status: 201,
    input: keyInput,
    body: v.strictObject({ grace_sec: v.optional(integerBetween(0, GRACE_MAX_SEC)) }),
    output: dataOutput(newApiKeySchema),
    errors: [403, 404],
    async act(input, context) {
      const key = await rerollKey(db, {
        organizationId: getOwner(input, context),
        keyId: input.key_id,
        graceSec: input.grace_sec,
        by: toActor(context.identity),
      })
      return { data: key }
    },
  })
  return [list, create, revoke, reroll]
}

function getOwner({ organization_id: pathId }: OwnerInput, { identity }: ActContext): string {
  return pathId ?? getSignedInOrganization(identity)
}

function stringList(expected: string) {
  return v.pipe(v.array(v.string(expected), expected), v.minLength(1, expected), v.maxLength(KEY_LIST_MAX, expected))
}

/** Refuses 30 February, which `new Date` reads as a day of March. */
function isInstant(text: string): boolean {
  return parseInstantMs(text) !== undefined
}

function parseFutureTime(text: string, nowMs: number): Date {
  const time = new Date(text)
  if (time.getTime() > nowMs) return time
  throw new CodedError('INVALID_PARAMETER', 'Cannot read parameter "expires_at": expected a time in the future')
}
