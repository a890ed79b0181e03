import type { JsonSchema } from '../../route/json_schema.ts'

const INDENT = '  '
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/

/** Keywords that restrict a value in ways without a type of their own. */
const COMPOSED = ['not', 'if', 'dependentSchemas', 'prefixItems']

/**
 * Converts a JSON Schema to a TypeScript type: kinds of values, names and nesting. Patterns, bounds and formats have no
 * type; comments of the fields state them. Throws on an unsupported schema.
 */
export function typeText(schema: JsonSchema, depth = 0): string {
  const { type, anyOf, oneOf, allOf, $ref } = schema
  if (typeof $ref === 'string') return formatReference($ref)
  if (Array.isArray(allOf)) return allOf.map((each: JsonSchema) => parenthesize(typeText(each, depth))).join(' & ')
  for (const kinds of [anyOf, oneOf]) {
    if (Array.isArray(kinds)) return formatUnion(kinds.map((each: JsonSchema) => typeText(each, depth)))
  }
  if ('const' in schema) return formatLiteral(schema['const'])
  if (Array.isArray(schema['enum'])) return formatUnion(schema['enum'].map(formatLiteral))
  if (Array.isArray(type)) return formatUnion(type.map((each: string) => typeText({ ...schema, type: each }, depth)))
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
    case 'number':
      return type
    case 'integer':
      return 'number'
    case 'array':
      return `${parenthesize(typeText((schema['items'] ?? {}) as JsonSchema, depth))}[]`
    case 'object':
      return objectText(schema, depth)
    case undefined:
      if (COMPOSED.some((keyword) => keyword in schema)) {
        throw new Error(`Cannot write a type for a schema with ${COMPOSED.join(', ')}`)
      }
      return 'unknown'
    default:
      throw new Error(`Cannot write a type for a schema of type "${String(type)}"`)
  }
}

/** Writes one field of an object with its comment; `depth` is that of the object. */
export function fieldText(
  field: { readonly name: string; readonly required: boolean; readonly schema: JsonSchema },
  depth: number,
): string {
  const { name, required, schema } = field
  const pad = INDENT.repeat(depth + 1)
  const notes = [schema['description'], schema['x-format'], formatBounds(schema)]
    .filter((text) => typeof text === 'string')
    .map((text) => text.replace(/\.$/, '').replaceAll('*/', '* /'))
  const comment = notes.length === 0 ? '' : `${pad}/** ${notes.join('; ')}. */\n`
  return `${comment}${pad}${nameText(name)}${required ? '' : '?'}: ${typeText(schema, depth + 1)}`
}

/** Writes an object type of these fields, over several lines. */
export function blockText(fields: readonly string[], depth: number): string {
  return fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('\n')}\n${INDENT.repeat(depth)}}`
}

/** Writes a property's name, quoted if necessary. */
export function nameText(name: string): string {
  return IDENTIFIER.test(name) ? name : formatLiteral(name)
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
  // `unknown`, because the type of an index must fit every field.
  const isOpen = additionalProperties === true || typeof additionalProperties === 'object'
  return blockText(isOpen ? [...fields, `${INDENT.repeat(depth + 1)}[name: string]: unknown`] : fields, depth)
}

function formatBounds({ minimum, maximum, default: fallback }: JsonSchema): string | undefined {
  const parts = [
    ...(minimum === undefined ? [] : [`at least ${String(minimum)}`]),
    ...(maximum === undefined ? [] : [`at most ${String(maximum)}`]),
    ...(fallback === undefined ? [] : [`${JSON.stringify(fallback)} if absent`]),
  ]
  return parts.length === 0 ? undefined : parts.join(', ')
}

function formatReference(reference: string): string {
  const [, name] = /^#\/components\/schemas\/(\w+)$/.exec(reference) ?? []
  if (name === undefined) throw new Error(`Cannot write a type for "${reference}"`)
  return `components['schemas'][${formatLiteral(name)}]`
}

function formatUnion(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

/** Formats a value as source text. */
function formatLiteral(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

function parenthesize(type: string): string {
  return type.includes(' | ') || type.includes(' & ') ? `(${type})` : type
}
