import * as v from 'valibot'
import { EVM_ADDRESS, text } from '../lib/text/text_format.ts'

/** A chain's id in an answer. */
export const chainId = v.pipe(v.number(), v.integer())
/** An EVM address in an answer. */
export const evmAddress = text(EVM_ADDRESS)
/** A number of things in an answer. */
export const count = v.pipe(v.number(), v.integer(), v.minValue(0))
/** The pagination object of a list, `Pagination`. */
export const pagination = v.strictObject({
  page: count,
  limit: count,
  total: count,
  next_page: v.nullable(v.string()),
  prev_page: v.nullable(v.string()),
})
