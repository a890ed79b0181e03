import { idempotencyFinish, idempotencyRelease } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import type { ChangeClaims } from '../../http/plane/plane.ts'
import { claimKey } from './idempotency.ts'

/** A claim without an outcome lasts as long as records do. */
const CLAIM_SEC = 86_400

/** Creates the claims of the planes' changes in the database, which all processes share. */
export function createChangeClaims(db: Database): ChangeClaims {
  return {
    claim: (claim) => claimKey(db, claim, CLAIM_SEC),
    finish: async (settlementId) => void (await idempotencyFinish(db, { settlementId })),
    release: async (settlementId) => void (await idempotencyRelease(db, { unanswered: [settlementId], voided: [] })),
  }
}
