import * as v from 'valibot'

/** A chain's id in an answer. */
export const chainId = v.pipe(v.number(), v.integer())
/** An EVM address in an answer. */
export const evmAddress = v.pipe(v.string(), v.regex(/^0x[0-9a-fA-F]{40}$/))
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
