import { OWN_WORDS } from '../../lib/text/text_format.ts'
import { getFormulaPath, getUnit, isFigure } from '../page/formulas.ts'
import type { JsonSchema } from '../route/json_schema.ts'

/** Begins the name of a shared schema: any other title is a sentence. */
const NAME = /^[A-Z][A-Za-z0-9]*$/
/** Keyword of the link to a figure's formula. */
const LINK = 'externalDocs'

/** Schemas that a document shares, by name. */
export interface Components {
  /**
   * Replaces every schema inside that has a name by a reference to it. A place keeps a description of its own beside the
   * reference. Throws if another schema has the name.
   */
  extract(schema: JsonSchema): JsonSchema
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
    if (formatWithoutLinks(other) !== formatWithoutLinks(schema)) {
      throw new Error(`Cannot describe two schemas by the name "${name}": give one of them another`)
    }
    found.set(name, keepCommonLinks(other, schema) as JsonSchema)
    const reference = { $ref: `#/components/schemas/${name}` }
    return description === undefined || description === words ? reference : { ...reference, description }
  }
  return {
    extract: (schema) => extract(schema) as JsonSchema,
    list: () => Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

function formatWithoutLinks(schema: JsonSchema): string {
  return JSON.stringify(schema, (key, value) => (key === LINK ? undefined : value))
}

/** Returns `a` without the links that `b` does not have: a figure of several families has several formulas. */
function keepCommonLinks(a: unknown, b: unknown): unknown {
  if (Array.isArray(a) && Array.isArray(b)) return a.map((each, index) => keepCommonLinks(each, b[index]))
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return a
  const kept = Object.entries(a).filter(
    ([key, value]) => key !== LINK || JSON.stringify(value) === JSON.stringify(Reflect.get(b, key)),
  )
  return Object.fromEntries(kept.map(([key, value]) => [key, keepCommonLinks(value, Reflect.get(b, key))]))
}

/** Adds unit and formula to the figures of a family's answer. */
export function linkFigures(schema: JsonSchema, family: string): JsonSchema {
  const link = (node: JsonSchema, name: string): JsonSchema => {
    const { properties, items, anyOf } = node
    const fields = Object.entries((properties ?? {}) as Readonly<Record<string, JsonSchema>>)
    return {
      ...node,
      ...(isFigure(name, node['x-format']) ? toLinks(family, name) : {}),
      ...(properties === undefined
        ? {}
        : { properties: Object.fromEntries(fields.map(([key, field]) => [key, link(field, key)])) }),
      ...(items === undefined ? {} : { items: link(items as JsonSchema, name) }),
      ...(Array.isArray(anyOf) ? { anyOf: anyOf.map((each: JsonSchema) => link(each, name)) } : {}),
    }
  }
  return link(schema, '')
}

function toLinks(family: string, name: string): JsonSchema {
  return { 'x-unit': getUnit(name), [LINK]: { url: getFormulaPath({ family, name }) } }
}
