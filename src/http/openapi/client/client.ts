import type { JsonSchema } from '../../route/json_schema.ts'
import { blockText, fieldText, nameText, typeText } from './type_text.ts'
import { WRAPPER_TEXT } from './wrapper.ts'

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
