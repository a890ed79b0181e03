import { ERROR_CODES } from '../../lib/error.ts'
import { STATUS_BY_CODE } from '../error.ts'
import type { Route } from '../route.ts'
import { braced } from '../route_table.ts'
import { fieldsOf, type JsonSchema, jsonSchema } from './json_schema.ts'
import { PAGE_PATHS, PUBLIC_PAGE_PATHS } from './pages.ts'

/** Version of the interface description; that of the interface is the path's `/v1`. */
export const DOCUMENT_VERSION = '1.0.0'
const DESCRIPTION = [
  'On-chain positions of a wallet: what it holds, earns, owes and risks.',
  'HEAD is answered wherever GET is, at the same price and with the same headers, without a body.',
  'OPTIONS is answered with 204 and the methods of the path in `Allow`, free and without a key.',
].join(' ')

/** Failures of every route; 404 is for the key of a deleted organization. */
const COMMON_STATUSES = [400, 401, 402, 403, 404, 405, 429, 431, 500, 503] as const
/** Further failures of a route that reads a body. */
const BODY_STATUSES = [408, 413, 415] as const

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  400: 'The request cannot be read: a parameter or the body is missing or wrong.',
  401: 'The key is missing, malformed, unknown, revoked or expired.',
  402: 'The balance cannot pay for the answer. Nothing is charged.',
  403: 'The organization is suspended, or the endpoint or feature is switched off.',
  404: 'Nothing is there, or the organization has been deleted.',
  405: 'The path has other methods, which `Allow` lists.',
  408: 'The body did not arrive in time.',
  413: 'The body is larger than 256 KiB.',
  415: 'The body is encoded.',
  429: 'The organization has used up its requests of this second.',
  431: 'The head of the request is too large. The answer has no body.',
  500: 'The service failed.',
  502: 'An upstream answer is unusable. Try again after a short wait.',
  503: 'The service, a chain or its database cannot answer now. Try again after the given wait.',
  504: 'An upstream took too long. Try again with less.',
}

/**
 * The OpenAPI 3.1 document of the routes, as text: parameters, bodies and answers are described by the very schemas
 * that check them. The same routes give the same text.
 */
export function openapiDocument(options: {
  readonly routes: readonly Route[]
  readonly publicUrl?: string | undefined
  /** Names of the chains that are served, by id. */
  readonly chains?: Readonly<Record<string, string>>
  /** True if the operator's pages are served elsewhere. @default false */
  readonly operatorApart?: boolean
}): string {
  const ordered = [...options.routes].sort((a, b) => order(a, b))
  const routePaths: Record<string, Record<string, unknown>> = {}
  for (const route of ordered) {
    const path = braced(route.path)
    routePaths[path] = { ...routePaths[path], [route.method.toLowerCase()]: operation(route) }
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'walletscope',
      version: DOCUMENT_VERSION,
      description: DESCRIPTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: options.publicUrl ?? '/' }],
    security: [{ apiKey: [] }],
    'x-chains': options.chains ?? {},
    paths: { ...routePaths, ...(options.operatorApart ? PUBLIC_PAGE_PATHS : PAGE_PATHS) },
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the organization that pays.' },
      },
      headers: HEADERS,
      schemas: { Error: ERROR_SCHEMA },
      responses: Object.fromEntries(Object.keys(DESCRIPTIONS).map((status) => [`Error${status}`, failed(status)])),
    },
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

