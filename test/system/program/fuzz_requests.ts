import * as fc from 'fast-check'
import type { RawRequest } from './http.ts'

/** An OpenAPI document, or a part of one. */
// biome-ignore lint/suspicious/noExplicitAny: the document is walked by the words that it names itself.
export type Document = any

/** One request of the fuzzer, and what is known about it before it is sent. */
export interface Shot extends RawRequest {
  /** Path of the document that it asks for; absent if there is none or the path parameter is wrong. */
  readonly template: string | undefined
  /** Whose key it carries. */
  readonly caller: string
}

/** What the requests are made of. */
export interface Ammunition {
  readonly document: Document
  /** Right values by name of a parameter or field. */
  readonly values: Readonly<Record<string, readonly string[]>>
  /** Right bodies by operation, if fields that fit each other are seldom found by chance. */
  readonly bodies: Readonly<Record<string, readonly unknown[]>>
  /** Texts of the `Authorization` header by caller. */
  readonly callers: Readonly<Record<string, string | undefined>>
}

/** Texts that parameters are mutated to, as people and attackers write them; sent percent-encoded. */
const ODD_TEXTS = [
  ...['', ' ', '0', '-1', '+1', '1.0', '1e3', '0x1', ' 1', '1 ', '01', '１', 'NaN', 'Infinity', '1e18', '1e400', '-0'],
  ...['26', '2147483648', '9007199254740993', '1000000000', '1000000001', '9'.repeat(78), '9'.repeat(300), '1,5'],
  ...['true', 'TRUE', 'null', 'undefined', '[]', '{}', '__proto__', 'constructor', 'active', 'inactive', 'mainnet'],
  ...['0xf9Af3629b1e07972A90b7F86B7c23B0795A8795', '0Xf9af3629b1e07972a90b7f86b7c23b0795a87952', 'vitalik.eth'],
  ...['0xF9Af3629b1e07972A90b7F86B7c23B0795A87952', '11111111111111111111111111111111', '0OIl'.repeat(8)],
  ...[
    '2024-02-30',
    '2024-1-1',
    '2024-01-01T00:00:00',
    '2026-01-01T23:59:60Z',
    '+275760-09-13',
    '1970-01-01',
    '9999-12-31',
  ],
  ...[
    "' or 1=1 --",
    '"; drop table request_log',
    `$${'{7*7}'}`,
    '{{7*7}}',
    '<script>',
    'a\r\nSet-Cookie: b=c',
    '\u001b[31m',
  ],
  ...[
    '\u202Eabc',
    'é',
    '😀',
    '\u2028',
    '(a+)+$',
    'a'.repeat(257),
    '/',
    '../..',
    '%',
    '\\',
    ';',
    '5m',
    '24h',
    '200',
    '499',
  ],
]

/** Parts of a target that are broken before any decoding. */
const RAW_TEXTS = ['%', '%zz', '%E0%A4%A', '%C0%AF', '%00', '%ED%A0%80', '%ff', '+', '%2B', '&&', '=', '%26page%3D0']

