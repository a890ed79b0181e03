import { type ConversionConfig, toJsonSchema } from '@valibot/to-json-schema'
import type { GenericSchema } from 'valibot'
import { isRefusedField } from '../request/fields.ts'

/** A JSON Schema as OpenAPI 3.1 has it. */
export type JsonSchema = Readonly<Record<string, unknown>>

type ConvertedSchema = ReturnType<typeof toJsonSchema>

/** What this file reads of valibot's schemas and actions, which are plain objects. */
interface Node {
  readonly type: string
  readonly entries?: Readonly<Record<string, Node>>
  readonly options?: readonly string[]
  readonly metadata?: { readonly documented?: ConvertedSchema }
}

const CONFIG: ConversionConfig = {
  target: 'draft-2020-12',
  // A check that has no keyword adds nothing.
  errorMode: 'ignore',
  ignoreActions: ['iso_timestamp'],
  overrideSchema({ valibotSchema, jsonSchema, errors }) {
    if (errors !== undefined) throw new Error(`Cannot describe a schema: ${errors[0]}`)
    return overridden(valibotSchema, jsonSchema)
  },
  overrideAction: ({ valibotAction }) => (valibotAction as Node).metadata?.documented,
}

/**
 * The JSON Schema of a valibot schema's input: its first step and what the checks after it add, or what `documented()`
 * says in their place. Throws on a kind of schema that has none.
 */
export function createJsonSchema(schema: GenericSchema): JsonSchema {
  const { $schema, ...converted } = toJsonSchema(schema, CONFIG)
  return converted
}

/**
 * Schemas of an object's fields, and whether each is required; without those that it only refuses. Empty for other kinds
 * and for no schema.
 */
export function getFieldSchemas(schema: GenericSchema | undefined) {
  const { properties = {}, required = [] } = schema === undefined ? {} : toJsonSchema(schema, CONFIG)
  return Object.entries(properties).map(([name, field]) => ({
    name,
    required: required.includes(name),
    schema: field as JsonSchema,
  }))
}

/** An object that has exactly these properties. */
export function closedObject(properties: Readonly<Record<string, JsonSchema>>) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** What differs from the usual JSON Schema of one schema; undefined if nothing does. */
function overridden({ type, entries = {}, options = [] }: Node, usual: ConvertedSchema): ConvertedSchema | undefined {
  switch (type) {
    case 'picklist':
      return { type: 'string', enum: [...options] }
    case 'object':
    case 'strict_object': {
      const { properties = {}, required = [], ...rest } = usual
      const taken = Object.entries(properties).filter(([name]) => !isRefusedField(entries[name]))
      const must = required.length === 0 ? {} : { required }
      // Anew, because the order of keywords is that of the document.
      return { type: 'object', properties: Object.fromEntries(taken), ...must, ...rest }
    }
    case 'record': {
      const { propertyNames, ...rest } = usual
      return rest
    }
    case 'nullable':
      return nullable(usual)
    case 'optional':
      return withTypedDefault(usual)
    default:
      return undefined
  }
}

/** One type more, unless values are listed: null does not pass `enum` or `const`. */
function nullable({ anyOf: [inner] = [] }: ConvertedSchema): ConvertedSchema | undefined {
  if (typeof inner !== 'object' || typeof inner.type !== 'string') return undefined
  return inner.enum === undefined && inner.const === undefined ? { ...inner, type: [inner.type, 'null'] } : undefined
}

/** Defaults of parameters are text, as callers send it; the document shows the typed value. */
function withTypedDefault(usual: ConvertedSchema): ConvertedSchema | undefined {
  const { type, default: text } = usual
  if (typeof text !== 'string') return undefined
  if (type === 'integer' || type === 'number') return { ...usual, default: Number(text) }
  return type === 'boolean' ? { ...usual, default: text === 'true' } : undefined
}
