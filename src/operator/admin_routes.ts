import * as v from 'valibot'
import { listAudit } from '../account/audit.ts'
import { GRANT_MAX, grantCredits, listGrants, REASON_LENGTH_MAX } from '../account/credit.ts'
import {
  createOrganization,
  listOrganizations,
  RATE_LIMIT_MAX,
  readOrganization,
  setOrganizationState,
  TRIGGER_LIMIT_MAX,
  updateOrganization,
} from '../account/organization.ts'
import type { Database } from '../db/database.ts'
import type { SessionCookie } from '../http/plane/credential.ts'
import { planeDocument } from '../http/plane/document.ts'
import {
  dataOutput,
  idParameter,
  integerBetween,
  isoTimestamp,
  label,
  listOutput,
  pageEntries,
} from '../http/request/schema.ts'
import { createPagination } from '../http/route/page.ts'
import { defineRoute, FEATURES, type FreeRoute } from '../http/route/route.ts'
import { CodedError } from '../lib/error.ts'
import { ADMIN_PREFIX, toActor } from './access.ts'
import { keyRoutes } from './key_routes.ts'
import { type ReportReaders, reportRoutes } from './report_routes.ts'
import { creditsSchema, fundedOrganizationSchema, grantSchema, organizationSchema, switchSchema } from './schema.ts'
import { loginLinkRoute, sessionRoutes, type ToOrganizationBase } from './session_routes.ts'
import { listSwitches, type Switchboard, setSwitch } from './switches.ts'
import { operatorUsageRoute } from './usage_routes.ts'

const DESCRIPTION =
  'What an operator does: organizations, their keys and credits, switches, the audit list. Each change is in that list.'

/**
 * The plane `/admin/v1`, for the bearer of the token or an operator's session: its routes and their OpenAPI document.
 */
export function adminPlane({
  db,
  cookie,
  toOrganizationBase,
  board,
  ...readers
}: ReportReaders & {
  readonly db: Database
  readonly cookie: SessionCookie
  readonly toOrganizationBase: ToOrganizationBase
  readonly board: Switchboard
}) {
  const prefix = ADMIN_PREFIX
  const routes = [
    ...organizationRoutes(db),
    ...keyRoutes({ db, base: prefix, board, owner: 'path' }),
    ...grantRoutes(db),
    ...settingRoutes(db, board),
    ...reportRoutes(readers),
    ...sessionRoutes({ db, base: prefix, cookie }),
    loginLinkRoute(db, toOrganizationBase),
    operatorUsageRoute(db),
  ]
  const openapi = () =>
    planeDocument({
      title: 'walletscope: the operator',
      description: DESCRIPTION,
      routes,
      cookie: cookie.name,
      takesToken: true,
    })
  return { prefix, routes, cookie, openapi }
}

/** Routes for credits of an organization: grant, take back, list grants. */
function grantRoutes(db: Database): readonly FreeRoute[] {
  const path = `${ADMIN_PREFIX}/organizations/:organization_id/grants`
  const list = defineRoute({
    method: 'GET',
    path,
    summary: 'Credits given and taken back, newest first.',
    input: v.object({ organization_id: idParameter, ...pageEntries }),
    output: listOutput(grantSchema),
    errors: [404],
    async act({ organization_id: organizationId, page, limit }, { url }) {
      const { items, total } = await listGrants(db, { organizationId, page, limit })
      return { data: items, pagination: createPagination({ page, limit, total, url }) }
    },
  })
  const grant = defineRoute({
    method: 'POST',
    path,
    summary: 'Give credits, or take them back with a number below zero; a balance never falls below zero.',
    status: 201,
    input: v.object({ organization_id: idParameter }),
    body: v.strictObject({ credits: integerBetween(-GRANT_MAX, GRANT_MAX), reason: label(REASON_LENGTH_MAX) }),
    output: dataOutput(v.strictObject({ ...creditsSchema.entries, grant: grantSchema })),
    errors: [404],
    async act({ organization_id: organizationId, credits, reason }, { identity }) {
      return { data: await grantCredits(db, { organizationId, credits, reason, by: toActor(identity) }) }
    },
  })
  return [list, grant]
}

const NAME_MAX = 100
const byId = v.object({ organization_id: idParameter })
const name = label(NAME_MAX)
const limits = {
  rate_limit: v.optional(integerBetween(1, RATE_LIMIT_MAX)),
  trigger_limit: v.optional(integerBetween(0, TRIGGER_LIMIT_MAX)),
}

