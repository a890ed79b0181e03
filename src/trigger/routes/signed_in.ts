import * as v from 'valibot'
import type { Database } from '../../db/database.ts'
import { getSignedInOrganization, signedInRoute } from '../../http/plane/signed_in.ts'
import { limit, page } from '../../http/request/input.ts'
import { createPagination } from '../../http/route/page.ts'
import { defineRoute, type FreeRoute, type Route } from '../../http/route/route.ts'
import { listDeadLetters } from '../deliveries.ts'
import { presentDelivery } from './present.ts'
import { deadLettersOutput } from './schema.ts'

/**
 * What an organization does with its triggers and webhooks where it is signed in, below `prefix`: all that it does with a
 * key but read the feed and make triggers, whose hours are those of a key; and what could not be delivered.
 */
export function signedInTriggerRoutes(
  routes: readonly Route[],
  { db, prefix }: { readonly db: Database; readonly prefix: string },
): readonly FreeRoute[] {
  const deadLetters = defineRoute({
    method: 'GET',
    path: `${prefix}/dead-letters`,
    summary: 'Messages whose tries are over without success, newest first.',
    input: v.object({ page, limit }),
    output: deadLettersOutput,
    async act(asked, { identity, url }) {
      const { rows, total } = await listDeadLetters(db, { organizationId: getSignedInOrganization(identity), ...asked })
      return {
        data: rows.map((each) => ({ trigger_id: each.watch_id, ...presentDelivery(each) })),
        pagination: createPagination({ ...asked, total, url }),
      }
    },
  })
  const own = routes.filter(
    ({ feature, method, path }) =>
      feature === 'triggers' && path !== '/v1/events' && `${method} ${path}` !== 'POST /v1/triggers',
  )
  return [...own.map((each) => signedInRoute(each, each.path.replace('/v1', prefix))), deadLetters]
}
