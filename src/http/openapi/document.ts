import type { ErrorCode } from '../../lib/error.ts'
import { takesNames } from '../exchange/names.ts'
import { priceSentence } from '../route/charge.ts'
import { hasWholeTable, isList } from '../route/csv.ts'
import { takesCursor } from '../route/cursor.ts'
import { closedObject, createJsonSchema, getFieldSchemas, type JsonSchema } from '../route/json_schema.ts'
import { supportsReceipt } from '../route/receipt.ts'
import type { Route } from '../route/route.ts'
import { toBracedTemplate } from '../route/route_table.ts'
import { type Components, createComponents } from './components.ts'
import { addCurrencyPatterns } from './currency.ts'
import { type Example, getFamilyParameters } from './example.ts'
import { linkFigures } from './figures.ts'
import {
  ACCOUNT_HEADERS,
  CURSOR_PARAMETER,
  createFormatParameter,
  csvHeaders,
  HEADERS,
  headerRefs,
  IDEMPOTENCY_KEY_PARAMETER,
  ownHeaders,
} from './headers.ts'
import { documentText, toParametersAndBody, toPathItems, withReceipt, withRequestId } from './operation.ts'
import { READINESS } from './readiness.ts'
import { ERROR_SCHEMA, type FailureResponse, failureRef, REQUEST_ID, responseComponents } from './responses.ts'

/** Version of the description; the version of the interface is the path's `/v1`. */
const DOCUMENT_VERSION = '1.0.0'
/** Placeholder for the address of a service without a configured one; `withServerUrl` replaces it. */
const UNKNOWN_URL = 'http://address.invalid'
/** Parameter of routes that tell dollars in a currency too. */
const CURRENCY = 'currency'
/** The first request of the introduction, if it has an example. */
const FIRST = 'GET /v1/portfolio/balance'

/**
 * Writes the OpenAPI 3.1 document of the routes: the schemas that check parameters, bodies and answers also describe
 * them. The same routes give the same text.
 */
export function openapiDocument(options: {
  readonly routes: readonly Route[]
  /** Real requests and answers by operation: `GET /v1/usage/logs`. */
  readonly examples?: Readonly<Record<string, Example>>
  readonly publicUrl?: string | undefined
  /** Names of the served chains by id. */
  readonly chains?: Readonly<Record<string, string>>
  /** Block explorers by chain id. */
  readonly explorers?: Readonly<Record<string, string>>
  /** True if the operator's pages have a port of their own. @default false */
  readonly operatorApart?: boolean
}): string {
  const key = ({ path, method }: Route) => `${path} ${method}`
  const ordered = options.routes.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
  const components = createComponents()
  const routePaths = toPathItems(ordered, (route) => toOperation(route, { components, examples: options.examples }))
  const { publicUrl, examples = {} } = options
  const baseUrl = (publicUrl ?? UNKNOWN_URL).replace(/\/+$/, '')
  const description = introductionText({ baseUrl, first: examples[FIRST]?.target ?? '/v1/usage/logs' })
  const info = { title: 'walletscope', version: DOCUMENT_VERSION, description }
  const sections = {
    servers: [{ url: publicUrl ?? '/' }],
    security: [{ apiKey: [] }],
    'x-chains': options.chains ?? {},
    'x-explorers': options.explorers ?? {},
    paths: { ...routePaths, ...(options.operatorApart ? PUBLIC_PAGE_PATHS : PAGE_PATHS) },
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key of the organization that pays.' },
      },
      headers: HEADERS,
      schemas: { Error: ERROR_SCHEMA, ...components.list() },
      responses: responseComponents([...PAGE_FAILURES, ...ordered.flatMap(listFailures)]),
    },
  }
  return documentText({ info, sections })
}

/** Inserts the address `url`, `http://localhost:8080`; returns the document itself if an address is configured. */
export function withServerUrl(url: string, document: string): string {
  return document.replaceAll(UNKNOWN_URL, url)
}

