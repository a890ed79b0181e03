import { closedObject, type JsonSchema } from '../route/json_schema.ts'
import { headerRefs } from './headers.ts'
import { READINESS } from './readiness.ts'
import { type FailureResponse, failureRef } from './responses.ts'

const REQUEST_ID = { type: 'string' }

const ALIVE = closedObject({ status: { const: 'alive' }, request_id: REQUEST_ID })

/** Refusals of a page, which requires no key: an invalid request, another method, or too large a head. */
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

/** Pages without a key, by path, except the operator's. */
export const PUBLIC_PAGE_PATHS: Readonly<Record<string, unknown>> = {
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
export const PAGE_PATHS: Readonly<Record<string, unknown>> = {
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