/** Routes for organizations: create, list, read, rename, limit, suspend, restore, delete. */
function organizationRoutes(db: Database): readonly FreeRoute[] {
  const path = `${ADMIN_PREFIX}/organizations`
  const list = defineRoute({
    method: 'GET',
    path,
    summary: 'Organizations that are not deleted, oldest first, with their credits.',
    input: v.object(pageEntries),
    output: listOutput(fundedOrganizationSchema),
    async act({ page, limit }, { url }) {
      const { items, total } = await listOrganizations(db, { page, limit })
      return { data: items, pagination: createPagination({ page, limit, total, url }) }
    },
  })
  const create = defineRoute({
    method: 'POST',
    path,
    summary: 'Create an organization, without credits or keys.',
    status: 201,
    input: v.object({}),
    body: v.strictObject({ name, ...limits }),
    output: dataOutput(organizationSchema),
    async act(input, { identity }) {
      const organization = await createOrganization(db, {
        name: input.name,
        rateLimit: input.rate_limit,
        triggerLimit: input.trigger_limit,
        by: toActor(identity),
      })
      return { data: organization }
    },
  })
  const read = defineRoute({
    method: 'GET',
    path: `${path}/:organization_id`,
    summary: 'One organization with its credits.',
    input: byId,
    output: dataOutput(fundedOrganizationSchema),
    errors: [404],
    async act({ organization_id: organizationId }) {
      return { data: await readOrganization(db, organizationId) }
    },
  })
  const update = defineRoute({
    method: 'PATCH',
    path: `${path}/:organization_id`,
    summary: 'Rename an organization, or set how many requests a second and how many triggers it may have.',
    input: byId,
    body: v.strictObject({ name: v.optional(name), ...limits }),
    output: dataOutput(organizationSchema),
    errors: [404],
    async act(input, { identity }) {
      if ([input.name, input.rate_limit, input.trigger_limit].every((each) => each === undefined)) {
        throw new CodedError(
          'MISSING_PARAMETER',
          'Cannot change the organization: expected name, rate_limit or trigger_limit',
        )
      }
      const organization = await updateOrganization(db, {
        id: input.organization_id,
        name: input.name,
        rateLimit: input.rate_limit,
        triggerLimit: input.trigger_limit,
        by: toActor(identity),
      })
      return { data: organization }
    },
  })
  const change = (verb: 'suspend' | 'restore' | 'delete', summary: string) =>
    defineRoute({
      method: verb === 'delete' ? 'DELETE' : 'POST',
      path: verb === 'delete' ? `${path}/:organization_id` : `${path}/:organization_id/${verb}`,
      summary,
      input: byId,
      output: dataOutput(organizationSchema),
      errors: [404],
      async act({ organization_id: organizationId }, { identity }) {
        return { data: await setOrganizationState(db, verb, { id: organizationId, by: toActor(identity) }) }
      },
    })
  return [
    ...[list, create, read, update],
    change('suspend', 'Refuse every call of an organization from the next one on. Idempotent.'),
    change('restore', 'Let the keys and credits of a suspended organization work again. Idempotent.'),
    change('delete', 'Delete an organization for good; its log stays.'),
  ]
}

const SWITCH_NAME = `expected ${FEATURES.join(', ')}, or an endpoint such as "GET /v1/lending/aave-v3"`

const auditSchema = v.strictObject({
  id: v.string(),
  at: isoTimestamp,
  // `cli`, `token`, `operator session`, `organization session` or `first start`.
  actor: v.string(),
  session_id: v.nullable(v.string()),
  // The account of the operating system, for `cli`.
  account: v.nullable(v.string()),
  // The action: `organization.suspend`.
  action: v.string(),
  // Null for changes that concern all organizations.
  organization_id: v.nullable(v.string()),
  // The changed object: the id of an organization, key, grant or session, or the name of a switch.
  subject: v.string(),
  // Values before and after, reasons, names.
  detail: v.record(v.string(), v.unknown()),
})

/** Routes for switches of endpoints and features, and for the audit list. */
function settingRoutes(db: Database, board: Switchboard): readonly FreeRoute[] {
  const read = defineRoute({
    method: 'GET',
    path: `${ADMIN_PREFIX}/settings`,
    summary: 'What can be switched off: features and endpoints, and which of them are off.',
    input: v.object({}),
    output: dataOutput(v.strictObject({ switches: v.array(switchSchema) })),
    async act() {
      return { data: { switches: await listSwitches(db, board) } }
    },
  })
  const turn = defineRoute({
    method: 'PUT',
    path: `${ADMIN_PREFIX}/settings/switches`,
    summary:
      'Switch a feature or an endpoint off or on; takes effect with the next request in every process. Idempotent.',
    input: v.object({}),
    body: v.strictObject({
      name: v.pipe(v.string(SWITCH_NAME), v.minLength(1, SWITCH_NAME), v.maxLength(200, SWITCH_NAME)),
      on: v.boolean('expected true or false'),
    }),
    output: dataOutput(switchSchema),
    async act({ name, on }, { identity }) {
      return { data: await setSwitch(db, { name, on, board, by: toActor(identity) }) }
    },
  })
  const audit = defineRoute({
    method: 'GET',
    path: `${ADMIN_PREFIX}/audit`,
    summary: 'Every change, newest first: who, when and what.',
    input: v.object({ organization_id: v.optional(idParameter), ...pageEntries }),
    output: listOutput(auditSchema),
    async act({ organization_id: organizationId = null, page, limit }, { url }) {
      const { items, total } = await listAudit(db, { organizationId, page, limit })
      return { data: items, pagination: createPagination({ page, limit, total, url }) }
    },
  })
  return [read, turn, audit]
}
