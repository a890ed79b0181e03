import * as v from 'valibot'

/** A text format: a pattern for programs and words for people. */
export interface TextFormat {
  readonly pattern: RegExp
  /** Description for the documentation: "decimal, 6 digits after the point". */
  readonly words: string
}

export const EVM_ADDRESS: TextFormat = { pattern: /^0x[0-9a-fA-F]{40}$/, words: '0x and 40 hex digits' }
export const SOLANA_ADDRESS: TextFormat = {
  pattern: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/,
  words: '32 to 44 base58 characters',
}
export const UNSIGNED_INTEGER: TextFormat = { pattern: /^\d+$/, words: 'integer in digits' }
export const INTEGER: TextFormat = { pattern: /^-?\d+$/, words: 'integer in digits, may be negative' }
export const DECIMAL: TextFormat = { pattern: /^\d+(\.\d+)?$/, words: 'decimal' }

/** A decimal with a fixed number of digits after the point. */
export function fixedDecimal(
  digits: number,
  { signed = false, max = false }: { readonly signed?: boolean; readonly max?: boolean } = {},
): TextFormat {
  const number = String.raw`${signed ? '-?' : ''}\d+\.\d{${digits}}`
  const words = `decimal, ${digits} digits after the point${signed ? ', may be negative' : ''}${max ? ', or MAX' : ''}`
  return { pattern: new RegExp(max ? `^(${number}|MAX)$` : `^${number}$`), words }
}

/** Schema of a text field of an answer in this format. */
export function text({ pattern, words }: TextFormat) {
  return v.pipe(v.string(), v.regex(pattern), v.metadata({ 'x-format': words }))
}

/** OpenAPI schema of text in this format; `x-format` has the words. */
export function textSchema({ pattern, words }: TextFormat): Readonly<Record<string, unknown>> {
  return { type: 'string', pattern: pattern.source, 'x-format': words }
}

/** Formats items for a sentence, separated by commas: the first `itemsMax`, and the number of the omitted ones. */
export function formatList(items: readonly string[], itemsMax: number): string {
  const shown = items.slice(0, itemsMax).join(', ')
  return items.length > itemsMax ? `${shown} and ${items.length - itemsMax} more` : shown
}

/** Schema of a count, limit or duration in an answer, 0 or more. */
export const nonNegativeInteger = v.pipe(v.number(), v.integer(), v.minValue(0))

/** Keyword of a named schema's own description, which a place may replace by one of its own. */
export const OWN_WORDS = 'x-words'

/** Names a schema that answers share: documents have it once, by this name. `words` describe it wherever it stands. */
export function named<Schema extends v.GenericSchema>(name: string, words: string, schema: Schema) {
  return v.pipe(schema, v.metadata({ title: name, description: words, [OWN_WORDS]: words }))
}

/** Describes a field of an answer. */
export function withWords<Schema extends v.GenericSchema>(words: string, schema: Schema) {
  return v.pipe(schema, v.description(words))
}

const pageAddress = v.nullable(v.string())

/** Schema of a page's position in its list. */
export const pagination = named(
  'Pagination',
  'Which part of the list the answer has',
  v.strictObject({
    page: withWords('Number of this page, from 1', nonNegativeInteger),
    limit: withWords('Most items of a page', nonNegativeInteger),
    total: withWords('Items of the whole list', nonNegativeInteger),
    next_page: withWords('Path and query of the next page; null on the last one', pageAddress),
    prev_page: withWords('Path and query of the page before; null on the first one', pageAddress),
  }),
)
