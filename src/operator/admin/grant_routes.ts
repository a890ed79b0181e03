import * as v from 'valibot'
import { GRANT_MAX, grantCredits, listGrants, REASON_LENGTH_MAX } from '../../account/credit.ts'
import type { Database } from '../../db/database.ts'
import { id, label, listOf, one, pageEntries, wholeFrom } from '../../http/request/schema.ts'
import { pagination } from '../../http/route/page.ts'
import { type FreeRoute, route } from '../../http/route/route.ts'
import { ADMIN_PREFIX, actorOf } from '../access.ts'
import { creditsSchema, grantSchema } from '../schema.ts'

/** Credits of an organization: give, take back, list what was given. */
export function grantRoutes(db: Database): readonly FreeRoute[] {
  const path = `${ADMIN_PREFIX}/organizations/:organization_id/grants`
  const list = route({
    method: 'GET',
    path,
    summary: 'Credits given and taken back, newest first.',
    input: v.object({ organization_id: id, ...pageEntries }),
    output: listOf(grantSchema),
    errors: [404],
    async act({ organization_id: organizationId, page, limit }, { url }) {
      const { items, total } = await listGrants(db, { organizationId, page, limit })
      return { data: items, pagination: pagination({ page, limit, total, url }) }
    },
  })
  const grant = route({
    method: 'POST',
    path,
    summary: 'Give credits, or take them back with a number below zero; a balance never falls below zero.',
    status: 201,
    input: v.object({ organization_id: id }),
    body: v.strictObject({ credits: wholeFrom(-GRANT_MAX, GRANT_MAX), reason: label(REASON_LENGTH_MAX) }),
    output: one(v.strictObject({ ...creditsSchema.entries, grant: grantSchema })),
    errors: [404],
    async act({ organization_id: organizationId, credits, reason }, { identity }) {
      return { data: await grantCredits(db, { organizationId, credits, reason, by: actorOf(identity) }) }
    },
  })
  return [list, grant]
}
