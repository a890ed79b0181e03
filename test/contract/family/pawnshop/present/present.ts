import * as v from 'valibot'
import { nonNegativeInteger } from '../../../../../src/lib/text/text_format.ts'
import type { Appraisal } from '../event/decode.ts'

/** Success body of the appraisals, without `request_id`. */
export const appraisalsOutput = v.strictObject({
  data: v.array(
    v.strictObject({
      counter: v.string(),
      blockNumber: nonNegativeInteger,
      transactionHash: v.string(),
      usd: v.string(),
    }),
  ),
})

/** An appraisal as answers show it: US dollars with two digits. */
export function presentAppraisal({ counter, block, transactionHash, cents }: Appraisal) {
  const digits = String(cents).padStart(3, '0')
  return { counter, blockNumber: block, transactionHash, usd: `${digits.slice(0, -2)}.${digits.slice(-2)}` }
}
