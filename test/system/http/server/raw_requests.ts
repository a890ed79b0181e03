import { BODY_BYTES_MAX } from '../../../../src/http/limits.ts'
import { WALLET } from '../../../support/http/fixture.ts'

/** Bytes to send, by what they are about. */
export interface RawRequest {
  readonly name: string
  readonly bytes: string
  /** What both runtimes answer. */
  readonly status: number
  readonly code: string
  /** What Node answers if it differs, and why. */
  readonly node?: { readonly status: number; readonly code: string; readonly why: string }
}

const LIST = '/v1/positions/uniswap-v3'
const AUTH = 'Authorization: Bearer good\r\n'
const CONNECT_CLOSES = 'it closes the connection of a CONNECT'

/** The same bytes for both servers, and what they must answer. A code is empty if the answer has no envelope. */
export const RAW_REQUESTS: readonly RawRequest[] = [
  // Accepted.
  get('a list', `${LIST}?wallet=${WALLET}`, 200),
  get('an alias', `/v1/positions/amm_a?wallet=${WALLET}`, 200),
  get('one item', `${LIST}/5`, 200),
  get('the scheme in small letters', `${LIST}/5`, 200, { auth: 'Authorization: bearer good\r\n' }),
  get('the scheme in capital letters', `${LIST}/5`, 200, { auth: 'Authorization: BEARER good\r\n' }),
  get('a percent-encoded digit', `${LIST}/%35`, 200),
  get('an absolute-form target', `http://elsewhere.example${LIST}/5`, 200),
  get('dots and a backslash in the query', `/healthz?x=/../..\\`, 200),
  get('an IPv6 host', `${LIST}/5`, 200, { host: '[::1]:8080' }),
  get('a host with an underscore', `${LIST}/5`, 200, { host: 'my_host.svc:80' }),
  raw('HTTP/1.0 with a host', `GET ${LIST}/5 HTTP/1.0\r\nHost: h\r\n${AUTH}\r\n`, 200),
  get('198 headers', `${LIST}/5`, 200, { auth: `${AUTH}${'x-a: 1\r\n'.repeat(195)}` }),
  get('an expectation', `${LIST}/5`, 200, { auth: `${AUTH}Expect: something\r\n` }),
  raw('HEAD', `HEAD ${LIST}/5 HTTP/1.1\r\nHost: h\r\n${AUTH}Connection: close\r\n\r\n`, 200),
  raw('OPTIONS', `OPTIONS ${LIST}/5 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`, 204),
  post('a body', `{"wallets":["${WALLET}"]}`, 200),
  raw(
    'a chunked body',
    `POST /v1/lending/aave-v3/batch HTTP/1.1\r\nHost: h\r\n${AUTH}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n` +
      `10\r\n{"wallets":     \r\n2f\r\n["${WALLET}"]}\r\n0\r\n\r\n`,
    200,
  ),
  raw(
    'a chunked body with a trailer',
    `POST /v1/lending/aave-v3/batch HTTP/1.1\r\nHost: h\r\n${AUTH}Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n` +
      `Connection: close\r\n\r\n3f\r\n{"wallets":     ["${WALLET}"]}\r\n0\r\nX-Sum: 1\r\n\r\n`,
    200,
  ),
  get('a probe', '/healthz', 200),
  get('readiness', '/readyz', 200),
  raw('a probe by HTTP/1.0 without a host', 'GET /healthz HTTP/1.0\r\n\r\n', 200),
  raw('readiness by HTTP/1.0 without a host', 'GET /readyz HTTP/1.0\r\n\r\n', 200),
  raw('the probe of HAProxy', `OPTIONS ${LIST}/5 HTTP/1.0\r\n\r\n`, 204),
  get('the page of the API', '/docs', 200),

  // Refused before the route.
  raw('HTTP/1.0 without a host', `GET ${LIST}/5 HTTP/1.0\r\n${AUTH}\r\n`, 400, 'INVALID_REQUEST'),
  get('an empty host', `${LIST}/5`, 400, { code: 'INVALID_REQUEST', host: '' }),
  get('a host with a space', `${LIST}/5`, 400, { code: 'INVALID_REQUEST', host: 'a b' }),
  get('a host with angle brackets', `${LIST}/5`, 400, { code: 'INVALID_REQUEST', host: '<x>' }),
  get('a host with a path', `${LIST}/5`, 400, { code: 'INVALID_REQUEST', host: 'a/b?c' }),
  get('a host with credentials', `${LIST}/5`, 400, { code: 'INVALID_REQUEST', host: 'u:p@h' }),
  get('a port beyond 65535', `${LIST}/5`, 400, { code: 'INVALID_REQUEST', host: 'a:99999' }),
  get('two hosts', `${LIST}/5`, 400, { code: 'INVALID_REQUEST', host: 'a\r\nHost: b' }),
  get('a target of 9,000 characters', `/${'a'.repeat(9_000)}`, 400, { code: 'INVALID_REQUEST' }),
  get('a target of 20,000 characters', `/${'a'.repeat(20_000)}`, 431),
  get('199 headers', `${LIST}/5`, 431, { auth: `${AUTH}${'x-a: 1\r\n'.repeat(196)}` }),
  get('300 headers', `${LIST}/5`, 431, { auth: `${AUTH}${'x-a: 1\r\n'.repeat(297)}` }),
  post('a body that announces too much', 'x', 413, { code: 'INVALID_REQUEST', length: BODY_BYTES_MAX + 1 }),
  post('a body that announces 100 MB', 'x', 413, { code: 'INVALID_REQUEST', length: 100_000_000 }),
  raw(
    'a body in gzip',
    `POST /v1/lending/aave-v3/batch HTTP/1.1\r\nHost: h\r\n${AUTH}Content-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc`,
    415,
    'INVALID_REQUEST',
  ),
  raw(
    'a chunked body that is too large',
    `POST /v1/lending/aave-v3/batch HTTP/1.1\r\nHost: h\r\n${AUTH}Transfer-Encoding: chunked\r\n\r\n` +
      `${(BODY_BYTES_MAX + 10).toString(16)}\r\n${'a'.repeat(BODY_BYTES_MAX + 10)}\r\n`,
    413,
    'INVALID_REQUEST',
  ),

  // A target that another reader, a proxy say, may take for another one.
  ...[
    '/v1/x/../positions/uniswap-v3/5',
    '/v1/./positions/uniswap-v3/5',
    '/v1/../metrics',
    '/v1/%2e%2e/metrics',
    '/v1/%2E./metrics',
    '/v1/.%2e/metrics',
    '/v1/..\\metrics',
    '/v1\\..\\metrics',
    '/v1\\positions\\uniswap-v3\\5',
    `${LIST}/x\\..\\5`,
    '/./metrics',
    '/%2e/metrics',
    '/../metrics',
    '/metrics/.',
    '/metrics/x/..',
    '/v1//../metrics',
    '/v1///../../../metrics',
    `${'/a'.repeat(40)}${'/..'.repeat(40)}/metrics`,
    'http://elsewhere.example/v1/../metrics',
    '//evil.example/v1',
    '//metrics',
    '/\\metrics',
    '/metrics#/v1/positions',
    `${LIST}/5#x`,
    `${LIST}/5?x=1#y`,
  ].map((target) => get(`the target ${target.slice(0, 40)}`, target, 400, { code: 'INVALID_REQUEST' })),

  // Nowhere.
  get('an unknown path', '/v1/nothing', 404, { code: 'NOT_FOUND' }),
  get('a slash at the end', `${LIST}/`, 404, { code: 'NOT_FOUND' }),
  get('a doubled slash', `/v1//positions/uniswap-v3/5`, 404, { code: 'NOT_FOUND' }),
  get('an encoded slash after dots', '/v1/..%2fmetrics', 404, { code: 'NOT_FOUND' }),
  get('an encoded backslash after dots', '/v1/..%5cmetrics', 404, { code: 'NOT_FOUND' }),
  get('dots with a parameter', '/v1/..;/metrics', 404, { code: 'NOT_FOUND' }),
  get('three dots', '/v1/.../metrics', 404, { code: 'NOT_FOUND' }),
  {
    ...get('a backslash after a host', 'http://elsewhere.example\\metrics', 404, { code: 'NOT_FOUND' }),
    node: { status: 400, code: '', why: 'its parser refuses such a host' },
  },
  get('dots encoded twice', '/v1/%252e%252e/metrics', 404, { code: 'NOT_FOUND' }),
  get('an encoded letter', '/%6detrics', 404, { code: 'NOT_FOUND' }),
  get('a slash at the end of a page', '/metrics/', 404, { code: 'NOT_FOUND' }),
  get('capital letters', '/V1/Positions/Uniswap-V3/5', 404, { code: 'NOT_FOUND' }),
  get('a semicolon', '/v1/positions;a=b/uniswap-v3', 404, { code: 'NOT_FOUND' }),
  get('an unknown path without a key', '/v1/nothing', 404, { code: 'NOT_FOUND', auth: '' }),
  raw('DELETE', `DELETE ${LIST}/5 HTTP/1.1\r\nHost: h\r\n${AUTH}Connection: close\r\n\r\n`, 405, 'INVALID_REQUEST'),
  raw(
    'POST to a path of GET',
    `POST ${LIST} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
    405,
    'INVALID_REQUEST',
  ),
  raw('TRACE', `TRACE ${LIST}/5 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`, 405, 'INVALID_REQUEST'),
  raw('PROPFIND', `PROPFIND ${LIST}/5 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`, 405, 'INVALID_REQUEST'),
  {
    ...raw(
      'CONNECT',
      `CONNECT ${LIST}/5 HTTP/1.1\r\nHost: h\r\n${AUTH}Connection: close\r\n\r\n`,
      405,
      'INVALID_REQUEST',
    ),
    node: { status: 0, code: '', why: CONNECT_CLOSES },
  },
  {
    ...raw(
      'CONNECT to a host',
      'CONNECT h:80 HTTP/1.1\r\nHost: h:80\r\nConnection: close\r\n\r\n',
      400,
      'INVALID_REQUEST',
    ),
    node: { status: 0, code: '', why: CONNECT_CLOSES },
  },

  // Without a good key.
  get('no key', `${LIST}/5`, 401, { code: 'INVALID_API_KEY', auth: '' }),
  get('an unknown key', `${LIST}/5`, 401, { code: 'INVALID_API_KEY', auth: 'Authorization: Bearer bad\r\n' }),
  get('another scheme', `${LIST}/5`, 401, { code: 'INVALID_API_KEY', auth: 'Authorization: Basic good\r\n' }),
  get('two spaces', `${LIST}/5`, 401, { code: 'INVALID_API_KEY', auth: 'Authorization: Bearer  good\r\n' }),
  get('two Authorization headers', `${LIST}/5`, 401, { code: 'INVALID_API_KEY', auth: `${AUTH}${AUTH}` }),

  // Bad input.
  get('an unknown parameter', `${LIST}/5?x=1&x=2&y`, 400, { code: 'INVALID_PARAMETER' }),
  raw(
    'an unknown parameter of HEAD',
    `HEAD ${LIST}/5?chainid=1 HTTP/1.1\r\nHost: h\r\n${AUTH}Connection: close\r\n\r\n`,
    400,
  ),
  get('a missing parameter', LIST, 400, { code: 'MISSING_PARAMETER' }),
  get('an empty parameter', `${LIST}?wallet=`, 400, { code: 'MISSING_PARAMETER' }),
  get('a repeated parameter', `${LIST}?wallet=${WALLET}&page=1&page=1`, 400, { code: 'INVALID_PARAMETER' }),
  get('a broken escape in the query', `${LIST}?wallet=%zz`, 400, { code: 'INVALID_PARAMETER' }),
  get('a broken escape in the path', `${LIST}/%zz`, 400, { code: 'INVALID_PARAMETER' }),
  get('half a character in the path', `${LIST}/%E0%A4%A`, 400, { code: 'INVALID_PARAMETER' }),
  get('an overlong encoding', `${LIST}?wallet=%C0%AF`, 400, { code: 'INVALID_PARAMETER' }),
  get('an encoded NUL', `${LIST}/5%00`, 400, { code: 'INVALID_PARAMETER' }),
  get('an encoded slash', `${LIST}/5%2F6`, 400, { code: 'INVALID_PARAMETER' }),
  get('quotes and brackets', `${LIST}/"<>^\`{|}`, 400, { code: 'INVALID_PARAMETER' }),
  get('33 parameters', `${LIST}?${'a=1&'.repeat(32)}b=1`, 400, { code: 'INVALID_REQUEST' }),
  post('an empty body', '', 400, { code: 'INVALID_REQUEST' }),
  post('a broken body', '{"wallets":', 400, { code: 'INVALID_REQUEST' }),
  post('a body in UTF-16', '\xff\xfe{\x00}\x00', 400, { code: 'INVALID_REQUEST' }),
  post('a byte order mark', `\xef\xbb\xbf{"wallets":["${WALLET}"]}`, 400, { code: 'INVALID_REQUEST' }),
  post('a form', 'wallets=1', 400, { code: 'INVALID_REQUEST', type: 'application/x-www-form-urlencoded' }),
  post('an unknown field', `{"wallets":["${WALLET}"],"x":1}`, 400, { code: 'INVALID_PARAMETER' }),
  post('a prototype', `{"__proto__":{},"wallets":["${WALLET}"]}`, 400, { code: 'INVALID_PARAMETER' }),

  // No HTTP, or none that reaches the app: status only.
  {
    ...raw(
      'an empty line before the request',
      '\r\nGET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n',
      400,
    ),
    node: { status: 200, code: '', why: 'it ignores the line, as HTTP/1.1 asks servers to' },
  },
  raw('no request at all', 'hello\r\n\r\n', 400),
  raw('HTTP/1.1 without a host', `GET ${LIST}/5 HTTP/1.1\r\n${AUTH}Connection: close\r\n\r\n`, 400),
  raw('a target without a slash', `GET v1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`, 400),
  raw('OPTIONS *', `OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`, 400),
  raw('another scheme in the target', `GET ftp://x/a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`, 400),
  raw(
    'two lengths',
    `POST /v1/lending/aave-v3/batch HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
  ),
  raw('HTTP/2.0 in the head', `GET ${LIST}/5 HTTP/2.0\r\nHost: h\r\n${AUTH}\r\n`, 505),
  // Bun closes the connection of a method that its parser does not know.
  ...['FOO', 'get', 'TRACK'].map((method) => ({
    ...raw(`the method ${method}`, `${method} ${LIST}/5 HTTP/1.1\r\nHost: h\r\n${AUTH}Connection: close\r\n\r\n`, 0),
    node: { status: 400, code: '', why: 'its parser refuses such a method' },
  })),
  raw('a broken header after an unknown method', `FOO ${LIST}/5 HTTP/1.1\r\nHo st: h\r\n\r\n`, 400),
  raw('a negative length', `POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Length: -5\r\n\r\nabcde`, 400),
]

function raw(name: string, bytes: string, status: number, code = ''): RawRequest {
  return { name, bytes, status, code }
}

function get(
  name: string,
  target: string,
  status: number,
  options: { readonly code?: string; readonly host?: string; readonly auth?: string } = {},
): RawRequest {
  const { code = '', host = 'h', auth = AUTH } = options
  return raw(name, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${auth}Connection: close\r\n\r\n`, status, code)
}

function post(
  name: string,
  body: string,
  status: number,
  options: { readonly code?: string; readonly length?: number; readonly type?: string } = {},
): RawRequest {
  const { code = '', length = body.length, type = 'application/json' } = options
  const head = `POST /v1/lending/aave-v3/batch HTTP/1.1\r\nHost: h\r\n${AUTH}Content-Type: ${type}\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`
  return raw(name, `${head}${body}`, status, code)
}
