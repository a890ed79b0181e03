import * as v from 'valibot'
import { CodedError } from '../../lib/error.ts'
import { formatList } from '../../lib/text/format_list.ts'
import { findInvalidText } from '../../lib/text/json.ts'
import { suggestName } from '../../lib/text/nearest.ts'
import { PARAMETER_LENGTH_MAX, QUERY_PARAMETERS_MAX, SHOWN_VALUE_LENGTH_MAX } from '../limits.ts'
import { getFieldNames, getMaxLength } from './fields.ts'

export interface RawInput {
  /** Path parameters, not decoded. */
  readonly params: Readonly<Record<string, string>>
  /** Query string without `?`, not decoded. */
  readonly query: string
}

export interface Parameters {
  readonly values: unknown
  /** Names of values in which a plus sign became a space, which the caller may not have meant. */
  readonly spaced?: ReadonlySet<string>
}

/**
 * The text of path and query parameters by name. An empty value is a missing one. Throws `CodedError`
 * INVALID_PARAMETER for broken, repeated and too long ones and for those that the route does not have, because a
 * mistyped name would answer, and charge, for something else; INVALID_REQUEST for too many.
 */
export function readParameters(schema: v.GenericSchema, raw: RawInput): Parameters {
  const { values, repeated, spaced } = queryValues(raw.query)
  const { taken, refused } = getFieldNames(schema)
  for (const [name, value] of Object.entries(values)) {
    if (Object.hasOwn(raw.params, name)) throw invalidParameter(name, 'expected it in the path alone')
    if (!taken.includes(name) && !refused.includes(name)) {
      const known = taken.filter((each) => !Object.hasOwn(raw.params, each))
      throw unknownName(name, { known, what: 'parameter' })
    }
    checkLength(schema, name, value)
    if (value === '') delete values[name]
  }
  for (const name of repeated) throw invalidParameter(name, 'expected it once, it is repeated')
  for (const [name, text] of Object.entries(raw.params)) {
    const value = decoded(text, { name, plusIsSpace: false })
    checkLength(schema, name, value)
    values[name] = value
  }
  return { values, spaced }
}

/**
 * Parameters that are JSON values instead of text: numbers and booleans as the text that a query would have, null and
 * empty text as missing. Throws `CodedError` INVALID_PARAMETER for a name that the schema does not have, for text that
 * is too long or that HTTP could not carry, and for a whole number that lost digits when JSON was read.
 */
export function toParameters(
  schema: v.GenericSchema,
  given: Readonly<Record<string, unknown>>,
): Parameters & { readonly values: Readonly<Record<string, unknown>> } {
  const values: Record<string, unknown> = Object.create(null)
  const { taken: known, refused } = getFieldNames(schema)
  for (const [name, value] of Object.entries(given)) {
    if (!known.includes(name) && !refused.includes(name)) throw unknownName(name, { known, what: 'field' })
    if (value === null || value === '') continue
    values[name] = textOf(schema, name, value)
  }
  return { values }
}

/** A number or a boolean as text; other values as they are, for the schema to judge. */
function textOf(schema: v.GenericSchema, name: string, value: unknown): unknown {
  if (typeof value === 'number') {
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) return String(value)
    throw invalidParameter(name, 'expected a number of this size as text, because JSON numbers lose digits')
  }
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'string') return value
  checkLength(schema, name, value)
  if (findInvalidText(value) !== undefined) throw invalidTextError(name)
  return value
}

/**
 * The values as the schema wants them, or the first mistake as a `CodedError`: MISSING_PARAMETER, or INVALID_PARAMETER
 * that names the parameter, its value and what is expected.
 */