function operation(route: Route): unknown {
  const path = braced(route.path)
  const statuses = [...COMMON_STATUSES, ...(route.errors ?? []), ...(route.body === undefined ? [] : BODY_STATUSES)]
  const errors = [...new Set(statuses)].sort((a, b) => a - b)
  return {
    operationId: operationId(route),
    summary: route.summary,
    tags: [path.split('/')[2] ?? 'other'],
    'x-credits': route.price,
    parameters: fieldsOf(route.input).map((field) => {
      const inPath = path.includes(`{${field.name}}`)
      return {
        name: field.name,
        in: inPath ? 'path' : 'query',
        required: inPath || field.required,
        schema: field.schema,
      }
    }),
    ...(route.body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: jsonSchema(route.body) } } } }),
    responses: {
      200: {
        description: `Answered. Credits: ${route.price}`,
        headers: headerRefs(route.asOf === false ? ACCOUNT_HEADERS : [...ACCOUNT_HEADERS, 'X-As-Of']),
        content: { 'application/json': { schema: withRequestId(jsonSchema(route.output)) } },
      },
      ...Object.fromEntries(errors.map((status) => [status, { $ref: `#/components/responses/Error${status}` }])),
    },
  }
}

/** Name of an operation: `get_positions_uniswap_v3_by_id`. */
export function operationId({ method, path }: Route): string {
  const words = braced(path)
    .split('/')
    .slice(2)
    .map((segment) => segment.replace(/^\{(.*)\}$/, 'by_$1'))
  return [method.toLowerCase(), ...words].join('_').replace(/[^a-z0-9]+/gi, '_')
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

/** A failure by status. The runtime answers 431 by itself, without a body. */
function failed(status: string): unknown {
  if (status === '431') return { description: DESCRIPTIONS[431] }
  const codes = ERROR_CODES.filter((code) => String(STATUS_BY_CODE[code]) === status)
  const code = { enum: codes.length === 0 ? ['INVALID_REQUEST'] : codes }
  const account = status === '401' ? ['X-Request-Id'] : ACCOUNT_HEADERS
  return {
    description: DESCRIPTIONS[Number(status)],
    headers: headerRefs([...account, ...(HEADERS_BY_STATUS[status] ?? [])]),
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Error' },
            { type: 'object', properties: { error: { type: 'object', properties: { code } } } },
          ],
        },
      },
    },
  }
}

const ERROR_SCHEMA = {
  type: 'object',
  properties: {
    error: {
      type: 'object',
      properties: {
        code: { type: 'string', enum: ERROR_CODES },
        message: { type: 'string' },
        request_id: { type: 'string' },
      },
      required: ['code', 'message', 'request_id'],
      additionalProperties: false,
    },
  },
  required: ['error'],
  additionalProperties: false,
}

const HEADERS = {
  'X-Request-Id': header('string', 'Equal to request_id; a caller may choose it, 8 to 64 of A-Z a-z 0-9 _ and -.'),
  'X-RateLimit-Limit': header('integer', 'Requests that the organization may make in any one second.'),
  'X-RateLimit-Remaining': header('integer', 'How many of them are left.'),
  'X-RateLimit-Reset': header('integer', 'Unix second at which the next one is free.'),
  'X-Credits-Charged': header('integer', 'What this answer cost; 0 unless it is a success.'),
  'X-Credits-Remaining': header('integer', 'Balance of the organization after it.'),
  'X-As-Of': header('string', 'Blocks that were read: chain_id:block_number, comma-separated.'),
  'Retry-After': header('integer', 'Seconds to wait before trying again.'),
  Allow: header('string', 'Methods of the path, comma-separated.'),
  'Accept-Encoding': header('string', 'Always `identity`: bodies are sent as they are.'),
  'WWW-Authenticate': header('string', 'Always `Bearer`.'),
}

/** Further headers of some failures. */
const HEADERS_BY_STATUS: Readonly<Record<string, readonly string[]>> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  415: ['Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After'],
}

const ACCOUNT_HEADERS: readonly string[] = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Credits-Charged',
  'X-Credits-Remaining',
]

function header(type: string, description: string): unknown {
  return { description, schema: { type } }
}

function headerRefs(names: readonly string[]): unknown {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function order(a: Route, b: Route): number {
  const [left, right] = [`${a.path} ${a.method}`, `${b.path} ${b.method}`]
  return left < right ? -1 : left > right ? 1 : 0
}
