import type { JsonSchema } from '../json_schema.ts'
import { type AddressedOperation, isKeyless, type OpenapiDocument, type Parameter, resolved } from './document.ts'

/** Shell variable with the address of the service, which the examples read. */
export const URL_VARIABLE = 'WALLETSCOPE_URL'
/** Shell variable with the API key. */
export const KEY_VARIABLE = 'WALLETSCOPE_KEY'

/** Sample values of parameters. An example shows the first that fits, each once. */
const SAMPLES = [
  '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045',
  '0xb323495f7e4148be5643a4ea4a8221eef163e4bccfdedc2a6f4696baacbc86cc',
  '8wQ3vTtGzN5bYp1XfJ2mRk7sDhCe4uLa9oVxZqWnEiPy',
  '3nFbU6yLdKpG8xAtW2sRzQv5jHmCe9oTi4XqJrYwVgBk',
  '7u3HeHxYDLhnCoErrtycNokbQYbWGzLs6JSDqGAv5PfF',
  '1',
] as const

/** A `curl` call with every required parameter, or with the first optional one if none is required. */
export function curlExample(endpoint: AddressedOperation, document: OpenapiDocument): string {
  const { method, path, operation } = endpoint
  const { parameters = [] } = operation
  const left = new Set<string>(SAMPLES)
  const body = operation.requestBody?.content?.['application/json']?.schema
  const values = shownParameters(parameters, body !== undefined).map((parameter) => ({
    ...parameter,
    value: quotable(String(sampleOf(parameter.schema ?? {}, { document, left }))),
  }))

  let target = path
  for (const { name, value } of values.filter((each) => each.in === 'path')) {
    target = target.replace(`{${name}}`, () => value)
  }
  target = target.replace(/[^\w/.~%-]/g, quotable)
  const query = values.filter((each) => each.in === 'query').map(({ name, value }) => `${quotable(name)}=${value}`)

  const lines: string[] = []
  if (method === 'GET' && query.length > 0) {
    lines.push(`curl -G "$${URL_VARIABLE}${target}"`, ...query.map((each) => `-d ${each}`))
  } else {
    lines.push(`curl "$${URL_VARIABLE}${query.length === 0 ? target : `${target}?${query.join('&')}`}"`)
  }
  if (!isKeyless(endpoint)) lines.push(`-H "Authorization: Bearer $${KEY_VARIABLE}"`)
  if (method !== 'GET' && body === undefined) lines.push(`-X ${method.replace(/[^A-Z]/g, '')}`)
  if (body !== undefined) {
    lines.push("-H 'Content-Type: application/json'")
    lines.push(`-d ${shellQuoted(JSON.stringify(sampleOf(body, { document, left })))}`)
  }
  return lines.join(' \\\n  ')
}

/** Text as one word of a POSIX shell. */
export function shellQuoted(text: string): string {
  return `'${text.replace(/'/g, String.raw`'\''`)}'`
}

function shownParameters(parameters: readonly Parameter[], hasBody: boolean): readonly Parameter[] {
  const required = parameters.filter((parameter) => parameter.required === true)
  return required.length > 0 || hasBody ? required : parameters.slice(0, 1)
}

interface Samples {
  readonly document: OpenapiDocument
  /** Samples that this example has not shown yet. */
  readonly left: Set<string>
}

function sampleOf(given: JsonSchema, samples: Samples): unknown {
  const schema = resolved(given, samples.document)
  const { default: fallback, enum: choices, type, items, properties, minimum, exclusiveMinimum } = schema
  if (fallback !== undefined) return fallback
  if (Array.isArray(choices)) return choices[0]
  if (type === 'array') return [sampleOf((items ?? {}) as JsonSchema, samples)]
  if (type === 'object') {
    const required = (schema['required'] ?? []) as readonly string[]
    const fields = Object.entries((properties ?? {}) as Readonly<Record<string, JsonSchema>>)
    return Object.fromEntries(
      fields.filter(([name]) => required.includes(name)).map(([name, field]) => [name, sampleOf(field, samples)]),
    )
  }
  if (type === 'boolean') return true
  if (type === 'integer' || type === 'number') return minimum ?? Number(exclusiveMinimum ?? 0) + 1
  const pattern = typeof schema['pattern'] === 'string' ? new RegExp(schema['pattern']) : undefined
  const sample = SAMPLES.find((each) => samples.left.has(each) && pattern?.test(each) === true)
  if (sample === undefined) return 'value'
  samples.left.delete(sample)
  return sample
}

/** Text that is safe in an address within double quotes of a shell. */
function quotable(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`)
}
