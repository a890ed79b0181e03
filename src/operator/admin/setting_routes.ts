import * as v from 'valibot'
import { listAudit } from '../../account/audit.ts'
import type { Database } from '../../db/database.ts'
import { dataOutput, idParameter, isoTimestamp, listOutput, pageEntries } from '../../http/request/schema.ts'
import { createPagination } from '../../http/route/page.ts'
import { defineRoute, FEATURES, type FreeRoute } from '../../http/route/route.ts'
import { ADMIN_PREFIX, toActor } from '../access.ts'
import { switchSchema } from '../schema.ts'
import { listSwitches, type Switchboard, setSwitch } from '../switches.ts'

const SWITCH_NAME = `expected ${FEATURES.join(', ')}, or an endpoint such as "GET /v1/lending/aave-v3"`

const auditSchema = v.strictObject({
  id: v.string(),
  at: isoTimestamp,
  // `cli`, `token`, `operator session`, `organization session` or `first start`.
  actor: v.string(),
  session_id: v.nullable(v.string()),
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
export function settingRoutes(db: Database, board: Switchboard): readonly FreeRoute[] {
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
