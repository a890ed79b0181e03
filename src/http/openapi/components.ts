import { OWN_WORDS } from '../../lib/text/text_format.ts'
import type { JsonSchema } from '../route/json_schema.ts'
import { FORMULA_LINK } from './figures.ts'

/** Begins the name of a shared schema: any other title is a sentence. */
const NAME = /^[A-Z][A-Za-z0-9]*$/

/** Schemas that a document shares, by name. */
export interface Components {
  /**
   * Replaces every schema that has a name by a reference to it, in a part of the document. A place keeps a description
   * of its own beside the reference. Throws if another schema has the name.
   */
  extract<Part>(part: Part): Part
  /** Returns the replaced schemas by name, in order. */
  list(): Readonly<Record<string, JsonSchema>>
}

/** Creates the shared schemas of a document, none yet. */
export function createComponents(): Components {
  const found = new Map<string, JsonSchema>()
  const extract = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(extract)
    if (typeof node !== 'object' || node === null) return node
    const fields = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, extract(value)]))
    const { title: name, [OWN_WORDS]: words, description, ...rest } = fields
    if (typeof name !== 'string' || !NAME.test(name)) return fields
    const schema = { ...rest, description: words ?? description }
    const other = found.get(name) ?? schema
    if (formatCommon(other) !== formatCommon(schema)) {
      throw new Error(`Cannot describe two schemas by the name "${name}": give one of them another`)
    }
    found.set(name, merge(other, schema) as JsonSchema)
    const reference = { $ref: `#/components/schemas/${name}` }
    return description === undefined || description === words ? reference : { ...reference, description }
  }
  return {
    extract: <Part>(part: Part) => extract(part) as Part,
    list: () => Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** Formats what two schemas of one name must have in common: all but what `merge` merges. */
function formatCommon(schema: JsonSchema): string {
  return JSON.stringify(schema, (key, value) => (key === FORMULA_LINK || key === PATTERNS ? undefined : value))
}

/** Keyword of fields by the pattern of their names: those in a currency, which only some routes add. */
const PATTERNS = 'patternProperties'

/**
 * Returns `a` without the links that `b` does not have, since a figure of several families has several formulas, and with
 * the patterns of either.
 */
function merge(a: unknown, b: unknown): unknown {
  if (Array.isArray(a) && Array.isArray(b)) return a.map((each, index) => merge(each, b[index]))
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return a
  const kept = Object.entries(a).filter(
    ([key, value]) => key !== FORMULA_LINK || JSON.stringify(value) === JSON.stringify(Reflect.get(b, key)),
  )
  const patterns: unknown = Reflect.get(a, PATTERNS) ?? Reflect.get(b, PATTERNS)
  return {
    ...Object.fromEntries(kept.map(([key, value]) => [key, merge(value, Reflect.get(b, key))])),
    ...(patterns === undefined ? {} : { [PATTERNS]: patterns }),
  }
}
