import type { GenericSchema } from 'valibot'
import { braced } from '../route/route_table.ts'
import { fieldsOf, type JsonSchema, jsonSchema } from './json_schema.ts'

/** What a request may say, as an operation of a document has it: its parameters, and its body if it takes one. */
export function askedOf(route: {
  readonly path: string
  readonly input: GenericSchema
  readonly body?: GenericSchema
}): Readonly<Record<string, unknown>> {
  const path = braced(route.path)
  const parameters = fieldsOf(route.input).map(({ name, required, schema }) => {
    const inPath = path.includes(`{${name}}`)
    return { name, in: inPath ? 'path' : 'query', required: inPath || required, schema }
  })
  if (route.body === undefined) return { parameters }
  const content = { 'application/json': { schema: jsonSchema(route.body) } }
  return { parameters, requestBody: { required: true, content } }
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
