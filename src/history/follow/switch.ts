import { featureDisabledFind } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import { coalesce } from '../../lib/async/coalesce.ts'

/**
 * Creates the check whether the operator has switched histories off; concurrent checks share one statement. Throws as
 * `Database.run`.
 */
export function createHistorySwitch(db: Database): () => Promise<boolean> {
  const readIsOff = coalesce<undefined, boolean>({
    getKey: () => '',
    itemsMax: Number.POSITIVE_INFINITY,
    async answer(requesters) {
      const [row] = await featureDisabledFind(db, { feature: 'history' })
      return requesters.map(() => row?.is_off === true)
    },
  })
  return () => readIsOff(undefined)
}
