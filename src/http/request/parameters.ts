import * as v from 'valibot'
import { CodedError } from '../../lib/error.ts'
import { memoize } from '../../lib/memoize.ts'
import { findInvalidText } from '../../lib/text/json.ts'
import { suggestName } from '../../lib/text/nearest.ts'
import { formatList } from '../../lib/text/text_format.ts'
import { PARAMETER_LENGTH_MAX, QUERY_PARAMETERS_MAX, SHOWN_VALUE_LENGTH_MAX } from '../limits.ts'

export interface RawInput {
  /** Path parameters, not decoded. */
  readonly params: Readonly<Record<string, string>>
  /** Query string without `?`, not decoded. */
  readonly query: string
}

export interface Parameters {
  readonly values: unknown
  /** Names of values in which a plus sign became a space, which the caller may not have intended. */
  readonly spaced?: ReadonlySet<string>
}

/**
 * Reads the text of path and query parameters by name. An empty value counts as missing. Throws `CodedError`
 * INVALID_PARAMETER for malformed, repeated, too long and unknown ones: with a mistyped name ignored, a different
 * request would be answered and charged. Throws INVALID_REQUEST for too many.
 */
export function readParameters(schema: v.GenericSchema, raw: RawInput): Parameters {
  const { values, repeated, spaced } = parseQuery(raw.query)
  const { accepted, refused } = getFieldNames(schema)
  for (const [name, value] of Object.entries(values)) {
    if (Object.hasOwn(raw.params, name)) throw invalidParameterError(name, 'expected it in the path alone')
    if (!accepted.includes(name) && !refused.includes(name)) {
      const names = accepted.filter((each) => !Object.hasOwn(raw.params, each))
      throw unknownNameError(name, { names, what: 'parameter' })
    }
    checkLength(schema, name, value)
    if (value === '') delete values[name]
  }
  for (const name of repeated) throw invalidParameterError(name, 'expected it once, it is repeated')
  for (const [name, text] of Object.entries(raw.params)) {
    const value = decodeText(text, { name, plusIsSpace: false })
    checkLength(schema, name, value)
    values[name] = value
  }
  return { values, spaced }
}

/**
 * Converts JSON values to parameters: numbers and booleans to the text of a query, null and empty text to missing ones.
 * Throws `CodedError` INVALID_PARAMETER for a name that the schema does not have, for text that is too long or has NUL
 * or lone surrogates, and for an integer that lost digits when JSON was parsed.
 */
export function toParameters(
  schema: v.GenericSchema,
  fields: Readonly<Record<string, unknown>>,
): Parameters & { readonly values: Readonly<Record<string, unknown>> } {
  const values: Record<string, unknown> = Object.create(null)
  const { accepted: names, refused } = getFieldNames(schema)
  for (const [name, value] of Object.entries(fields)) {
    if (!names.includes(name) && !refused.includes(name)) throw unknownNameError(name, { names, what: 'field' })
    if (value === null || value === '') continue
    values[name] = toText(schema, name, value)
  }
  return { values }
}

/** Converts a number or a boolean to text; returns other values unchanged, for the schema to check. */
function toText(schema: v.GenericSchema, name: string, value: unknown): unknown {
  if (typeof value === 'number') {
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) return String(value)
    throw invalidParameterError(name, 'expected a number of this size as text, because JSON numbers lose digits')
  }
  if (typeof value === 'boolean') return String(value)
  if (typeof value !== 'string') return value
  checkLength(schema, name, value)
  if (findInvalidText(value) !== undefined) throw invalidTextError(name)
  return value
}

/**
 * Validates values by a schema. Throws the first error as a `CodedError`: MISSING_PARAMETER, or INVALID_PARAMETER with
 * the parameter's name, its value and the expectation.
 */
export function validateInput<Output>(
  schema: v.GenericSchema<unknown, Output>,
  { values, spaced }: Parameters,
): Output {
  const result = v.safeParse(schema, values, { abortEarly: true })
  if (result.success) return result.output
  const [issue] = result.issues
  const path = issue.path?.map((item) => String(item.key)) ?? []
  // A check of several parameters together has a complete sentence of its own.
  if (path.length === 0) throw new CodedError('INVALID_PARAMETER', issue.message)
  const name = path.map((key, depth) => (depth === 0 ? key : `[${key}]`)).join('')
  if (issue.type === 'never') throw invalidParameterError(name, issue.message)
  if (issue.expected === 'never') {
    throw unknownNameError(name, { names: path.length === 1 ? getFieldNames(schema).accepted : [], what: 'field' })
  }
  if (issue.input === undefined) {
    const why = issue.type === 'raw_check' ? `it is required ${issue.message}` : getExpectation(schema, path)
    const help = why === undefined ? '' : `: ${why}`
    throw new CodedError('MISSING_PARAMETER', `Parameter "${toShownText(name)}" is missing${help}`)
  }
  const hint = spaced?.has(name) ? '; "+" in a query is a space, write %2B for a plus sign' : ''
  // The caller's value, before the steps of the schema changed it.
  const sent = path.length === 1 ? (values as Readonly<Record<string, unknown>>)[name] : undefined
  throw invalidParameterError(toShownText(name), `${issue.message}, got ${quote(sent ?? issue.input)}${hint}`)
}

