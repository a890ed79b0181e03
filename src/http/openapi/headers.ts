import { IDEMPOTENCY_KEY_LENGTH_MAX, TABLE_PIECE_ROWS, TABLE_ROWS_MAX } from '../limits.ts'
import type { JsonSchema } from '../route/json_schema.ts'
import { toParameterExample } from './example.ts'

/** Headers of answers, for the components of a document. */
export const HEADERS = {
  'X-Request-Id': header('string', 'Equal to request_id; a caller may choose it, 8 to 64 of A-Z a-z 0-9 _ and -.'),
  'X-RateLimit-Limit': header('integer', 'Requests that the organization may make in any one second.'),
  'X-RateLimit-Remaining': header('integer', 'How many of them are left.'),
  'X-RateLimit-Reset': header('integer', 'Unix second at which the next one is free.'),
  'X-Credits-Charged': header(
    'integer',
    `What this answer cost; 0 unless it is a success. Of a whole table, what its first ${TABLE_PIECE_ROWS} rows cost.`,
  ),
  'X-Credits-Remaining': header('integer', 'Balance of the organization after it.'),
  'X-As-Of': header('string', 'Blocks that were read: chain_id:block_number, comma-separated.'),
  ETag: header(
    'string',
    'Tag of this answer at these blocks: with it in `If-None-Match`, the same request gets 304 and costs nothing while nothing has changed.',
  ),
  'X-Unwitnessed': header(
    'string',
    'Only if figures of the past rest on the word of one endpoint: ids of those chains, comma-separated. Nothing showed that its state was that of the block, or it alone says that a deployment did not stand, or gave logs, past prices or midnights; no other endpoint gave the same.',
  ),
  'X-Error-Param': header('string', 'Only if one parameter or field is wrong or missing: its name.'),
  'X-Wallet': header(
    'string',
    'Only if the request named a wallet: `name.eth=0x…`, comma-separated; the answer, its links and its receipt have the address.',
  ),
  'Retry-After': header('integer', 'Seconds to wait before trying again.'),
  'X-Progress': header(
    'string',
    'Only while the answer is being prepared, which continues by itself: `percent=37, left=1234, unit=blocks` (or `days`, `ids`), as far as it is known.',
  ),
  'Idempotency-Replayed': header(
    'string',
    'Always `true`: the request was answered before, and is charged nothing now.',
  ),
  'X-Total-Count': header('integer', 'Only with `format=csv`: entries of the whole list.'),
  Link: header(
    'string',
    'Of errors: what the code means, `<…/docs/errors#…>; rel="help"`. Of lists: where they go on, `<…cursor=…>; rel="next"`, until the end; with `format=csv` and `page` the next and the previous page. A whole table has none: where it ends early its last line, `# …`, says where it goes on.',
  ),
  'X-Coverage': header(
    'string',
    'Only with `format=csv`: `complete`, or `partial` if entries may be missing; JSON says which in `coverage`.',
  ),
  'X-Counts': header('string', 'Only with `format=csv`: `counts` of the JSON, `totalActive=2, total=7`.'),
  'X-Fx': header('string', 'Only with `format=csv` and `currency`: `fx` of the JSON, `currency=EUR, rate=1.0834, …`.'),
  Allow: header('string', 'Methods of the path, comma-separated.'),
  'Accept-Encoding': header('string', 'Always `identity`: bodies are sent as they are.'),
  'WWW-Authenticate': header('string', 'Always `Bearer`.'),
}

/** Creates the parameter of lists; `hasWhole` as `hasWholeTable` says of the route. */
export function createFormatParameter(hasWhole: boolean) {
  const extent = hasWhole
    ? `of the page that \`page\` or \`limit\` names, else of the whole list, at most ${TABLE_ROWS_MAX} rows, each at the price of a row; every ${TABLE_PIECE_ROWS} are charged as they are sent, and a last line that begins with \`#\` says why a table ends early, and where it goes on`
    : 'of the same rows at the same price'
  return {
    name: 'format',
    in: 'query',
    required: false,
    description:
      `How the list is written: \`csv\` (or the header \`Accept: text/csv\`) is a table ${extent}, ` +
      'with `X-Total-Count` and `Link` instead of the pagination.',
    ...toParameterExample('csv', { isRequested: false }),
    schema: { type: 'string', enum: ['json', 'csv'], default: 'json' },
  }
}

/** Parameter of lists that have pages. */
export const CURSOR_PARAMETER = {
  name: 'cursor',
  in: 'query',
  required: false,
  description:
    'In place of `page`: where the list goes on, as the header `Link` of an answer says (`rel="next"`, absent at the end), ' +
    'until there is none. On EVM chains the whole list is then as of the blocks of its first answer. If the list has ' +
    'changed all the same, as where a block was replaced, the answer is 400: begin again.',
  ...toParameterExample('WyI2YTA5ZTY2N2YzYmNjOTA4IiwyLDEyLFtbMSwyMTAwMDAwMCwxNzI5MzA2Nzc1XV0sW11d', {
    isRequested: false,
  }),
  schema: { type: 'string' },
}

/** Header of requests that may be repeated. */
export const IDEMPOTENCY_KEY_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: [
    'Visible ASCII of yours, in quotes with spaces too, that is new for each request, such as a UUID. For 24 hours the same key with the same path, query',
    'and body is answered with the first success again, which is charged once; after a failure it is answered again.',
    'While the first is under way: 409, try again after `Retry-After`. With a different request: 422.',
  ].join(' '),
  ...toParameterExample('9b3f4c52-1a77-4f0e-8d5f-0c6a2f3f7e21', { isRequested: false }),
  schema: {
    type: 'string',
    minLength: 1,
    maxLength: IDEMPOTENCY_KEY_LENGTH_MAX,
    pattern: '^(?:[!#-~]+|"(?:[ !#-[\\]-~]|\\\\["\\\\])+")$',
  },
}

/** Headers of every answer to a recognized key. */
export const ACCOUNT_HEADERS: readonly string[] = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Credits-Charged',
  'X-Credits-Remaining',
]

/** Headers of a list as CSV, which has no fields for them. */
export function csvHeaders(output: JsonSchema): readonly string[] {
  const { pagination, coverage, counts, fx } = (output['properties'] ?? {}) as JsonSchema
  return [
    ...(pagination === undefined ? [] : ['X-Total-Count', 'Link']),
    ...(coverage === undefined ? [] : ['X-Coverage']),
    ...(counts === undefined ? [] : ['X-Counts']),
    ...(fx === undefined ? [] : ['X-Fx']),
  ]
}

/** Returns references to these headers. */
export function headerRefs(names: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** Converts the descriptions of a route's own headers by name. */
export function ownHeaders(headers: Readonly<Record<string, string>> = {}): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(headers).map(([name, says]) => [name, header('string', says)]))
}

function header(type: string, description: string): unknown {
  return { description, schema: { type } }
}
