import { idempotencyClaim } from '../../../sql/functions.ts'
import { idempotencyFinish, idempotencyRelease } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import type { ClaimResult, IdempotencyClaim, StoredAnswer } from '../../http/exchange/idempotency.ts'
import type { ChangeClaims } from '../../http/plane/plane.ts'

/** Seconds until a claim without an answer expires, as after a crash. More than any request may take. */
const CLAIM_SEC = 60
const USE_BYTES_MAX = 256 * 1024 * 1024
/** Largest stored body, in characters. */
const STORED_BODY_MAX = 1024 * 1024
/** Approximate size of a record without its answer. */
export const RECORD_BYTES = 512

/** Claims a key in one statement, so that only one request of all processes has it. Throws `UnavailableError`. */
export async function claimKey(
  db: Database,
  { organizationId, key, hash, settlementId }: IdempotencyClaim,
  claimSec = CLAIM_SEC,
): Promise<ClaimResult> {
  const [row] = await idempotencyClaim(db, {
    organization: organizationId,
    key,
    hash,
    settlement: settlementId,
    claimSec,
    bytesMax: USE_BYTES_MAX,
  })
  switch (row?.state) {
    case 'answered': {
      const { headers, body } = row
      if (headers === null && body !== null) {
        const { request_id: requestId, result } = JSON.parse(body)
        return { kind: 'changed', result, requestId }
      }
      return { kind: 'answered', kept: body === null ? undefined : { headers: JSON.parse(headers ?? '{}'), body } }
    }
    case 'claimed':
    case 'busy':
    case 'other':
    case 'full':
      return { kind: row.state }
    default:
      throw new Error(`Cannot claim an idempotency key: the database answered "${row?.state}"`)
  }
}

/** Parameters of `gate_settle_batch_idempotent` for the answers. */
export function toAnswerColumns(answers: readonly StoredAnswer[]) {
  const answerHeaders = answers.map(({ headers }) => JSON.stringify(headers))
  const answerBodies = answers.map(({ body }) => (body.length <= STORED_BODY_MAX ? body : ''))
  const answerBytes = answerBodies.map(
    (body, index) => RECORD_BYTES + (answerHeaders[index] ?? '').length + body.length,
  )
  return { answerHeaders, answerBodies, answerBytes }
}

/** A claim without an outcome lasts as long as records do. */
const CHANGE_CLAIM_SEC = 86_400

/** Creates the claims of the planes' changes in the database, which all processes share. */
export function createChangeClaims(db: Database): ChangeClaims {
  return {
    claim: (claim) => claimKey(db, claim, CHANGE_CLAIM_SEC),
    finish: async (settlementId) => void (await idempotencyFinish(db, { settlementId })),
    release: async (settlementId) => void (await idempotencyRelease(db, { unanswered: [settlementId], voided: [] })),
  }
}