function toOperation(
  route: Route,
  {
    components,
    examples = {},
  }: { readonly components: Components; readonly examples?: Readonly<Record<string, Example>> | undefined },
): unknown {
  const path = toBracedTemplate(route.path)
  const example = examples[`${route.method} ${path}`]
  const body = toBodySchema(route)
  const [, , tag = 'other', family = 'other'] = path.split('/')
  const price = priceSentence(route.charge)
  const described = toParametersAndBody({ ...route, example, familyValues: getFamilyParameters(path, examples) })
  const inputs = components.extract(described)
  return {
    operationId: operationId(route, body),
    summary: route.summary,
    description: route.description,
    tags: [tag],
    'x-credits': price,
    'x-charge': route.charge,
    ...inputs,
    parameters: [
      ...inputs.parameters,
      ...(takesCursor(route) ? [CURSOR_PARAMETER] : []),
      ...(isList(route) ? [createFormatParameter(hasWholeTable(route))] : []),
      IDEMPOTENCY_KEY_PARAMETER,
    ],
    responses: {
      200: {
        description: `Success. Credits: ${price}`,
        headers: {
          ...headerRefs(route.asOf === false ? ACCOUNT_HEADERS : [...ACCOUNT_HEADERS, 'X-As-Of', 'X-Unwitnessed']),
          ...headerRefs(route.method === 'GET' ? ['ETag'] : []),
          ...headerRefs(['Idempotency-Replayed', ...(takesNames(route) ? ['X-Wallet'] : [])]),
          ...headerRefs(isList(route) ? csvHeaders(body) : []),
          ...ownHeaders(route.headers),
        },
        content: {
          'application/json': {
            schema: components.extract(withRequestId(linkFigures(body, family))),
            example: example?.answer,
          },
          ...(isList(route) ? { 'text/csv': { schema: { type: 'string' } } } : {}),
        },
      },
      ...Object.fromEntries(listFailures(route).map((failing) => [failing.status, failureRef(failing)])),
    },
  }
}

function toBodySchema({ input, output }: Route): JsonSchema {
  const currency = getFieldSchemas(input).find(({ name }) => name === CURRENCY)
  const currencies = (currency?.schema['enum'] ?? []) as readonly string[]
  const dollars = createJsonSchema(output)
  const body = currencies.length === 0 ? dollars : addCurrencyPatterns(dollars, currencies)
  return supportsReceipt(input) ? withReceipt(body) : body
}

function listFailures(route: Route): readonly FailureResponse[] {
  return [...getErrorCodes(route)].map(([status, codes]) => ({ status, codes }))
}

/**
 * Returns the codes of each status, ascending: exactly the failures that a route can answer. Excludes 405 (answered by
 * the router) and 431 (answered by the runtime without a body): generated clients would otherwise treat the body of
 * every failure as optional.
 */
export function getErrorCodes(route: Route): ReadonlyMap<number, readonly ErrorCode[]> {
  const fields = [...getFieldSchemas(route.input), ...getFieldSchemas(route.body)]
  const errors = route.errors ?? []
  const mayMiss = fields.some(({ required }) => required) || errors.includes('MISSING_PARAMETER')
  const mayLackChain = route.asOf !== false || errors.includes('API_ENDPOINT_NOT_CONFIGURED')
  const codes: readonly (readonly [status: number, codes: readonly ErrorCode[]])[] = [
    // A route without parameters also refuses unknown parameters and a malformed Idempotency-Key.
    [400, ['INVALID_REQUEST', 'INVALID_PARAMETER', ...codesIf('MISSING_PARAMETER', mayMiss)]],
    [401, ['INVALID_API_KEY']],
    [402, ['INSUFFICIENT_CREDITS']],
    [403, ['ACCOUNT_SUSPENDED', 'ENDPOINT_DISABLED', ...codesIf('FEATURE_DISABLED', route.feature !== undefined)]],
    [404, [...codesIf('NOT_FOUND', errors.includes(404) || takesNames(route)), 'ORGANIZATION_NOT_FOUND']],
    // Every route accepts an Idempotency-Key: 409 and 422 are its refusals.
    ...(route.body === undefined ? [409, 422] : [408, 409, 413, 415, 422]).map(
      (status) => [status, ['INVALID_REQUEST']] as const,
    ),
    [429, ['RATE_LIMIT_EXCEEDED']],
    [500, [...codesIf('API_ENDPOINT_NOT_CONFIGURED', mayLackChain), 'INTERNAL_ERROR']],
    ...(errors.includes(502) ? [[502, ['UPSTREAM_ERROR']] as const] : []),
    [503, ['SERVICE_UNAVAILABLE']],
    ...(errors.includes(504) ? [[504, ['GATEWAY_TIMEOUT']] as const] : []),
  ]
  return new Map(codes)
}

