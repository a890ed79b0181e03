import { ERROR_CODES, type ErrorCode } from '../../lib/error.ts'
import { closedObject } from '../route/json_schema.ts'
import { ACCOUNT_HEADERS, headerRefs } from './headers.ts'

/** A failure: its status, and the codes that its body may have. Without codes it has no body. */
export interface FailureResponse {
  readonly status: number
  readonly codes: readonly ErrorCode[]
}

/** References the description of a failure in `responseComponents`. */
export function failureRef(failing: FailureResponse): { readonly $ref: string } {
  return { $ref: `#/components/responses/${toComponentName(failing)}` }
}

/** Returns the descriptions of failures by name, each once, in order. */
export function responseComponents(failures: readonly FailureResponse[]): Readonly<Record<string, unknown>> {
  const named = new Map(failures.map((failing) => [toComponentName(failing), toResponse(failing)]))
  return Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Schema of a request's id in every body. */
export const REQUEST_ID = { type: 'string', description: 'Names the request in logs; also the header X-Request-Id' }

/** Schema of every error's body. */
export const ERROR_SCHEMA = closedObject({
  error: {
    ...closedObject({
      code: { type: 'string', enum: ERROR_CODES, description: 'For programs: what to do about it' },
      message: { type: 'string', description: 'For people: what is wrong and what to change' },
      request_id: REQUEST_ID,
    }),
    description: 'Why nothing was answered',
  },
})

/** What every code of an error means. */
export const CODE_DESCRIPTIONS: Readonly<Record<ErrorCode, string>> = {
  MISSING_PARAMETER: 'A required parameter is missing.',
  INVALID_PARAMETER: 'A parameter or a field of the body is wrong; the message says what is expected.',
  INVALID_REQUEST: 'The request cannot be read.',
  INVALID_API_KEY: 'The key is missing, malformed, unknown, revoked or expired, or does not work from this network.',
  INSUFFICIENT_CREDITS:
    'The balance, or what the key may spend today, cannot pay for the answer, or for one entry of a list that is not read yet. Nothing is charged.',
  ACCOUNT_SUSPENDED: 'The organization is suspended.',
  ENDPOINT_DISABLED: 'The operator has switched the endpoint off, or the key may not call it.',
  FEATURE_DISABLED: 'The operator has switched the feature off.',
  NOT_FOUND: 'Not found.',
  ORGANIZATION_NOT_FOUND: 'The organization has been deleted.',
  RATE_LIMIT_EXCEEDED: 'The organization has used up its requests of this second.',
  INTERNAL_ERROR: 'The service failed.',
  API_ENDPOINT_NOT_CONFIGURED: 'No endpoint is configured for its chain.',
  UPSTREAM_ERROR: 'An upstream answer is unusable. Try again after a short wait.',
  SERVICE_UNAVAILABLE: 'The service, a chain or its database cannot answer now. Try again after the given wait.',
  GATEWAY_TIMEOUT: 'An upstream took too long. Try again with less.',
}

/** Descriptions of statuses that share the code INVALID_REQUEST, and of 431, which has no code. */
export const DESCRIPTIONS_BY_STATUS: Readonly<Record<number, string>> = {
  405: 'The path has other methods, which `Allow` lists.',
  408: 'The body did not arrive in time.',
  409: 'The first request with this `Idempotency-Key` is still under way.',
  413: 'The body is larger than 256 KiB.',
  415: 'The body is encoded.',
  422: 'Another request used this `Idempotency-Key`, or the answer to it was charged and is too large to be sent again.',
  431: 'The head of the request is too large. The answer has no body.',
}

const HEADERS_BY_STATUS: Readonly<Record<number, readonly string[]>> = {
  400: ['X-Error-Param'],
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  409: ['Retry-After'],
  415: ['Accept-Encoding'],
  429: ['Retry-After'],
  503: ['Retry-After', 'X-Progress'],
}

function toComponentName({ status, codes }: FailureResponse): string {
  return [`Error${status}`, ...codes].join('_')
}

function toResponse({ status, codes }: FailureResponse): unknown {
  const description = DESCRIPTIONS_BY_STATUS[status] ?? codes.map((code) => CODE_DESCRIPTIONS[code]).join(' ')
  if (codes.length === 0) return { description }
  const account = status === 401 ? ['X-Request-Id'] : ACCOUNT_HEADERS
  return {
    description,
    headers: headerRefs([...account, ...(HEADERS_BY_STATUS[status] ?? []), 'Link']),
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Error' },
            { type: 'object', properties: { error: { type: 'object', properties: { code: { enum: codes } } } } },
          ],
        },
      },
    },
  }
}
