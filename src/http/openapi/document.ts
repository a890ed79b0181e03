import { priceSentence } from '../route/charge.ts'
import { takesReceipt } from '../route/receipt.ts'
import type { Route } from '../route/route.ts'
import { braced } from '../route/route_table.ts'
import { codesOf } from './codes.ts'
import { ACCOUNT_HEADERS, HEADERS, headerRefs, IDEMPOTENCY_KEY_PARAMETER, ownHeaders } from './headers.ts'
import { type JsonSchema, jsonSchema } from './json_schema.ts'
import { askedOf, documentText, pathsOf, withReceipt, withRequestId } from './operation.ts'
import { PAGE_FAILURES, PAGE_PATHS, PUBLIC_PAGE_PATHS } from './pages.ts'
import { ERROR_SCHEMA, type Failing, failureRef, responseComponents } from './responses.ts'

/** Version of the interface description; that of the interface is the path's `/v1`. */
export const DOCUMENT_VERSION = '1.0.0'
const DESCRIPTION = [
  'On-chain positions of a wallet: what it holds, earns, owes and risks.',
  '[How every figure is calculated](formulas).',
  'HEAD is answered wherever GET is, at the same price and with the same headers, without a body.',
  'OPTIONS is answered with 204 and the methods of the path in `Allow`, free and without a key.',
  'Any other method gets 405 with the same header.',
  'Parameters and fields that an operation does not list are refused.',
].join(' ')

/**
 * The OpenAPI 3.1 document of the routes, as text: parameters, bodies and answers are described by the very schemas
 * that check them. The same routes give the same text.
 */
export function openapiDocument(options: {
  readonly routes: readonly Route[]
  /** Real answers by operation: `GET /v1/usage/logs`. */
  readonly examples?: Readonly<Record<string, unknown>>
  readonly publicUrl?: string | undefined
  /** Names of the chains that are served, by id. */
  readonly chains?: Readonly<Record<string, string>>
  /** True if the operator's pages are served elsewhere. @default false */
  readonly operatorApart?: boolean
}): string {
  const key = ({ path, method }: Route) => `${path} ${method}`
  const ordered = options.routes.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
  const routePaths = pathsOf(ordered, (route) => operation(route, options.examples))
  const info = { title: 'walletscope', version: DOCUMENT_VERSION, description: DESCRIPTION }
  const rest = {
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
      responses: responseComponents([...PAGE_FAILURES, ...ordered.flatMap(failuresOf)]),
    },
  }
  return documentText({ info, rest })
}

function operation(route: Route, examples: Readonly<Record<string, unknown>> = {}): unknown {
  const path = braced(route.path)
  const price = priceSentence(route.charge)
  return {
    operationId: operationId(route),
    summary: route.summary,
    description: route.description,
    tags: [path.split('/')[2] ?? 'other'],
    'x-credits': price,
    'x-charge': route.charge,
    ...withIdempotencyKey(askedOf(route)),
    responses: {
      200: {
        description: `Answered. Credits: ${price}`,
        headers: {
          ...headerRefs(route.asOf === false ? ACCOUNT_HEADERS : [...ACCOUNT_HEADERS, 'X-As-Of']),
          ...headerRefs(['Idempotency-Replayed']),
          ...ownHeaders(route.headers),
        },
        content: {
          'application/json': {
            schema: withRequestId(bodyOf(route)),
            example: examples[`${route.method} ${path}`],
          },
        },
      },
      ...Object.fromEntries(failuresOf(route).map((failing) => [failing.status, failureRef(failing)])),
    },
  }
}

function withIdempotencyKey(asked: ReturnType<typeof askedOf>): Readonly<Record<string, unknown>> {
  return { ...asked, parameters: [...asked.parameters, IDEMPOTENCY_KEY_PARAMETER] }
}

function bodyOf({ input, output }: Route): JsonSchema {
  const body = jsonSchema(output)
  return takesReceipt(input) ? withReceipt(body) : body
}

function failuresOf(route: Route): readonly Failing[] {
  return [...codesOf(route)].map(([status, codes]) => ({ status, codes }))
}

/** Name of an operation: `get_positions_uniswap_v3_by_id`. */
function operationId({ method, path }: Route): string {
  const words = braced(path)
    .split('/')
    .slice(2)
    .map((segment) => segment.replace(/^\{(.*)\}$/, 'by_$1'))
  return [method.toLowerCase(), ...words].join('_').replace(/[^a-z0-9]+/gi, '_')
}
