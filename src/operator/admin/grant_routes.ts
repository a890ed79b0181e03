import * as v from 'valibot'
import { GRANT_MAX, grantCredits, listGrants, REASON_LENGTH_MAX } from '../../account/credit.ts'
import type { Database } from '../../db/database.ts'
import { dataOutput, idParameter, integerBetween, label, listOutput, pageEntries } from '../../http/request/schema.ts'
import { createPagination } from '../../http/route/page.ts'
import { defineRoute, type FreeRoute } from '../../http/route/route.ts'
import { ADMIN_PREFIX, toActor } from '../access.ts'
import { creditsSchema, grantSchema } from '../schema.ts'

/** Routes for credits of an organization: grant, take back, list grants. */
export function grantRoutes(db: Database): readonly FreeRoute[] {
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
