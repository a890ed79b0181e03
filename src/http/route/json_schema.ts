import { type ConversionConfig, toJsonSchema } from '@valibot/to-json-schema'
import type { GenericSchema } from 'valibot'
import { OWN_WORDS } from '../../lib/text/text_format.ts'
import { isRefusedField } from '../request/parameters.ts'

/** A JSON Schema of OpenAPI 3.1. */
export type JsonSchema = Readonly<Record<string, unknown>>

type ConvertedSchema = ReturnType<typeof toJsonSchema>

/** The properties of valibot's schemas and actions, which are plain objects, that this file reads. */
interface Node {
  readonly type: string
  readonly entries?: Readonly<Record<string, Node>>
  readonly options?: readonly string[]
  readonly metadata?: { readonly documented?: ConvertedSchema }
}

const CONFIG: ConversionConfig = {
  target: 'draft-2020-12',
  // A check without a keyword adds nothing.
  errorMode: 'ignore',
  ignoreActions: ['iso_timestamp'],
  overrideSchema({ valibotSchema, jsonSchema, errors }) {
    if (errors !== undefined) throw new Error(`Cannot describe a schema: ${errors[0]}`)
    return adaptSchema(valibotSchema, jsonSchema)
  },
  overrideAction: ({ valibotAction }) => (valibotAction as Node).metadata?.documented,
}

/**
 * Creates the JSON Schema of a valibot schema's input from its first step and its checks, or from `documented()`
 * instead. Throws on a kind of schema without an equivalent.
 */
export function createJsonSchema(schema: GenericSchema): JsonSchema {
  const { $schema, ...converted } = toJsonSchema(schema, CONFIG)
  return converted
}

/**
 * Returns the schemas of an object's fields, and whether each is required, without refused ones. Empty for other kinds
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

/** Creates the schema of an object with exactly these properties. */
export function closedObject(properties: Readonly<Record<string, JsonSchema>>) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** Creates the keyword `enum`; none without values, as by configuration: an empty one is no valid schema. */
export function enumKeyword<Value>(values: readonly Value[]): { readonly enum?: Value[] } {
  return values.length === 0 ? {} : { enum: [...values] }
}

/** Replaces the default JSON Schema of one schema; undefined to keep it. */
function adaptSchema({ type, entries = {}, options = [] }: Node, usual: ConvertedSchema): ConvertedSchema | undefined {
  switch (type) {
    case 'picklist':
      return { type: 'string', ...enumKeyword(options) }
    case 'object':
    case 'strict_object': {
      const { properties = {}, required = [], ...rest } = usual
      const accepted = Object.entries(properties).filter(([name]) => !isRefusedField(entries[name]))
      const requiredKeyword = required.length === 0 ? {} : { required }
      // A new object, because its order of keywords becomes that of the document.
      return { type: 'object', properties: Object.fromEntries(accepted), ...requiredKeyword, ...rest }
    }
    case 'record': {
      const { propertyNames, ...rest } = usual
      return rest
    }
    case 'nullable':
      return toNullable(usual)
    case 'optional':
      return withTypedDefault(usual)
    default:
      return undefined
  }
}

/** Adds the type `null`, unless values are listed, since null passes no `enum` or `const`, or the schema has a name. */
function toNullable({ anyOf: [inner] = [] }: ConvertedSchema): ConvertedSchema | undefined {
  if (typeof inner !== 'object' || typeof inner.type !== 'string' || OWN_WORDS in inner) return undefined
  return inner.enum === undefined && inner.const === undefined ? { ...inner, type: [inner.type, 'null'] } : undefined
}

/** Converts a parameter's default from text, as callers send it, to the typed value. */
function withTypedDefault(usual: ConvertedSchema): ConvertedSchema | undefined {
  const { type, default: text } = usual
  if (typeof text !== 'string') return undefined
  if (type === 'integer' || type === 'number') return { ...usual, default: Number(text) }
  return type === 'boolean' ? { ...usual, default: text === 'true' } : undefined
}