const NO_NAMES: ReadonlySet<string> = new Set()

/** Parses values by name, with empty ones, and the names of repeated ones and of those whose plus became a space. */
function parseQuery(query: string) {
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
    const name = decodeText(rawName, { name: rawName, plusIsSpace: true })
    const value = equals < 0 ? '' : decodeText(pair.slice(equals + 1), { name, plusIsSpace: true })
    if (Object.hasOwn(values, name)) repeated.add(name)
    values[name] = value
    if (pair.includes('+', equals)) spaced.add(name)
  }
  return { values, repeated, spaced }
}

function decodeText(text: string, options: { readonly name: string; readonly plusIsSpace: boolean }): string {
  const spaced = options.plusIsSpace && text.includes('+') ? text.replaceAll('+', ' ') : text
  let value = spaced
  if (spaced.includes('%')) {
    try {
      value = decodeURIComponent(spaced)
    } catch {
      // A URIError: a malformed escape, or bytes that are not UTF-8.
      throw invalidParameterError(toShownText(options.name), `expected percent-encoded UTF-8, got ${quote(text)}`)
    }
  }
  if (value.includes('\0')) throw invalidParameterError(toShownText(options.name), 'expected text without NUL')
  return value
}

function checkLength(schema: v.GenericSchema, name: string, value: string): void {
  if (value.length <= PARAMETER_LENGTH_MAX) return
  const lengthMax = getMaxLength(schema, name) ?? PARAMETER_LENGTH_MAX
  if (value.length > lengthMax) {
    throw invalidParameterError(name, `expected at most ${lengthMax} characters, got ${quote(value)}`)
  }
}

const LISTED_NAMES_MAX = 12

/** Creates the error for a name that no field has, with the nearest name or all of them. */
export function unknownNameError(
  name: string,
  { names, what }: { readonly names: readonly string[]; readonly what: 'parameter' | 'field' },
): CodedError {
  const nearest = suggestName(name, names)
  const quotedNames = names.map((each) => `"${each}"`)
  const instead =
    nearest !== undefined
      ? `did you mean "${nearest}"?`
      : quotedNames.length > 0
        ? `${what === 'parameter' ? 'this route takes' : 'the fields are'} ${formatList(quotedNames, LISTED_NAMES_MAX)}`
        : 'leave it out'
  return new CodedError('INVALID_PARAMETER', `Unknown ${what} "${toShownText(name)}": ${instead}`)
}

/** Creates the error for text with NUL or a lone surrogate, which the database rejects. */
export function invalidTextError(name: string): CodedError {
  return invalidParameterError(toShownText(name), 'expected text without NUL, in whole characters')
}

function invalidParameterError(name: string, detail: string): CodedError {
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${name}": ${detail}`)
}

function quote(value: unknown): string {
  if (typeof value === 'string') return `"${toShownText(value)}"`
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object' && value !== null) return 'an object'
  return toShownText(String(value))
}

/** Makes text safe for a message: cut, without control, formatting or surrogate characters. */
function toShownText(text: string): string {
  const cut = text.length > SHOWN_VALUE_LENGTH_MAX ? `${text.slice(0, SHOWN_VALUE_LENGTH_MAX)}…` : text
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?')
}

interface SchemaWithFields {
  readonly type: string
  readonly entries?: Readonly<Record<string, FieldSchema>>
}

interface FieldSchema {
  readonly type: string
  readonly message?: unknown
  readonly wrapped?: { readonly type: string; readonly pipe?: readonly Step[] }
}

interface Step {
  readonly metadata?: { readonly lengthMax?: number }
}

/** Returns the names of an object schema's fields: accepted ones, and those declared only to refuse with a reason. */
export const getFieldNames = memoize(({ entries = {} }: SchemaWithFields) => {
  const isRefused = (name: string) => isRefusedField(entries[name])
  const names = Object.keys(entries)
  return { accepted: names.filter((name) => !isRefused(name)), refused: names.filter(isRefused) }
})

/** Returns the words in which the schema of a required field says what it expects; undefined without any. */
function getExpectation({ entries = {} }: SchemaWithFields, path: readonly string[]): string | undefined {
  const [name = '', ...deeper] = path
  const words = deeper.length === 0 ? entries[name]?.message : undefined
  return typeof words === 'string' ? words : undefined
}

/** True for a field that `refusedParameter` of `input.ts` declares: it may not be sent. */
export function isRefusedField(entry: FieldSchema | undefined): boolean {
  return entry?.wrapped?.type === 'never'
}

/** Returns the `lengthMax` metadata of an optional field, which a list of values has; else undefined. */
function getMaxLength({ entries = {} }: SchemaWithFields, name: string): number | undefined {
  const steps = entries[name]?.wrapped?.pipe ?? []
  return steps.find(({ metadata }) => metadata?.lengthMax !== undefined)?.metadata?.lengthMax
}