function codesIf(code: ErrorCode, applies: boolean): readonly ErrorCode[] {
  return applies ? [code] : []
}

/** Writes the introduction of the document, in Markdown. */
function introductionText({
  baseUrl,
  first,
}: {
  /** Address of the service, without a slash at the end. */
  readonly baseUrl: string
  /** Path and query of the first example request. */
  readonly first: string
}): string {
  return `On-chain positions of a wallet: what it holds, earns, owes and risks. [How every figure is calculated](formulas).

- **Key**: every call carries \`Authorization: Bearer ws_sk_…\`; \`walletscope key create\` and the page Usage create keys.
- **First call**: \`curl -H "Authorization: Bearer $KEY" "${baseUrl}${first}"\`
- **Price**: each operation says its own in credits; only a 2xx is charged, \`X-Credits-Charged\` and \`X-Credits-Remaining\` tell how much.
- **Errors**: \`{ "error": { "code", "message", "request_id" } }\`; the message says what to change. Parameters and fields that an operation does not list are refused.
- **Retry** 429 and 503 after \`Retry-After\`, 502 and 504 after a short wait, nothing else. With an \`Idempotency-Key\` a repeated call is charged once.
- **Pages**: \`page\` and \`limit\` (at most 25); follow \`pagination.next_page\` until it is null, or \`Link: rel="next"\`, whose \`cursor\` keeps the whole list at the blocks of its first page. Lists are tables too, whole without a page: \`format=csv\`.
- **Past**: \`at_block\` or \`at_time\` answers as of then, on EVM chains; \`X-As-Of\` says which blocks were read.
- **Again**: with the \`ETag\` of an answer in \`If-None-Match\`, a GET is answered with 304, without a body and free, as long as its blocks and figures are the same.
- **Figures** are decimal text, never floats. Bodies above 1 kB are compressed with zstd or gzip if the client accepts it.
- **Clients**: \`walletscope openapi --client\` prints a typed one; generators take this document. **Agents** call the same at \`/mcp\`.
- HEAD is answered wherever GET is, at the same price, without a body. OPTIONS is answered with 204 and the methods of the path in \`Allow\`, free and without a key; any other method gets 405. A head of more than 16 kB gets 431 without a body.
`
}

/** Last word in the names of operations that answer for many wallets. */
const BATCH = 'batch'

/** Verbs of operations on one of several things, by method, and of those on all of them. */
const VERBS: Readonly<Record<string, string>> = { GET: 'get', PATCH: 'update', DELETE: 'delete' }
const LIST_VERBS: Readonly<Record<string, string>> = { GET: 'list', POST: 'create' }

/**
 * Names a route's operation, a verb first: from its own name and the kind of its answer, `listAavePositions`,
 * `batchAavePositions`; without a name, and where data changes, from its method and path, `updateTrigger`.
 */
function operationId({ operation, method, path, changes }: Route, body: JsonSchema): string {
  if (operation === undefined || changes === true) return nameByPath(method, path)
  const words = operation.split('_')
  if (words.at(-1) === BATCH) return camel([BATCH, ...words.slice(0, -1), 'positions'])
  const { data } = (body['properties'] ?? {}) as { readonly data?: JsonSchema }
  return camel([data?.['type'] === 'array' ? 'list' : 'get', ...words])
}

