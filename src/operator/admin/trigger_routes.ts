import * as v from 'valibot'
import { moment, one } from '../../http/request/schema.ts'
import { type FreeRoute, route } from '../../http/route/route.ts'
import { whole } from '../../lib/text/schema.ts'
import { ADMIN_PREFIX } from '../access.ts'

const lineSchema = v.strictObject({
  chain_id: whole,
  finality: v.string(),
  // The process that evaluates them; null if none does.
  holder: v.nullable(v.string()),
  // Where they were evaluated last, and how long ago; null if nowhere yet.
  block: v.nullable(whole),
  age_sec: v.nullable(whole),
  // Since when some are not evaluated, once that was told.
  blind_since: v.nullable(moment),
})

const triggersSchema = v.strictObject({
  lines: v.array(lineSchema),
  // Messages that are due and not delivered yet, counted up to 100,000, and how long the first of them has been due.
  messages_due: whole,
  oldest_due_sec: whole,
})

/** How triggers do, of all processes. */
export type TriggerReport = v.InferOutput<typeof triggersSchema>

/** How far triggers are evaluated, and what waits to be posted. */
export function triggerRoute(readTriggers: () => Promise<TriggerReport>): FreeRoute {
  return route({
    method: 'GET',
    path: `${ADMIN_PREFIX}/triggers`,
    summary: 'How far triggers are evaluated on each chain, by whichever process, and what waits to be posted.',
    input: v.object({}),
    output: one(triggersSchema),
    async act() {
      return { data: await readTriggers() }
    },
  })
}