const HEADERS: Readonly<Record<string, readonly string[]>> = {
  'X-Request-Id': [
    'short',
    'a'.repeat(65),
    'has space here',
    'repeated_id_1',
    'repeated_id_2',
    '../../etc',
    '"quoted--"',
  ],
  Accept: ['*/*', 'text/html', 'application/xml;q=0.9', ''],
  'Accept-Encoding': ['gzip, br', 'identity;q=0', '*'],
  'Content-Type': ['application/json', 'text/plain', 'application/json; charset=utf-16', 'multipart/form-data'],
  Origin: ['https://evil.example', 'null', 'https://app.example.org'],
  Range: ['bytes=0-1', 'bytes=-1'],
  'If-None-Match': ['*', '"x"'],
  'X-Forwarded-For': ['127.0.0.1', '"; drop'],
  'X-Forwarded-Host': ['evil.example'],
  'X-HTTP-Method-Override': ['DELETE'],
  Cookie: ['a=b; '.repeat(50)],
  Host: ['evil.example', '[::1]:80', 'a b', '', 'x:99999', '"><script>'],
  'User-Agent': ['a'.repeat(4_000), '%s%n%x'],
}

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Requests in the spirit of the document: most of them nearly right, all of them legal HTTP. */
export function shots({ document, values, bodies: rights, callers }: Ammunition): fc.Arbitrary<Shot> {
  // Pages without a key log no caller.
  const operations = Object.entries<Document>(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries<Document>(methods).map(([method, operation]) => ({
        path,
        method: method.toUpperCase(),
        operation,
      })),
    )
    .filter(({ operation }) => operation.security === undefined)
  const caller = fc.oneof(
    { weight: 3, arbitrary: fc.constant('rich') },
    fc.constant('poor'),
    fc.constantFrom(...Object.keys(callers)),
  )
  const headers = fc
    .uniqueArray(fc.constantFrom(...Object.keys(HEADERS)), { maxLength: 2 })
    .chain((names) =>
      fc.record(Object.fromEntries(names.map((name) => [name, fc.constantFrom(...(HEADERS[name] ?? []))]))),
    )

  const known = fc.constantFrom(...operations).chain(({ path, method, operation }) =>
    fc.record({
      template: fc.constant<string | undefined>(path),
      method: mostly(method, METHODS),
      target: targets({ path, parameters: operation.parameters, values }),
      body:
        operation.requestBody === undefined
          ? mostly(undefined, ['', '{}', 'x'])
          : bodies(operation, { values, rights: rights[`${method} ${path}`] ?? [] }),
    }),
  )
  const unknown = fc.record({
    template: fc.constant<string | undefined>(undefined),
    method: mostly('GET', METHODS),
    target: fc.oneof(
      fc.constantFrom(
        '/nowhere',
        '/v1',
        '/v1/',
        '/V1/usage/logs',
        '/v1/usage/logs/',
        '/v1//usage/logs',
        '/admin/v2/x',
        '/.env',
      ),
      fc.string({ unit: 'binary', maxLength: 300 }).map((text) => `/v1/odd-${encodeURIComponent(text)}`),
      fc.string({ unit: 'binary', maxLength: 40 }).map((text) => `/v1/usage/logs%3F${encodeURIComponent(text)}`),
      fc.constant(`/v1/${'a'.repeat(9_000)}`),
    ),
    body: mostly(undefined, ['{}', 'x'.repeat(300_000)]),
  })
  return fc
    .record({ made: fc.oneof({ weight: 8, arbitrary: known }, unknown), caller, headers })
    .map(({ made: { template, method, target, body }, caller, headers }) => {
      const authorization = callers[caller]
      const [path = ''] = target.split('?')
      return {
        method,
        target,
        caller,
        headers: { ...headers, ...(authorization === undefined ? {} : { Authorization: authorization }) },
        template:
          template !== undefined && path.split('/').length === template.split('/').length && !path.endsWith('/')
            ? template
            : undefined,
        ...(body === undefined ? {} : { body }),
      }
    })
}

function targets(options: {
  readonly path: string
  readonly parameters: readonly Document[]
  readonly values: Ammunition['values']
}): fc.Arbitrary<string> {
  const { path, parameters, values } = options
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const inQuery = parameters.filter((parameter) => parameter.in === 'query')
  const segments = fc.tuple(...inPath.map(({ name, schema }) => encoded(name, { schema, values, odd: 1 })))
  const pairs = fc.tuple(
    ...inQuery.map(({ name, schema, required }) =>
      fc.oneof(
        ...(required ? [] : [{ weight: 12, arbitrary: fc.constant<string[]>([]) }]),
        { weight: 12, arbitrary: encoded(name, { schema, values, odd: 0 }).map((value) => [`${name}=${value}`]) },
        { weight: 1, arbitrary: encoded(name, { schema, values, odd: 4 }).map((value) => [`${name}=${value}`]) },
        { weight: 1, arbitrary: fc.constantFrom([], [name], [`${name}=1`, `${name}=1`]) },
      ),
    ),
  )
  const extra = mostly('', [
    'x=1',
    '__proto__=1',
    'constructor=1',
    '&&',
    '=',
    'x=%zz',
    '%00=1',
    Array(40).fill('a=1').join('&'),
  ])
  return fc.record({ segments, pairs, extra }).map(({ segments, pairs, extra }) => {
    const filled = inPath.reduce((text, { name }, index) => text.replace(`{${name}}`, segments[index] ?? ''), path)
    const query = [...pairs.flat(), ...(extra === '' ? [] : [extra])].join('&')
    return query === '' ? filled : `${filled}?${query}`
  })
}

