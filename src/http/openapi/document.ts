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

/** Version of the interface description; that of the interface is the path's `/v1`. */
export const DOCUMENT_VERSION = '1.0.0'
/** Stands for the address of a service whose operator has not said it, until `withServerUrl`. */
const UNKNOWN_URL = 'http://address.invalid'
/** The first request of the introduction, if it has an example. */
const FIRST = 'GET /v1/portfolio/balance'

/**
 * The OpenAPI 3.1 document of the routes, as text: parameters, bodies and answers are described by the very schemas
 * that check them. The same routes give the same text.
 */
export function openapiDocument(options: {
  readonly routes: readonly Route[]
  /** Real requests and answers by operation: `GET /v1/usage/logs`. */
  readonly examples?: Readonly<Record<string, Example>>
  readonly publicUrl?: string | undefined
  /** Names of the chains that are served, by id. */
  readonly chains?: Readonly<Record<string, string>>
  /** Sites that show what is on them, by id. */
  readonly explorers?: Readonly<Record<string, string>>
  /** True if the operator's pages are served elsewhere. @default false */
  readonly operatorApart?: boolean
}): string {
  const key = ({ path, method }: Route) => `${path} ${method}`
  const ordered = options.routes.toSorted((a, b) => (key(a) < key(b) ? -1 : 1))
  const routePaths = toPathItems(ordered, (route) => operation(route, options.examples))
  const { publicUrl, examples = {} } = options
  const baseUrl = (publicUrl ?? UNKNOWN_URL).replace(/\/+$/, '')
  const description = introductionText({ baseUrl, first: examples[FIRST]?.target ?? '/v1/usage/logs' })
  const info = { title: 'walletscope', version: DOCUMENT_VERSION, description }
  const rest = {
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
      responses: responseComponents([...PAGE_FAILURES, ...ordered.flatMap(failuresOf)]),
    },
  }
  return documentText({ info, rest })
}

/** The document as it is at `url`, `http://localhost:8080`; the document itself if the operator has said where it is. */
export function withServerUrl(url: string, document: string): string {
  return document.replaceAll(UNKNOWN_URL, url)
}

function operation(route: Route, examples: Readonly<Record<string, Example>> = {}): unknown {
  const path = toBracedTemplate(route.path)
  const example = examples[`${route.method} ${path}`]
  const body = bodyOf(route)
  const price = priceSentence(route.charge)
  const asked = toParametersAndBody({ ...route, example, near: getFamilyParameters(path, examples) })
  return {
    operationId: operationId(route, body),
    summary: route.summary,
    description: route.description,
    tags: [path.split('/')[2] ?? 'other'],
    'x-credits': price,
    'x-charge': route.charge,
    ...asked,
    parameters: [...asked.parameters, ...(isList(route) ? [FORMAT_PARAMETER] : []), IDEMPOTENCY_KEY_PARAMETER],
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
            schema: withRequestId(body),
            example: example?.answer,
          },
        },
      },
      ...Object.fromEntries(failuresOf(route).map((failing) => [failing.status, failureRef(failing)])),
    },
  }
}

function bodyOf({ input, output }: Route): JsonSchema {
  const body = createJsonSchema(output)
  return supportsReceipt(input) ? withReceipt(body) : body
}

function failuresOf(route: Route): readonly FailureResponse[] {
  return [...getErrorCodes(route)].map(([status, codes]) => ({ status, codes }))
}