export function validateInput<Output>(
  schema: v.GenericSchema<unknown, Output>,
  { values, spaced }: Parameters,
): Output {
  const result = v.safeParse(schema, values, { abortEarly: true })
  if (result.success) return result.output
  const [issue] = result.issues
  const path = issue.path?.map((item) => String(item.key)) ?? []
  // A check of several parameters together has its own whole sentence.
  if (path.length === 0) throw new CodedError('INVALID_PARAMETER', issue.message)
  const name = path.map((key, depth) => (depth === 0 ? key : `[${key}]`)).join('')
  if (issue.type === 'never') throw invalidParameter(name, issue.message)
  if (issue.expected === 'never') {
    throw unknownName(name, { known: path.length === 1 ? getFieldNames(schema).taken : [], what: 'field' })
  }
  if (issue.input === undefined) {
    const why = issue.type === 'raw_check' ? ` ${issue.message}` : ''
    throw new CodedError('MISSING_PARAMETER', `Cannot read parameter "${shown(name)}": it is required${why}`)
  }
  const hint = spaced?.has(name) ? '; "+" in a query is a space, write %2B for a plus sign' : ''
  // What the caller wrote, before any step of the schema changed it.
  const sent = path.length === 1 ? (values as Readonly<Record<string, unknown>>)[name] : undefined
  throw invalidParameter(shown(name), `${issue.message}, got ${quoted(sent ?? issue.input)}${hint}`)
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** Values by name, empty ones too, and the names of those that are repeated or in which a plus sign became a space. */
function queryValues(query: string) {
  // Without a prototype, `__proto__` is an ordinary name.
  const values: Record<string, string> = Object.create(null)
  if (query === '') return { values, repeated: NO_NAMES, spaced: NO_NAMES }
  const repeated = new Set<string>()
  const spaced = new Set<string>()
  const pairs = query.split('&', QUERY_PARAMETERS_MAX + 1)
  if (pairs.length > QUERY_PARAMETERS_MAX) {
    throw new CodedError(
      'INVALID_REQUEST',
      `Cannot read the query: expected at most ${QUERY_PARAMETERS_MAX} parameters`,
    )
  }
  for (const pair of pairs) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const rawName = equals < 0 ? pair : pair.slice(0, equals)
    const name = decoded(rawName, { name: rawName, plusIsSpace: true })
    const value = equals < 0 ? '' : decoded(pair.slice(equals + 1), { name, plusIsSpace: true })
    if (Object.hasOwn(values, name)) repeated.add(name)
    values[name] = value
    if (pair.includes('+', equals)) spaced.add(name)
  }
  return { values, repeated, spaced }
}

function decoded(text: string, options: { readonly name: string; readonly plusIsSpace: boolean }): string {
  const spaced = options.plusIsSpace && text.includes('+') ? text.replaceAll('+', ' ') : text
  let value = spaced
  if (spaced.includes('%')) {
    try {
      value = decodeURIComponent(spaced)
    } catch {
      // A URIError: a broken escape, or bytes that are not UTF-8.
      throw invalidParameter(shown(options.name), `expected percent-encoded UTF-8, got ${quoted(text)}`)
    }
  }
  if (value.includes('\0')) throw invalidParameter(shown(options.name), 'expected text without NUL')
  return value
}

function checkLength(schema: v.GenericSchema, name: string, value: string): void {
  if (value.length <= PARAMETER_LENGTH_MAX) return
  const lengthMax = getMaxLength(schema, name) ?? PARAMETER_LENGTH_MAX
  if (value.length > lengthMax) {
    throw invalidParameter(name, `expected at most ${lengthMax} characters, got ${quoted(value)}`)
  }
}

const LISTED_NAMES_MAX = 12

function unknownName(
  name: string,
  { known, what }: { readonly known: readonly string[]; readonly what: 'parameter' | 'field' },
): CodedError {
  const near = suggestName(name, known)
  const names = known.map((each) => `"${each}"`)
  const instead =
    near !== undefined
      ? `, the nearest is "${near}"`
      : names.length > 0
        ? `, only ${formatList(names, LISTED_NAMES_MAX)}`
        : ''
  return invalidParameter(shown(name), `expected no such ${what}${instead}`)
}

/** The refusal of text with NUL or half a character, which no database takes. */
export function invalidTextError(name: string): CodedError {
  return invalidParameter(shown(name), 'expected text without NUL, in whole characters')
}

function invalidParameter(name: string, detail: string): CodedError {
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${name}": ${detail}`)
}

function quoted(value: unknown): string {
  if (typeof value === 'string') return `"${shown(value)}"`
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return shown(String(value))
}

/** Text that is safe to show back: no control, formatting or surrogate characters, cut. */
function shown(text: string): string {
  const cut = text.length > SHOWN_VALUE_LENGTH_MAX ? `${text.slice(0, SHOWN_VALUE_LENGTH_MAX)}…` : text
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}
