import { closedObject, type JsonSchema } from '../route/json_schema.ts'
import { headerRefs } from './headers.ts'
import { READINESS } from './readiness.ts'
import { type FailureResponse, failureRef } from './responses.ts'

const REQUEST_ID = { type: 'string' }

const ALIVE = closedObject({ status: { const: 'alive' }, request_id: REQUEST_ID })

/** Refusals of a page, which needs no key: the request cannot be read, has another method, or too large a head. */
export const PAGE_FAILURES: readonly FailureResponse[] = [
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
      items: {
        type: 'object',
        properties: {
          ...Object.fromEntries(['kty', 'crv', 'use', 'alg', 'x', 'kid'].map((name) => [name, { type: 'string' }])),
          iat: { type: 'integer', description: 'When it began to sign, Unix seconds.' },
          exp: { type: 'integer', description: 'When it was retired; absent while it signs.' },
        },
        required: ['kty', 'crv', 'x', 'kid', 'iat'],
      },
    },
  },
  required: ['keys'],
}

/** Pages that need no key, by path, without the operator's. */
export const PUBLIC_PAGE_PATHS: Readonly<Record<string, unknown>> = {
  '/.well-known/walletscope-keys.json': page('getReceiptKeys', 'Every public key that ever signed receipts, as JWK.', {
    200: answered('The keys.', KEYS),
  }),
  '/docs': page('getDocs', 'How to call the API, and every operation, as a page for people.', {
    200: answered('The page.', { type: 'string' }, 'text/html'),
  }),
  '/formulas': page('getFormulas', 'How every figure is calculated, as a page for people.', {
    200: answered('The page.', { type: 'string' }, 'text/html'),
  }),
  '/healthz': page('getHealth', 'Says that the process lives.', { 200: answered('It lives.', ALIVE) }),
  '/openapi.json': page('getOpenapi', 'This document.', {
    200: answered('The document.', { type: 'object' }),
  }),
}

/** The same with the operator's pages, which may have a port of their own. */
export const PAGE_PATHS: Readonly<Record<string, unknown>> = {
  ...PUBLIC_PAGE_PATHS,
  '/metrics': page('getMetrics', 'Metrics in the text format of Prometheus.', {
    200: answered('The metrics.', { type: 'string' }, 'text/plain'),
  }),
  '/readyz': page('getReadiness', 'Says whether the database and at least one chain answer.', {
    200: answered('Ready.', READINESS),
    503: {
      ...answered('Not ready, or about to stop.', READINESS),
      headers: headerRefs(['X-Request-Id', 'Retry-After']),
    },
  }),
}

function page(operationId: string, summary: string, responses: Readonly<Record<number, unknown>>): unknown {
  return { get: { operationId, summary, tags: ['operation'], security: [], responses: { ...responses, ...REFUSED } } }
}

function answered(description: string, schema: JsonSchema, type = 'application/json') {
  return { description, headers: headerRefs(['X-Request-Id']), content: { [type]: { schema } } }
}
