import type { GenericSchema } from 'valibot'
import { OWN_WORDS } from '../../lib/text/text_format.ts'
import { closedObject, createJsonSchema, getFieldSchemas, type JsonSchema } from '../route/json_schema.ts'
import { toBracedTemplate } from '../route/route_table.ts'
import { type Example, getExampleParameters, getExampleValue, toParameterExample } from './example.ts'
import { REQUEST_ID } from './responses.ts'

/** Writes an OpenAPI 3.1 document. */
export function documentText(document: {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  /** All sections but the version and `info`. */
  readonly sections: Readonly<Record<string, unknown>>
}): string {
  const info = { ...document.info, license: { name: 'MIT', identifier: 'MIT' } }
  return `${JSON.stringify({ openapi: '3.1.0', info, ...document.sections }, null, 2)}\n`
}

/** Groups the operations of routes by path and method, in order. */
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

/** Describes the input of a route's operation: its parameters, and its body if it has one. */
export function toParametersAndBody(route: {
  readonly path: string
  readonly input: GenericSchema
  readonly body?: GenericSchema
  readonly example?: Example | undefined
  /** Values by name for parameters that have no other example. */
  readonly familyValues?: ReadonlyMap<string, string>
}): { readonly parameters: readonly unknown[]; readonly requestBody?: unknown } {
  const path = toBracedTemplate(route.path)
  const exampleValues = route.example && getExampleParameters(path, route.example)
  const parameters = getFieldSchemas(route.input).map(({ name, required, schema }) => {
    const inPath = path.includes(`{${name}}`)
    const { description, examples, ...rest } = schema
    const value =
      getExampleValue(schema, exampleValues?.get(name)) ?? getExampleValue(schema, route.familyValues?.get(name))
    const isRequested = inPath || required || exampleValues?.has(name) === true
    const shown = toParameterExample(value, { isRequested })
    return { name, in: inPath ? 'path' : 'query', required: inPath || required, description, ...shown, schema: rest }
  })
  if (route.body === undefined) return { parameters }
  const content = { 'application/json': { schema: createJsonSchema(route.body), example: route.example?.body } }
  return { parameters, requestBody: { required: true, content } }
}

/** Adds the optional receipt to the schema of a success body. */
export function withReceipt(schema: JsonSchema): JsonSchema {
  const properties = (schema['properties'] ?? {}) as JsonSchema
  return { ...schema, properties: { ...properties, receipt: RECEIPT } }
}

const RECEIPT_WORDS =
  'Only with receipt: an envelope that `walletscope verify` reads. Its payload lists what it does not cover as `uncovered`.'

/** Schema of a receipt: a DSSE envelope, protocol.md. */
const RECEIPT = {
  ...closedObject({
    payloadType: { type: 'string', description: 'Media type of the payload' },
    payload: { type: 'string', description: 'JSON in base64: the request, the answer and what was read' },
    signatures: {
      type: 'array',
      description: 'Signatures of type and payload (DSSE)',
      items: closedObject({
        keyid: { type: 'string', description: 'Name of the key among /.well-known/walletscope-keys.json' },
        sig: { type: 'string', description: 'Ed25519 signature in base64' },
      }),
    },
  }),
  title: 'Receipt',
  description: RECEIPT_WORDS,
  [OWN_WORDS]: RECEIPT_WORDS,
}

/** Adds `request_id`, which the app adds to every success, and words for `data` to the schema of `Route.output`. */
export function withRequestId(schema: JsonSchema): JsonSchema {
  const { data, ...properties } = (schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>
  const required = (schema['required'] ?? []) as readonly string[]
  const words = data?.['type'] === 'array' ? 'The items, of a list in pages those of this page' : 'The answer'
  return {
    ...schema,
    properties: { ...(data && { data: { description: words, ...data } }), ...properties, request_id: REQUEST_ID },
    required: [...required, 'request_id'],
  }
}
