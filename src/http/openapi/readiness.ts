import * as v from 'valibot'
import { createJsonSchema } from '../route/json_schema.ts'
import { REQUEST_ID } from './responses.ts'

/** Adds a description to a field. */
function described<const Schema extends v.GenericSchema>(schema: Schema, words: string) {
  return v.pipe(schema, v.description(words))
}

const integer = v.pipe(v.number(), v.integer())
const endpointNumbers = v.pipe(v.array(v.pipe(v.number(), v.integer(), v.minValue(1))), v.readonly())

const reason = v.strictObject({
  part: described(v.string(), '`process`, `database`, `chain 1`, or `triggers of chain 1`.'),
  reason: described(v.string(), 'For people.'),
})

const history = v.strictObject({
  stopped: described(v.boolean(), 'A final block was replaced.'),
  percent: described(
    v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100))),
    'Progress of global scans; null if none is needed.',
  ),
  trouble: described(v.nullable(v.string()), 'Why it cannot continue; null if it can.'),
})

const triggers = v.strictObject({
  chain_id: described(integer, 'Id of the chain.'),
  finality: described(v.string(), 'The blocks that count for them.'),
  holder: described(v.nullable(v.string()), 'The process that evaluates them; null if none does.'),
  block: described(v.nullable(integer), 'The last evaluated block; null before the first.'),
  age_sec: described(v.nullable(integer), 'Age of that evaluation.'),
  blind_since: described(
    v.nullable(v.string()),
    'Since when some are not evaluated, once their owners were notified; ISO 8601.',
  ),
})

const readiness = v.strictObject({
  status: described(v.picklist(['ready', 'draining', 'not_ready']), 'draining: it is about to stop.'),
  reasons: described(
    v.array(reason),
    'What does not answer, even if readiness does not depend on it, as on one chain of several.',
  ),
  database: described(v.boolean(), 'Whether the database answers.'),
  chains: described(v.record(v.string(), v.boolean()), 'By chain id.'),
  history: described(
    v.record(v.string(), history),
    'By chain id, where history is stored. Readiness does not depend on it.',
  ),
  quorum: described(
    v.record(
      v.string(),
      v.strictObject({
        contradicted: described(endpointNumbers, 'Their bytes differ from the quorum.'),
        absent: described(endpointNumbers, 'They gave no answer when the quorum needed it.'),
      }),
    ),
    'By chain id, where several endpoints must give the same bytes: those that did not within the last ten minutes, ' +
      'by their position in the configuration, from 1.',
  ),
  triggers: described(
    v.array(triggers),
    'How far triggers are evaluated, by any process. Readiness does not depend on it.',
  ),
  solana: described(
    v.array(
      v.strictObject({
        lists_token_accounts: described(v.nullable(v.boolean()), 'Positions of a wallet are found by them.'),
        searches_programs: described(v.nullable(v.boolean()), 'Without one that does, some obligations are missed.'),
      }),
    ),
    'What endpoints of Solana offer, in the order of the configuration; null: not checked recently.',
  ),
  standby: described(
    v.union([
      v.strictObject({
        answers: described(v.boolean(), 'Whether it answers.'),
        lag_bytes: described(v.nullable(v.number()), 'What it has yet to replay; null if it does not answer.'),
        lag_seconds: described(
          v.nullable(v.number()),
          'Since the last change that it has replayed; 0 if it has replayed all.',
        ),
      }),
      v.null(),
    ]),
    'The standby of `DATABASE_READ_URL`. Readiness does not depend on it: if it is unreachable, the primary reads.',
  ),
  request_id: described(v.string(), REQUEST_ID.description),
})

/** Schema of the answer of `/readyz`. */
export const READINESS = createJsonSchema(readiness)

/** The answer of `/readyz` without status and request id. */
export type Readiness = Omit<v.InferOutput<typeof readiness>, 'status' | 'request_id'>
