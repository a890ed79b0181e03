import * as v from 'valibot'
import { hasInvisible } from '../../lib/text/display_text.ts'
import { pagination } from '../../lib/text/text_format.ts'
import { page as pageNumber, limit as pageSize, shortText } from './input.ts'

/*
 * Schemas that several routes of the planes share. The account functions check values again, because the command line
 * calls them too.
 */

/** A timestamp in an answer, ISO 8601. */
export const isoTimestamp = v.pipe(v.string(), v.isoTimestamp())
/** A whole number as text, because JSON numbers are exact only up to 2^53. */
export const integerString = v.pipe(v.string(), v.regex(/^-?\d+$/))

const ID_LENGTH_MAX = 64

/** An id in a path or a query. */
export const idParameter = shortText(ID_LENGTH_MAX)

/** Parameters that select a page of a list. */
export const pageEntries = { page: pageNumber, limit: pageSize }

/** Output of a list: an array and its pagination. */
export function listOutput<Item extends v.GenericSchema>(item: Item) {
  return v.strictObject({
    data: v.array(item),
    pagination,
  })
}

/** Output of a single value. */
export function dataOutput<Item extends v.GenericSchema>(item: Item) {
  return v.strictObject({ data: item })
}

/** A name or a reason, trimmed. */
export function label(max: number) {
  const expected = `expected 1 to ${max} printable characters`
  return v.pipe(
    v.string(expected),
    v.trim(),
    v.minLength(1, expected),
    v.maxLength(max, expected),
    v.check((text) => !hasInvisible(text), expected),
  )
}

/** An integer of a JSON body, from `min` to `max`. */
export function integerBetween(min: number, max: number) {
  const expected = `expected a whole number from ${min} to ${max}`
  return v.pipe(v.number(expected), v.integer(expected), v.minValue(min, expected), v.maxValue(max, expected))
}
