import { CodedError } from '../lib/error.ts'
import { hasInvisible } from '../lib/text/display_text.ts'

/** Which page of a list, from 1, and how many items a page has. */
export interface PageQuery {
  readonly page: number
  readonly limit: number
}

/** One page of a list, and how many items the whole list has. */
export interface ListPage<Item> {
  readonly items: readonly Item[]
  readonly total: number
}

/** Trims a name or reason and requires 1 to `max` visible characters. Throws `CodedError` INVALID_PARAMETER. */
export function validateLabel(text: string, what: string, max = 100): string {
  const trimmed = text.trim()
  const length = [...trimmed].length
  if (length < 1 || length > max || hasInvisible(trimmed)) {
    throw new CodedError('INVALID_PARAMETER', `Cannot use this ${what}: expected 1 to ${max} printable characters`)
  }
  return trimmed
}

/** Requires an integer from `min` to `max`, and returns it. Throws `CodedError` INVALID_PARAMETER. */
export function validateInteger(
  value: number,
  options: { readonly what: string; readonly min: number; readonly max: number },
): number {
  const { what, min, max } = options
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value
  throw new CodedError('INVALID_PARAMETER', `Cannot use this ${what}: expected a whole number from ${min} to ${max}`)
}
