import * as v from 'valibot'
import { documented, wholeNumber } from '../../http/request/input.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { FEATURE, LIST_READ, PASS_THROUGH, type TriggerServices } from './route_parts.ts'
import { countData, eventsOutput } from './schema.ts'

const WAIT_SEC_MAX = 25
/** A little more than the longest wait. */
const BUDGET_MS = 30_000
const MESSAGES_MAX = 100
const MESSAGES_DEFAULT = 25

const input = v.object({
  after: v.optional(
    v.pipe(
      v.string(),
      v.uuid('expected the id of a message'),
      documented({
        type: 'string',
        examples: ['0199d9a2-7c4e-7d31-9a55-3f0c1b2a4d6e'],
        description: 'Id of the last message received; omit to start at the oldest.',
      }),
    ),
  ),
  wait: v.optional(
    v.pipe(
      wholeNumber({ min: 0, max: WAIT_SEC_MAX }),
      documented({
        type: 'integer',
        minimum: 0,
        maximum: WAIT_SEC_MAX,
        description: 'Seconds to wait for a message if there is none.',
      }),
    ),
    '0',
  ),
  limit: v.optional(
    v.pipe(wholeNumber({ min: 1, max: MESSAGES_MAX }), v.description('Messages of an answer at most.')),
    String(MESSAGES_DEFAULT),
  ),
})

/** All messages of an organization in order, for programs without a public address. */
export function eventsRoute(services: () => TriggerServices): Route {
  return defineRoute({
    ...FEATURE,
    ...PASS_THROUGH,
    ...LIST_READ,
    method: 'GET',
    path: '/v1/events',
    operation: 'trigger_events',
    tool: { name: 'list_trigger_messages', title: 'Messages of triggers' },
    summary: 'Reads the messages of all triggers in order, from the oldest on or after one; waits for one if asked to.',
    description:
      'Messages are kept 30 days. A client that passes the id of its last message misses none; an older id is refused, ' +
      'and the error names the oldest message. An empty answer costs nothing.',
    input,
    output: eventsOutput,
    budgetMs: BUDGET_MS,
    read: async ({ after, wait, limit }, { organizationId, work }) => ({
      data: await services().feed.read({ organizationId, after, limit, waitMs: wait * 1_000 }, work.signal),
    }),
    count: countData,
  })
}
