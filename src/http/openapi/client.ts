import type { JsonSchema } from '../route/json_schema.ts'
import { WRAPPER_TEXT } from './client_wrapper.ts'

interface Document {
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly responses: Readonly<Record<string, ResponseObject>>
  }
}

interface Operation {
  readonly summary: string
  readonly 'x-credits'?: string
  readonly security?: readonly unknown[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Media
  readonly responses: Readonly<Record<string, ResponseObject & { readonly $ref?: string }>>
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

interface ResponseObject extends Partial<Media> {
  readonly description: string
}

interface Media {
  readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>>
}

/**
 * Writes a typed client of the document's operations that require a key: one TypeScript file without imports. Its
 * `paths` have the form of openapi-typescript, so that its libraries accept them.
 */
export function clientText(document: string): string {
  const { info, paths, components } = JSON.parse(document) as Document
  const entries = Object.entries(paths).flatMap(([path, methods]) => {
    const operations = Object.entries(methods).filter(([, { security }]) => security === undefined)
    if (operations.length === 0) return []
    const fields = operations.map(([method, operation]) => operationText(method, operation, components.responses))
    return [`  ${nameText(path)}: ${blockText(fields, 1)}`]
  })
  const schemas = Object.entries(components.schemas).map(([name, schema]) =>
    fieldText({ name, required: true, schema }, 1),
  )
  return [
    `// Client of the walletscope API ${info.version}, printed by \`walletscope openapi --client\`: do not edit.`,
    '//',
    '//   const client = createClient({ baseUrl, key })',
    "//   const { data, error } = await client.GET('/v1/usage/logs', { params: { query: { range: '1h' } } })",
    '',
    '/** Operations by path and method. */',
    `export interface paths ${blockText(entries, 0)}`,
    '',
    '/** Shapes that several answers share. */',
    `export interface components ${blockText([`  schemas: ${blockText(schemas, 1)}`], 0)}`,
    WRAPPER_TEXT,
  ].join('\n')
}

function operationText(
  method: string,
  { summary, 'x-credits': price = '', parameters = [], requestBody, responses }: Operation,
  shared: Readonly<Record<string, ResponseObject>>,
): string {
  const parts = ['path', 'query'].flatMap((location) => {
    // The client reads only JSON.
    const own = parameters.filter(({ name, in: where }) => where === location && name !== 'format')
    if (own.length === 0) return []
    const optional = own.every(({ required }) => !required)
    const fields = own.map(({ description, ...each }) => {
      const schema = description === undefined ? each.schema : { ...each.schema, description }
      return fieldText({ ...each, schema }, 4)
    })
    return [`        ${location}${optional ? '?' : ''}: ${blockText(fields, 4)}`]
  })
  const answers = Object.entries(responses).map(([status, answer]) => {
    const { content } = answer.$ref === undefined ? answer : (shared[answer.$ref.split('/').at(-1) ?? ''] ?? answer)
    return `        ${status}: { headers: { [name: string]: unknown }; content: ${contentText(content)} }`
  })
  const fields = [
    ...(parts.length === 0 ? [] : [`      parameters: ${blockText(parts, 3)}`]),
    ...(requestBody === undefined ? [] : [`      requestBody: { content: ${contentText(requestBody.content)} }`]),
    `      responses: ${blockText(answers, 3)}`,
  ]
  return `    /** ${[summary, price].join(' ').trim()} */\n    ${method}: ${blockText(fields, 2)}`
}

/** Writes media types and their bodies; `never` for an answer without a body. */
function contentText(content: Media['content'] = {}): string {
  // The client reads only JSON.
  const fields = Object.entries(content)
    .filter(([type]) => type !== 'text/csv')
    .map(([type, { schema }]) => `          ${nameText(type)}: ${typeText(schema, 5)}`)
  return fields.length === 0 ? '{ [type: string]: never }' : blockText(fields, 4)
}

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
function fieldText(
  field: { readonly name: string; readonly required: boolean; readonly schema: JsonSchema },
  depth: number,
): string {
  const { name, required, schema } = field
  const pad = INDENT.repeat(depth + 1)
  const notes = [schema['description'], schema['x-unit'], schema['x-format'], formatBounds(schema)]
    .filter((text) => typeof text === 'string')
    .map((text) => text.replace(/\.$/, '').replaceAll('*/', '* /'))
  const comment = notes.length === 0 ? '' : `${pad}/** ${notes.join('; ')}. */\n`
  return `${comment}${pad}${nameText(name)}${required ? '' : '?'}: ${typeText(schema, depth + 1)}`
}

/** Writes an object type of these fields, over several lines. */
function blockText(fields: readonly string[], depth: number): string {
  return fields.length === 0 ? 'Record<string, never>' : `{\n${fields.join('\n')}\n${INDENT.repeat(depth)}}`
}

/** Writes a property's name, quoted if necessary. */
function nameText(name: string): string {
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
