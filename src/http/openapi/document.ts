import { priceSentence } from '../route/charge.ts'
import { isList } from '../route/csv.ts'
import { createJsonSchema, type JsonSchema } from '../route/json_schema.ts'
import { supportsReceipt } from '../route/receipt.ts'
import type { Route } from '../route/route.ts'
import { toBracedTemplate } from '../route/route_table.ts'
import { getErrorCodes } from './codes.ts'
import { type Example, getFamilyParameters } from './example.ts'
import {
  ACCOUNT_HEADERS,
  csvHeaders,
  FORMAT_PARAMETER,
  HEADERS,
  headerRefs,
  IDEMPOTENCY_KEY_PARAMETER,
  ownHeaders,
} from './headers.ts'
import { introductionText } from './introduction.ts'
import { documentText, toParametersAndBody, toPathItems, withReceipt, withRequestId } from './operation.ts'
import { operationId } from './operation_id.ts'
import { PAGE_FAILURES, PAGE_PATHS, PUBLIC_PAGE_PATHS } from './pages.ts'
import { ERROR_SCHEMA, type FailureResponse, failureRef, responseComponents } from './responses.ts'

/** Version of the description; the version of the interface is the path's `/v1`. */
const DOCUMENT_VERSION = '1.0.0'
/** Placeholder for the address of a service without a configured one; `withServerUrl` replaces it. */
const UNKNOWN_URL = 'http://address.invalid'
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
  const routePaths = toPathItems(ordered, (route) => toOperation(route, options.examples))
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
      schemas: { Error: ERROR_SCHEMA },
      responses: responseComponents([...PAGE_FAILURES, ...ordered.flatMap(listFailures)]),
    },
  }
  return documentText({ info, sections })
}

/** Inserts the address `url`, `http://localhost:8080`; returns the document itself if an address is configured. */
export function withServerUrl(url: string, document: string): string {
  return document.replaceAll(UNKNOWN_URL, url)
}

function toOperation(route: Route, examples: Readonly<Record<string, Example>> = {}): unknown {
  const path = toBracedTemplate(route.path)
  const example = examples[`${route.method} ${path}`]
  const body = toBodySchema(route)
  const price = priceSentence(route.charge)
  const inputs = toParametersAndBody({ ...route, example, familyValues: getFamilyParameters(path, examples) })
  return {
    operationId: operationId(route, body),
    summary: route.summary,
    description: route.description,
    tags: [path.split('/')[2] ?? 'other'],
    'x-credits': price,
    'x-charge': route.charge,
    ...inputs,
    parameters: [...inputs.parameters, ...(isList(route) ? [FORMAT_PARAMETER] : []), IDEMPOTENCY_KEY_PARAMETER],
    responses: {
      200: {
        description: `Success. Credits: ${price}`,
        headers: {
          ...headerRefs(route.asOf === false ? ACCOUNT_HEADERS : [...ACCOUNT_HEADERS, 'X-As-Of', 'X-Unwitnessed']),
          ...headerRefs(['Idempotency-Replayed']),
          ...headerRefs(isList(route) ? csvHeaders(body) : []),
          ...ownHeaders(route.headers),
        },
        content: {
          'application/json': {
            schema: withRequestId(body),
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
  const body = createJsonSchema(output)
  return supportsReceipt(input) ? withReceipt(body) : body
}

function listFailures(route: Route): readonly FailureResponse[] {
  return [...getErrorCodes(route)].map(([status, codes]) => ({ status, codes }))
}
