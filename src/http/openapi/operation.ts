import type { GenericSchema } from 'valibot'
import { closedObject, createJsonSchema, getFieldSchemas, type JsonSchema } from '../route/json_schema.ts'
import { toBracedTemplate } from '../route/route_table.ts'
import { type Example, getExampleParameters, getExampleValue, toParameterExample } from './example.ts'

/** An OpenAPI 3.1 document as text. */
export function documentText(document: {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  /** All but its version and what `info` says. */
  readonly rest: Readonly<Record<string, unknown>>
}): string {
  const info = { ...document.info, license: { name: 'MIT', identifier: 'MIT' } }
  return `${JSON.stringify({ openapi: '3.1.0', info, ...document.rest }, null, 2)}\n`
}

/** Operations of these routes by path and method, in order. */
export function toPathItems<Route extends { readonly path: string; readonly method: string }>(
  routes: readonly Route[],
  operation: (route: Route) => unknown,
) {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    const path = toBracedTemplate(route.path)
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) }
  }
  return paths
}

/** What a request may say, as an operation of a document has it: its parameters, and its body if it takes one. */
export function toParametersAndBody(route: {
  readonly path: string
  readonly input: GenericSchema
  readonly body?: GenericSchema
  readonly example?: Example | undefined
  /** Values by name for parameters that have no other example. */
  readonly near?: ReadonlyMap<string, string>
}): { readonly parameters: readonly unknown[]; readonly requestBody?: unknown } {
  const path = toBracedTemplate(route.path)
  const asked = route.example && getExampleParameters(path, route.example)
  const parameters = getFieldSchemas(route.input).map(({ name, required, schema }) => {
    const inPath = path.includes(`{${name}}`)
    const { description, examples, ...rest } = schema
    const value = getExampleValue(schema, asked?.get(name)) ?? route.near?.get(name)
    const isAsked = inPath || required || asked?.has(name) === true
    const shown = toParameterExample(value, { isAsked })
    return { name, in: inPath ? 'path' : 'query', required: inPath || required, description, ...shown, schema: rest }
  })
  if (route.body === undefined) return { parameters }
  const content = { 'application/json': { schema: createJsonSchema(route.body), example: route.example?.body } }
  return { parameters, requestBody: { required: true, content } }
}

/** Schema of a success body that has a receipt if it was asked for. */
export function withReceipt(schema: JsonSchema): JsonSchema {
  const properties = (schema['properties'] ?? {}) as JsonSchema
  return { ...schema, properties: { ...properties, receipt: RECEIPT } }
}

/** DSSE, protocol.md. */
const RECEIPT = {
  ...closedObject({
    payloadType: { type: 'string' },
    payload: { type: 'string', description: 'JSON in base64: what was asked, answered and read.' },
    signatures: { type: 'array', items: closedObject({ keyid: { type: 'string' }, sig: { type: 'string' } }) },
  }),
  description:
    'Only with receipt: an envelope that `walletscope verify` reads. What it does not cover its payload lists as `uncovered`.',
}

/** Schema of a success body: that of `Route.output` with the `request_id` that the app adds. */
export function withRequestId(schema: JsonSchema): JsonSchema {
  const properties = (schema['properties'] ?? {}) as JsonSchema
  const required = (schema['required'] ?? []) as readonly string[]
  return {
    ...schema,
    properties: { ...properties, request_id: { type: 'string' } },
    required: [...required, 'request_id'],
  }
}
