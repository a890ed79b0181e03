import * as v from 'valibot'

/** Schema of a count, limit or duration in an answer, 0 or more. */
export const nonNegativeInteger = v.pipe(v.number(), v.integer(), v.minValue(0))

/** Schema of a page's position in its list. */
export const pagination = v.strictObject({
  page: nonNegativeInteger,
  limit: nonNegativeInteger,
  total: nonNegativeInteger,
  next_page: v.nullable(v.string()),
  prev_page: v.nullable(v.string()),
})