/** A value as it stands in a target; `odd` against four parts of right ones. */
function encoded(
  name: string,
  options: { readonly schema: Document; readonly values: Ammunition['values']; readonly odd: number },
): fc.Arbitrary<string> {
  const right = rightTexts(name, options)
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...right).map(encodeURIComponent) },
    {
      weight: options.odd * 2,
      arbitrary: fc.constantFrom(...ODD_TEXTS.filter((text) => text !== '../..')).map(encodeURIComponent),
    },
    { weight: options.odd, arbitrary: fc.constantFrom(...RAW_TEXTS) },
    {
      weight: options.odd,
      arbitrary: fc.string({ unit: 'binary', minLength: 3, maxLength: 70 }).map(encodeURIComponent),
    },
  )
}

function rightTexts(
  name: string,
  { schema, values }: { readonly schema: Document; readonly values: Ammunition['values'] },
): readonly string[] {
  const given = values[name]
  if (given !== undefined) return given
  if (schema.const !== undefined) return [String(schema.const)]
  if (schema.enum !== undefined) return schema.enum.map(String)
  if (schema.type === 'boolean') return ['true', 'false']
  if (schema.type === 'integer') return [1, 2, 3].map((step) => String((schema.minimum ?? 0) + step))
  if (schema.type === 'number') return [String((schema.exclusiveMinimum ?? schema.minimum ?? 0) + 0.5)]
  return ['text']
}

/** Bodies that fit the schema of the operation, and all kinds that do not. */
function bodies(
  operation: Document,
  { values, rights }: { readonly values: Ammunition['values']; readonly rights: readonly unknown[] },
): fc.Arbitrary<string | undefined> {
  const schema = operation.requestBody.content['application/json'].schema
  const right = generateJson('', { schema, values })
  return fc.oneof(
    { weight: 6, arbitrary: right.map((value) => JSON.stringify(value)) },
    ...rights.map((each) => ({ weight: 3, arbitrary: fc.constant(JSON.stringify(each)) })),
    {
      weight: 1,
      arbitrary: fc
        .tuple(right, fc.json())
        .map(([value, odd]) => JSON.stringify({ ...(value as object), odd: JSON.parse(odd) })),
    },
    { weight: 1, arbitrary: fc.json() },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        ...[
          '',
          '{',
          '{"a":1,"a":2}',
          '{"__proto__":{}}',
          '\uFEFF{}',
          '[1e999]',
          `${'['.repeat(1_000)}`,
          '{"a":NaN}',
          '{} x',
        ],
        ...[`{"wallets":["${'a'.repeat(300_000)}"]}`, '"\\ud800"', '{"\\u0000":1}', undefined],
      ),
    },
  )
}

function generateJson(
  name: string,
  options: { readonly schema: Document; readonly values: Ammunition['values'] },
): fc.Arbitrary<unknown> {
  const { schema, values } = options
  const types: readonly string[] = Array.isArray(schema.type) ? schema.type : []
  const choices: readonly Document[] = schema.anyOf ?? types.map((type) => ({ ...schema, type }))
  if (choices.length > 0) return fc.oneof(...choices.map((each) => generateJson(name, { schema: each, values })))
  if (schema.type === 'null') return fc.constant(null)
  if (schema.type === 'object' && schema.properties === undefined) {
    return fc.dictionary(fc.constantFrom(...Object.keys(values)), fc.constantFrom(...Object.values(values).flat()))
  }
  if (schema.properties !== undefined) {
    const required: string[] = schema.required ?? []
    const fields = Object.fromEntries(
      Object.entries<Document>(schema.properties).map(([field, each]) => [
        field,
        generateJson(field, { schema: each, values }),
      ]),
    )
    return fc.record(fields, { requiredKeys: required })
  }
  if (schema.type === 'array')
    return fc.array(generateJson(name, { schema: schema.items, values }), { minLength: 1, maxLength: 4 })
  const texts = rightTexts(name.replace(/s$/, ''), options)
  const right = fc
    .constantFrom(...texts)
    .map((text) => (['boolean', 'integer', 'number'].includes(schema.type) ? JSON.parse(text) : text))
  return fc.oneof(
    { weight: 9, arbitrary: right as fc.Arbitrary<unknown> },
    fc.constantFrom<unknown>(null, '', -1, 0.5, [], {}, 'x'),
  )
}

function mostly<T>(usual: T, others: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, fc.constantFrom(...others))
}
