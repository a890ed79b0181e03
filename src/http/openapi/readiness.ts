import * as v from 'valibot'
import { withWords } from '../../lib/text/text_format.ts'
import { createJsonSchema } from '../route/json_schema.ts'
import { REQUEST_ID } from './responses.ts'

const integer = v.pipe(v.number(), v.integer())
const endpointNumbers = v.pipe(v.array(v.pipe(v.number(), v.integer(), v.minValue(1))), v.readonly())

const reason = v.strictObject({
  part: withWords('`process`, `database`, `chain 1`, or `triggers of chain 1`.', v.string()),
  reason: withWords('For people.', v.string()),
})

const history = v.strictObject({
  stopped: withWords('A final block was replaced.', v.boolean()),
  percent: withWords(
    'Progress of global scans; null if none is needed.',
    v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100))),
  ),
  trouble: withWords('Why it cannot continue; null if it can.', v.nullable(v.string())),
})

const triggers = v.strictObject({
  chain_id: withWords('Id of the chain.', integer),
  finality: withWords('The blocks that count for them.', v.string()),
  holder: withWords('The process that evaluates them; null if none does.', v.nullable(v.string())),
  block: withWords('The last evaluated block; null before the first.', v.nullable(integer)),
  age_sec: withWords('Age of that evaluation.', v.nullable(integer)),
  blind_since: withWords(
    'Since when some are not evaluated, once their owners were notified; ISO 8601.',
    v.nullable(v.string()),
  ),
})

const readiness = v.strictObject({
  status: withWords('draining: it is about to stop.', v.picklist(['ready', 'draining', 'not_ready'])),
  reasons: withWords(
    'What does not answer, even if readiness does not depend on it, as on one chain of several.',
    v.array(reason),
  ),
  database: withWords('Whether the database answers.', v.boolean()),
  chains: withWords('By chain id.', v.record(v.string(), v.boolean())),
  history: withWords(
    'By chain id, where history is stored. Readiness does not depend on it.',
    v.record(v.string(), history),
  ),
  quorum: withWords(
    'By chain id, where several endpoints must give the same bytes: those that did not within the last ten minutes, ' +
      'by their position in the configuration, from 1.',
    v.record(
      v.string(),
      v.strictObject({
        contradicted: withWords('Their bytes differ from the quorum.', endpointNumbers),
        absent: withWords('They gave no answer when the quorum needed it.', endpointNumbers),
      }),
    ),
  ),
  triggers: withWords(
    'How far triggers are evaluated, by any process. Readiness does not depend on it.',
    v.array(triggers),
  ),
  solana: withWords(
    'What endpoints of Solana offer, in the order of the configuration; null: not checked recently.',
    v.array(
      v.strictObject({
        lists_token_accounts: withWords('Positions of a wallet are found by them.', v.nullable(v.boolean())),
        searches_programs: withWords('Without one that does, some obligations are missed.', v.nullable(v.boolean())),
      }),
    ),
  ),
  standby: withWords(
    'The standby of `DATABASE_READ_URL`. Readiness does not depend on it: if it is unreachable, the primary reads.',
    v.union([
      v.strictObject({
        answers: withWords('Whether it answers.', v.boolean()),
        lag_bytes: withWords('What it has yet to replay; null if it does not answer.', v.nullable(v.number())),
        lag_seconds: withWords(
          'Since the last change that it has replayed; 0 if it has replayed all.',
          v.nullable(v.number()),
        ),
      }),
      v.null(),
    ]),
  ),
  request_id: withWords(REQUEST_ID.description, v.string()),
})

/** Schema of the answer of `/readyz`. */
export const READINESS = createJsonSchema(readiness)

/** The answer of `/readyz` without status and request id. */
export type Readiness = Omit<v.InferOutput<typeof readiness>, 'status' | 'request_id'>
