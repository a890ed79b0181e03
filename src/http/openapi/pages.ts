import type { JsonSchema } from './json_schema.ts'
import { type Failing, failureRef } from './responses.ts'

const REQUEST_ID = { type: 'string' }
const REQUEST_ID_HEADER = { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } }
const RETRY_AFTER_HEADER = { 'Retry-After': { $ref: '#/components/headers/Retry-After' } }

const READINESS = {
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['ready', 'draining', 'not_ready'] },
    database: { type: 'boolean' },
    chains: { type: 'object', additionalProperties: { type: 'boolean' }, description: 'By chain id.' },
    history: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: {
          stopped: { type: 'boolean', description: 'A block was replaced that had been final.' },
          percent: {
            type: ['integer', 'null'],
            minimum: 0,
            maximum: 100,
            description: 'Of the history of everybody; null if nobody needed it.',
          },
        },
        required: ['stopped', 'percent'],
        additionalProperties: false,
      },
      description: 'By chain id, where history is stored. Readiness does not depend on it.',
    },
    request_id: REQUEST_ID,
  },
  required: ['status', 'database', 'chains', 'history', 'request_id'],
  additionalProperties: false,
}

const ALIVE = {
  type: 'object',
  properties: { status: { const: 'alive' }, request_id: REQUEST_ID },
  required: ['status', 'request_id'],
  additionalProperties: false,
}

/** Refusals of a page, which needs no key: the request cannot be read, has another method, or too large a head. */
export const PAGE_FAILURES: readonly Failing[] = [
  { status: 400, codes: ['INVALID_REQUEST'] },
  { status: 405, codes: ['INVALID_REQUEST'] },
  { status: 431, codes: [] },
]
const REFUSED = Object.fromEntries(PAGE_FAILURES.map((failing) => [failing.status, failureRef(failing)]))

/** Pages that need no key, by path, without the operator's. */
export const PUBLIC_PAGE_PATHS: Readonly<Record<string, unknown>> = {
  '/docs': page('get_docs', 'This document as a page for people.', {
    200: {
      description: 'The page.',
      headers: REQUEST_ID_HEADER,
      content: { 'text/html': { schema: { type: 'string' } } },
    },
  }),
  '/formulas': page('get_formulas', 'How every figure is calculated, as a page for people.', {
    200: {
      description: 'The page.',
      headers: REQUEST_ID_HEADER,
      content: { 'text/html': { schema: { type: 'string' } } },
    },
  }),
  '/healthz': page('get_healthz', 'Says that the process lives.', { 200: answered('It lives.', ALIVE) }),
  '/openapi.json': page('get_openapi_json', 'This document.', {
    200: answered('The document.', { type: 'object' }),
  }),
}

/** The same with the operator's pages, which may have a port of their own. */
export const PAGE_PATHS: Readonly<Record<string, unknown>> = {
  ...PUBLIC_PAGE_PATHS,
  '/metrics': page('get_metrics', 'Metrics in the text format of Prometheus.', {
    200: {
      description: 'The metrics.',
      headers: REQUEST_ID_HEADER,
      content: { 'text/plain': { schema: { type: 'string' } } },
    },
  }),
  '/readyz': page('get_readyz', 'Says whether the database and at least one chain answer.', {
    200: answered('Ready.', READINESS),
    503: {
      ...answered('Not ready, or about to stop.', READINESS),
      headers: { ...REQUEST_ID_HEADER, ...RETRY_AFTER_HEADER },
    },
  }),
}

function page(operationId: string, summary: string, responses: Readonly<Record<number, unknown>>): unknown {
  return { get: { operationId, summary, tags: ['operation'], security: [], responses: { ...responses, ...REFUSED } } }
}

function answered(description: string, schema: JsonSchema) {
  return { description, headers: REQUEST_ID_HEADER, content: { 'application/json': { schema } } }
}
