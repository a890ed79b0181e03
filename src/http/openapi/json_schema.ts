import type { GenericSchema } from 'valibot'
import { isRefused } from '../request/fields.ts'
import type { Documented } from '../request/input.ts'

/** A JSON Schema as OpenAPI 3.1 has it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/**
 * What this file reads of valibot's schemas, actions and metadata, which are plain objects: every one of them is a node,
 * because it has a kind and a type, and whatever else it has.
 */
interface Node {
  readonly kind: string
  readonly type: string
  readonly pipe?: readonly Node[]
  readonly entries?: Readonly<Record<string, Node>>
  readonly item?: Node
  readonly value?: Node
  readonly wrapped?: Node
  readonly default?: unknown
  readonly literal?: unknown
  readonly options?: readonly unknown[]
  readonly requirement?: unknown
  readonly metadata?: { readonly documented?: Documented; readonly words?: string }
  readonly description?: string
}

/**
 * The JSON Schema of a valibot schema's input: its first step and what the checks after it add, or what `documented()`
 * says in their place. Throws on a kind of schema that this file does not know.
 */
export function jsonSchema(schema: GenericSchema): JsonSchema {
  return schemaOf(schema)
}

/**
 * Schemas of an object's fields, and whether each is required; without those that it only refuses. Empty for other kinds
 * and for no schema.
 */
export function fieldsOf(schema: GenericSchema | undefined) {
  return fieldsIn(schema)
}

/** An object that has exactly these properties. */
export function closedObject(properties: Readonly<Record<string, JsonSchema>>) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

function fieldsIn(node: Node | undefined) {
  return Object.entries(node?.entries ?? {})
    .filter(([, entry]) => !isRefused(entry))
    .map(([name, entry]) => ({ name, required: entry.type !== 'optional', schema: schemaOf(entry) }))
}

function schemaOf(node: Node): JsonSchema {
  if (node.pipe === undefined) return bare(node)
  const said = node.pipe.findLast((step) => step.metadata?.documented !== undefined)?.metadata?.documented
  if (said !== undefined) return said
  const [root, ...steps] = node.pipe
  if (root === undefined) throw new Error('Cannot describe a pipe without a schema')
  const schema = { ...schemaOf(root) }
  for (const step of steps) Object.assign(schema, added(step, schema))
  return schema
}

function bare(node: Node): JsonSchema {
  switch (node.type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return { type: node.type }
    case 'unknown':
      return {}
    case 'literal':
      return { const: node.literal }
    case 'picklist':
      return { type: 'string', enum: node.options }
    case 'array':
      return { type: 'array', items: schemaOf(required(node.item)) }
    case 'record':
      return { type: 'object', additionalProperties: schemaOf(required(node.value)) }
    case 'object':
    case 'strict_object':
      return objectSchema(node)
    case 'union':
      return { anyOf: (node.options as readonly Node[]).map(schemaOf) }
    case 'nullable':
      return nullable(schemaOf(required(node.wrapped)))
    case 'optional':
      return withDefault(schemaOf(required(node.wrapped)), node.default)
    default:
      throw new Error(`Cannot describe a schema of kind "${node.type}"`)
  }
}

function objectSchema(node: Node): JsonSchema {
  const fields = fieldsIn(node)
  const must = fields.filter((field) => field.required).map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map(({ name, schema }) => [name, schema])),
    ...(must.length === 0 ? {} : { required: must }),
    ...(node.type === 'strict_object' ? { additionalProperties: false } : {}),
  }
}

/** What a step of a pipe adds; a check without a JSON Schema keyword adds nothing. */
function added({ type, requirement, description, metadata }: Node, schema: JsonSchema): JsonSchema {
  const list = schema['type'] === 'array'
  switch (type) {
    case 'integer':
    case 'safe_integer':
      return { type: 'integer' }
    case 'min_value':
      return { minimum: requirement }
    case 'max_value':
      return { maximum: requirement }
    case 'gt_value':
      return { exclusiveMinimum: requirement }
    case 'lt_value':
      return { exclusiveMaximum: requirement }
    case 'min_length':
      return list ? { minItems: requirement } : { minLength: requirement }
    case 'max_length':
      return list ? { maxItems: requirement } : { maxLength: requirement }
    case 'regex':
      return { pattern: (requirement as RegExp).source }
    case 'metadata':
      return metadata?.words === undefined ? {} : { 'x-format': metadata.words }
    case 'description':
      return { description }
    default:
      return {}
  }
}

/** A list of types does not admit null if `enum` or `const` lists the values. */
function nullable(schema: JsonSchema): JsonSchema {
  return typeof schema['type'] === 'string' && schema['enum'] === undefined && schema['const'] === undefined
    ? { ...schema, type: [schema['type'], 'null'] }
    : { anyOf: [schema, { type: 'null' }] }
}

/** Defaults of parameters are text, as callers send it; the document shows the typed value. */
function withDefault(schema: JsonSchema, fallback: unknown): JsonSchema {
  if (fallback === undefined || typeof fallback === 'function') return schema
  const { type } = schema
  if ((type === 'integer' || type === 'number') && typeof fallback === 'string') {
    return { ...schema, default: Number(fallback) }
  }
  if (type === 'boolean' && typeof fallback === 'string') return { ...schema, default: fallback === 'true' }
  return { ...schema, default: fallback }
}

function required(node: Node | undefined): Node {
  if (node === undefined) throw new Error('Cannot describe a schema without its inner schema')
  return node
}