/** Names an operation by `/v1/things`, `/v1/things/:id`, or what follows: other things of one, or a verb. */
function nameByPath(method: string, path: string): string {
  const [things = '', id, part] = path.split('/').slice(2)
  const thing = things.replace(/s$/, '')
  if (id === undefined) return camel([LIST_VERBS[method] ?? '', method === 'GET' ? things : thing])
  if (part === undefined) return camel([VERBS[method] ?? '', thing])
  return method === 'GET' ? camel(['list', thing, part]) : camel([part, thing])
}

function camel([first = '', ...others]: readonly string[]): string {
  return [first, ...others.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join('')
}

const ALIVE = closedObject({
  status: { const: 'alive', description: 'Always alive: a process that is not does not answer.' },
  request_id: REQUEST_ID,
})

/** Refusals of a page, which requires no key: an invalid request, another method, or too large a head. */
const PAGE_FAILURES: readonly FailureResponse[] = [
  { status: 400, codes: ['INVALID_REQUEST'] },
  { status: 405, codes: ['INVALID_REQUEST'] },
  { status: 431, codes: [] },
]
const REFUSED = Object.fromEntries(PAGE_FAILURES.map((failing) => [failing.status, failureRef(failing)]))

const KEYS = {
  type: 'object',
  properties: {
    keys: {
      type: 'array',
      description: 'The keys (RFC 7517).',
      items: {
        type: 'object',
        properties: {
          kty: { type: 'string', description: 'Kind of the key: OKP.' },
          crv: { type: 'string', description: 'Its curve: Ed25519.' },
          use: { type: 'string', description: 'What it is for: sig.' },
          alg: { type: 'string', description: 'How it signs: EdDSA.' },
          x: { type: 'string', description: 'The public key, base64url.' },
          kid: { type: 'string', description: 'Its name, which receipts repeat as keyid.' },
          iat: { type: 'integer', description: 'When it began to sign, Unix seconds.' },
          exp: { type: 'integer', description: 'When it was retired; absent while it signs.' },
        },
        required: ['kty', 'crv', 'x', 'kid', 'iat'],
      },
    },
  },
  required: ['keys'],
}

/** Pages without a key, by path, except the operator's. */
const PUBLIC_PAGE_PATHS: Readonly<Record<string, unknown>> = {
  '/.well-known/walletscope-keys.json': toPathItem(
    'getReceiptKeys',
    'Every public key that ever signed receipts, as JWK.',
    {
      200: toResponse('The keys.', KEYS),
    },
  ),
  '/docs': toPathItem('getDocs', 'How to call the API, and every operation, as a page for people.', {
    200: toResponse('The page.', { type: 'string' }, 'text/html'),
  }),
  '/formulas': toPathItem('getFormulas', 'How every figure is calculated, as a page for people.', {
    200: toResponse('The page.', { type: 'string' }, 'text/html'),
  }),
  '/healthz': toPathItem('getHealth', 'Whether the process is alive.', { 200: toResponse('Alive.', ALIVE) }),
  '/openapi.json': toPathItem('getOpenapi', 'This document.', {
    200: toResponse('The document.', { type: 'object' }),
  }),
}

/** Pages without a key, with the operator's, which may have a port of their own. */
const PAGE_PATHS: Readonly<Record<string, unknown>> = {
  ...PUBLIC_PAGE_PATHS,
  '/metrics': toPathItem('getMetrics', 'Metrics in the text format of Prometheus.', {
    200: toResponse('The metrics.', { type: 'string' }, 'text/plain'),
  }),
  '/readyz': toPathItem('getReadiness', 'Whether the database and at least one chain answer.', {
    200: toResponse('Ready.', READINESS),
    503: {
      ...toResponse('Not ready, or about to stop.', READINESS),
      headers: headerRefs(['X-Request-Id', 'Retry-After']),
    },
  }),
}

function toPathItem(operationId: string, summary: string, responses: Readonly<Record<number, unknown>>): unknown {
  return { get: { operationId, summary, tags: ['operation'], security: [], responses: { ...responses, ...REFUSED } } }
}

function toResponse(description: string, schema: JsonSchema, type = 'application/json') {
  return { description, headers: headerRefs(['X-Request-Id']), content: { [type]: { schema } } }
}
