import * as v from 'valibot'
import type { Database } from '../../db/database.ts'
import { type ApplyChange, getSignedInOrganization, signedInRoute } from '../../http/plane/signed_in.ts'
import { limit, page } from '../../http/request/input.ts'
import { createPagination } from '../../http/route/page.ts'
import { defineRoute, type FreeRoute, type Route } from '../../http/route/route.ts'
import { applyChange } from '../apply_change.ts'
import { listDeadLetters } from '../stored.ts'
import { deadLettersOutput, presentDelivery } from './schema.ts'

/**
 * Routes of triggers and webhooks for a signed-in organization, below `prefix`: the routes of API keys except the feed
 * and the creation of triggers, which are charged to a key; and the messages that could not be delivered.
 */
export function signedInTriggerRoutes(
  routes: readonly Route[],
  { db, prefix }: { readonly db: Database; readonly prefix: string },
): readonly FreeRoute[] {
  const deadLetters = defineRoute({
    method: 'GET',
    path: `${prefix}/dead-letters`,
    summary: 'Messages that could not be delivered, newest first.',
    input: v.object({ page, limit }),
    output: deadLettersOutput,
    async act(query, { identity, url }) {
      const { rows, total } = await listDeadLetters(db, { organizationId: getSignedInOrganization(identity), ...query })
      return {
        data: rows.map((each) => ({ trigger_id: each.watch_id, ...presentDelivery(each) })),
        pagination: createPagination({ ...query, total, url }),
      }
    },
  })
  const own = routes.filter(
    ({ feature, method, path }) =>
      feature === 'triggers' && path !== '/v1/events' && `${method} ${path}` !== 'POST /v1/triggers',
  )
  const apply: ApplyChange = (organizationId, change) => applyChange(db, organizationId, change)
  return [
    ...own.map((each) => signedInRoute(each, { path: each.path.replace('/v1', prefix), applyChange: apply })),
    deadLetters,
  ]
}
