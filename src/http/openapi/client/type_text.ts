import type { JsonSchema } from '../../route/json_schema.ts'

const INDENT = '  '
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/

/**
 * A JSON Schema as a TypeScript type: what the schema says of kinds of values, names and nesting. Patterns, bounds and
 * formats have no type; they are in the comments of the fields. Throws on a schema that this file does not know.
 */
export function typeText(schema: JsonSchema, depth = 0): string {
  const { type, anyOf, allOf, $ref } = schema
  if (typeof $ref === 'string') return referenced($ref)
  if (Array.isArray(allOf)) return allOf.map((each: JsonSchema) => grouped(typeText(each, depth))).join(' & ')
  if (Array.isArray(anyOf)) return unionOf(anyOf.map((each: JsonSchema) => typeText(each, depth)))
  if ('const' in schema) return literal(schema['const'])
  if (Array.isArray(schema['enum'])) return unionOf(schema['enum'].map(literal))
  if (Array.isArray(type)) return unionOf(type.map((each: string) => typeText({ ...schema, type: each }, depth)))
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
    case 'number':
      return type
    case 'integer':
      return 'number'
    case 'array':
      return `${grouped(typeText((schema['items'] ?? {}) as JsonSchema, depth))}[]`
    case 'object':
      return objectText(schema, depth)
    case undefined:
      return 'unknown'
    default:
      throw new Error(`Cannot write a type for a schema of type "${String(type)}"`)
  }
}

/** One field of an object with its comment; `depth` is that of the object. */
export function fieldText(
  field: { readonly name: string; readonly required: boolean; readonly schema: JsonSchema },
  depth: number,
): string {
  const { name, required, schema } = field
  const pad = INDENT.repeat(depth + 1)
  const said = [schema['description'], schema['x-format'], boundsOf(schema)]
    .filter((text) => typeof text === 'string')
    .map((text) => text.replace(/\.$/, '').replaceAll('*/', '* /'))
  const comment = said.length === 0 ? '' : `${pad}/** ${said.join('; ')}. */\n`
  return `${comment}${pad}${nameText(name)}${required ? '' : '?'}: ${typeText(schema, depth + 1)}`
}

/** An object type of these fields, over several lines. */
export function blockText(fields: readonly string[], depth: number): string {
  return fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('\n')}\n${INDENT.repeat(depth)}}`
}

/** A property's name, quoted if it must be. */
export function nameText(name: string): string {
  return IDENTIFIER.test(name) ? name : literal(name)
}

function objectText(schema: JsonSchema, depth: number): string {
  const { properties, additionalProperties, required = [] } = schema
  if (properties === undefined) {
    const values = typeof additionalProperties === 'object' && additionalProperties !== null ? additionalProperties : {}
    return `Record<string, ${typeText(values as JsonSchema, depth)}>`
  }
  const names = required as readonly string[]
  const fields = Object.entries(properties as Readonly<Record<string, JsonSchema>>).map(([name, field]) =>
    fieldText({ name, required: names.includes(name), schema: field }, depth),
  )
  return blockText(fields, depth)
}

function boundsOf({ minimum, maximum, default: fallback }: JsonSchema): string | undefined {
  const parts = [
    ...(minimum === undefined ? [] : [`at least ${String(minimum)}`]),
    ...(maximum === undefined ? [] : [`at most ${String(maximum)}`]),
    ...(fallback === undefined ? [] : [`${JSON.stringify(fallback)} if absent`]),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}

function referenced(reference: string): string {
  const [, name] = /^#\/components\/schemas\/(\w+)$/.exec(reference) ?? []
  if (name === undefined) throw new Error(`Cannot write a type for "${reference}"`)
  return `components['schemas'][${literal(name)}]`
}

function unionOf(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

/** A value as source text. */
function literal(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

function grouped(type: string): string {
  return type.includes(' | ') || type.includes(' & ') ? `(${type})` : type
}
