import { closedObject, type JsonSchema } from '../route/json_schema.ts'
import { headerRefs } from './headers.ts'
import { type Failing, failureRef } from './responses.ts'

const REQUEST_ID = { type: 'string' }

const PLACES = { type: 'array', items: { type: 'integer', minimum: 1 } }

const READINESS = closedObject({
  status: { type: 'string', enum: ['ready', 'draining', 'not_ready'] },
  reasons: {
    type: 'array',
    items: closedObject({
      part: { type: 'string', description: '`process`, `database`, `chain 1`, or `triggers of chain 1`.' },
      reason: { type: 'string', description: 'For people.' },
    }),
    description: 'What does not answer, even if readiness does not depend on it, as on one chain of several.',
  },
  database: { type: 'boolean' },
  chains: { type: 'object', additionalProperties: { type: 'boolean' }, description: 'By chain id.' },
  history: {
    type: 'object',
    additionalProperties: closedObject({
      stopped: { type: 'boolean', description: 'A block was replaced that had been final.' },
      percent: {
        type: ['integer', 'null'],
        minimum: 0,
        maximum: 100,
        description: 'Of the history of everybody; null if nobody needed it.',
      },
      trouble: { type: ['string', 'null'], description: 'Why it cannot go on; null if it can.' },
    }),
    description: 'By chain id, where history is stored. Readiness does not depend on it.',
  },
  quorum: {
    type: 'object',
    additionalProperties: closedObject({
      contradicted: { ...PLACES, description: 'They gave other bytes than others.' },
      absent: { ...PLACES, description: 'They gave none when too few others did.' },
    }),
    description:
      'By chain id, where several endpoints must give the same bytes: those that did not within the last ten minutes, ' +
      'by their place in the configuration, from 1.',
  },
  triggers: {
    type: 'array',
    items: closedObject({
      chain_id: { type: 'integer' },
      finality: { type: 'string' },
      holder: { type: ['string', 'null'], description: 'The process that evaluates them; null if none does.' },
      block: { type: ['integer', 'null'], description: 'Where they were evaluated last; null if nowhere yet.' },
      age_sec: { type: ['integer', 'null'], description: 'How long ago that was.' },
      blind_since: {
        type: ['string', 'null'],
        description: 'Since when some are not evaluated, once that was told; ISO 8601.',
      },
    }),
    description: 'How far triggers are evaluated, by whichever process. Readiness does not depend on it.',
  },
  solana: {
    type: 'array',
    items: closedObject({
      lists_token_accounts: { type: ['boolean', 'null'], description: 'Positions of a wallet are found by them.' },
      searches_programs: {
        type: ['boolean', 'null'],
        description: 'Without one that does, some obligations are missed.',
      },
    }),
    description: 'What endpoints of Solana offer, in the order of the configuration; null: not asked lately.',
  },
  standby: {
    anyOf: [
      closedObject({
        answers: { type: 'boolean' },
        lag_bytes: { type: ['number', 'null'], description: 'What it has yet to replay; null if it does not answer.' },
        lag_seconds: {
          type: ['number', 'null'],
          description: 'Since the last change that it has replayed; 0 if it has replayed all.',
        },
      }),
      { type: 'null' },
    ],
    description:
      'The standby of `DATABASE_READ_URL`. Readiness does not depend on it: if it is away, the primary reads.',
  },
  request_id: REQUEST_ID,
})

const ALIVE = closedObject({ status: { const: 'alive' }, request_id: REQUEST_ID })

/** Refusals of a page, which needs no key: the request cannot be read, has another method, or too large a head. */
export const PAGE_FAILURES: readonly Failing[] = [
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
