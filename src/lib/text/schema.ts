import * as v from 'valibot'

/** A count, a limit or a duration of an answer, 0 or more. */
export const nonNegativeInteger = v.pipe(v.number(), v.integer(), v.minValue(0))

/** Where a page of a list stands. */
export const pagination = v.strictObject({
  page: nonNegativeInteger,
  limit: nonNegativeInteger,
  total: nonNegativeInteger,
  next_page: v.nullable(v.string()),
  prev_page: v.nullable(v.string()),
})
