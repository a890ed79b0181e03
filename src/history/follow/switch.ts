import { featureDisabledFind } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import { coalesce } from '../../lib/async/coalesce.ts'

/**
 * Whether the operator has switched histories off; one statement for all who ask at the same time. Throws as
 * `Database.run`.
 */
export function createHistorySwitch(db: Database): () => Promise<boolean> {
  const isOff = coalesce<undefined, boolean>({
    nameOf: () => '',
    itemsMax: Number.POSITIVE_INFINITY,
    async answer(askers) {
      const [row] = await featureDisabledFind(db, { feature: 'history' })
      return askers.map(() => row?.is_off === true)
    },
  })
  return () => isOff(undefined)
}
