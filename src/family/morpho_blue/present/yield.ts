import * as v from 'valibot'
import { walletPlace } from '../../../finance/lending/position.ts'
import { yieldFigures } from '../../../finance/lending/yield.ts'
import { marketIdText } from './schema.ts'

/** Body of a yield answer, without `request_id`. */
export const yieldOutput = v.strictObject({
  data: v.strictObject({ ...walletPlace, market_id: marketIdText, ...yieldFigures }),
})
