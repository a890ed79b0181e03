import * as v from 'valibot'
import { createJsonSchema } from '../route/json_schema.ts'

/** A field with what it says. */
function told<const Schema extends v.GenericSchema>(schema: Schema, words: string) {
  return v.pipe(schema, v.description(words))
}

const integer = v.pipe(v.number(), v.integer())
const places = v.pipe(v.array(v.pipe(v.number(), v.integer(), v.minValue(1))), v.readonly())

const reason = v.strictObject({
  part: told(v.string(), '`process`, `database`, `chain 1`, or `triggers of chain 1`.'),
  reason: told(v.string(), 'For people.'),
})

const history = v.strictObject({
  stopped: told(v.boolean(), 'A block was replaced that had been final.'),
  percent: told(
    v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100))),
    'Of the history of everybody; null if nobody needed it.',
  ),
  trouble: told(v.nullable(v.string()), 'Why it cannot go on; null if it can.'),
})

const triggers = v.strictObject({
  chain_id: integer,
  finality: v.string(),
  holder: told(v.nullable(v.string()), 'The process that evaluates them; null if none does.'),
  block: told(v.nullable(integer), 'Where they were evaluated last; null if nowhere yet.'),
  age_sec: told(v.nullable(integer), 'How long ago that was.'),
  blind_since: told(v.nullable(v.string()), 'Since when some are not evaluated, once that was told; ISO 8601.'),
})

const readiness = v.strictObject({
  status: v.picklist(['ready', 'draining', 'not_ready']),
  reasons: told(
    v.array(reason),
    'What does not answer, even if readiness does not depend on it, as on one chain of several.',
  ),
  database: v.boolean(),
  chains: told(v.record(v.string(), v.boolean()), 'By chain id.'),
  history: told(
    v.record(v.string(), history),
    'By chain id, where history is stored. Readiness does not depend on it.',
  ),
  quorum: told(
    v.record(
      v.string(),
      v.strictObject({
        contradicted: told(places, 'They gave other bytes than others.'),
        absent: told(places, 'They gave none when too few others did.'),
      }),
    ),
    'By chain id, where several endpoints must give the same bytes: those that did not within the last ten minutes, ' +
      'by their place in the configuration, from 1.',
  ),
  triggers: told(
    v.array(triggers),
    'How far triggers are evaluated, by whichever process. Readiness does not depend on it.',
  ),
  solana: told(
    v.array(
      v.strictObject({
        lists_token_accounts: told(v.nullable(v.boolean()), 'Positions of a wallet are found by them.'),
        searches_programs: told(v.nullable(v.boolean()), 'Without one that does, some obligations are missed.'),
      }),
    ),
    'What endpoints of Solana offer, in the order of the configuration; null: not asked lately.',
  ),
  standby: told(
    v.union([
      v.strictObject({
        answers: v.boolean(),
        lag_bytes: told(v.nullable(v.number()), 'What it has yet to replay; null if it does not answer.'),
        lag_seconds: told(
          v.nullable(v.number()),
          'Since the last change that it has replayed; 0 if it has replayed all.',
        ),
      }),
      v.null(),
    ]),
    'The standby of `DATABASE_READ_URL`. Readiness does not depend on it: if it is away, the primary reads.',
  ),
  request_id: v.string(),
})

/** What `/readyz` answers. */
export const READINESS = createJsonSchema(readiness)

/** The same without what every answer has. */
export type Readiness = Omit<v.InferOutput<typeof readiness>, 'status' | 'request_id'>
