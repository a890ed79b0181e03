import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { readConfig } from '../../../../src/config/config.ts'
import { toHttpFailure } from '../../../../src/http/error.ts'
import { createComponents } from '../../../../src/http/openapi/components.ts'
import { getErrorCodes, openapiDocument } from '../../../../src/http/openapi/document.ts'
import { IDEMPOTENCY_KEY_PARAMETER } from '../../../../src/http/openapi/headers.ts'
import { choice, documented, flag, limit } from '../../../../src/http/request/input.ts'
import { idempotencyKey } from '../../../../src/http/request/key.ts'
import { createJsonSchema } from '../../../../src/http/route/json_schema.ts'
import type { Route } from '../../../../src/http/route/route.ts'
import { CodedError, ERROR_CODES } from '../../../../src/lib/error.ts'
import { describeServices } from '../../../../src/service/routes.ts'
import { createClient } from '../../../support/client.ts'
import { createFixture, fixtureRoutes } from '../../../support/http/fixture.ts'
import { findMismatches, resolve } from '../../../support/json_schema.ts'

const routes = fixtureRoutes({ reads: 0, held: undefined, instead: undefined, data: undefined, untilMs: 0, total: 12 })
const text = openapiDocument({ routes, publicUrl: 'https://api.example' })
const document = JSON.parse(text)
/** Pages that need no key. */
const PAGES = [
  '/.well-known/walletscope-keys.json',
  '/docs',
  '/formulas',
  '/healthz',
  '/metrics',
  '/openapi.json',
  '/readyz',
]

interface Operation {
  readonly parameters?: readonly { readonly name: string }[]
  readonly responses: Readonly<
    Record<number, { content?: Record<string, { schema: { properties?: object } }>; headers?: object }>
  >
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly description?: string
  readonly $ref?: string
  readonly 'x-format'?: string
  readonly 'x-unit'?: string
  readonly externalDocs?: { readonly url: string }
}

interface Content {
  readonly 'application/json': { readonly schema: Schema }
}

interface Answering {
  readonly operationId: string
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

describe('openapiDocument()', () => {
  test('is the same text for the same routes in any order', () => {
    expect(openapiDocument({ routes: [...routes].reverse(), publicUrl: 'https://api.example' })).toBe(text)
  })

  test('is OpenAPI 3.1, version 1.0.0, with the bearer key on everything', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(document.info.version).toBe('1.0.0')
    expect(document.servers).toEqual([{ url: 'https://api.example' }])
    expect(document.security).toEqual([{ apiKey: [] }])
    expect(document.components.securitySchemes.apiKey).toMatchObject({ type: 'http', scheme: 'bearer' })
  })

  test('has every route and no other, each with its own id', () => {
    const operations = Object.entries<Record<string, { operationId: string }>>(document.paths).flatMap(
      ([path, methods]) => Object.entries(methods).map(([method, { operationId }]) => ({ path, method, operationId })),
    )
    const named = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`)
    expect(named.sort()).toEqual(
      [
        ...routes.map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`),
        ...PAGES.map((path) => `GET ${path}`),
      ].sort(),
    )
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(routes.length + PAGES.length)
  })

  test('pages require no key, and answer as the document describes', async () => {
    const { app } = createFixture()
    const call = createClient(app.handler)
    const check = async (path: string, method: string, status: number) => {
      const answer = await call(path, { method })
      expect([path, answer.status]).toEqual([path, status])
      const { security, responses } = document.paths[path].get
      expect(security).toEqual([])
      const said = responses[status].$ref === undefined ? responses[status] : resolve(document, responses[status].$ref)
      const [[type, { schema }]] = Object.entries<{ schema: object }>(said.content) as [[string, { schema: object }]]
      expect(answer.headers.get('content-type')).toStartWith(type)
      expect(findMismatches(schema, answer.body ?? answer.text, document)).toEqual([])
      for (const name of ['Retry-After', 'Allow']) {
        expect([name, name in said.headers]).toEqual([name, answer.headers.has(name)])
      }
    }
    for (const path of PAGES) {
      await check(path, 'GET', 200)
      await check(path, 'POST', 405)
    }
    const unready = createFixture()
    unready.ready.database = false
    const answer = await createClient(unready.app.handler)('/readyz')
    expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true])
    const { schema } = document.paths['/readyz'].get.responses[503].content['application/json']
    expect(findMismatches(schema, answer.body, document)).toEqual([])
  })

  test("leaves the operator's pages out if they are served elsewhere", async () => {
    const { paths } = JSON.parse(openapiDocument({ routes, operatorApart: true }))
    const left = PAGES.filter((path) => !['/metrics', '/readyz'].includes(path))
    expect(Object.keys(paths).filter((path) => !path.startsWith('/v1/'))).toEqual(left)
  })

  test('every reference resolves', () => {
    const references = [...text.matchAll(/"\$ref": "#\/([^"]+)"/g)].map((match) => match[1] ?? '')
    expect(references.length).toBeGreaterThan(10)
    for (const reference of references) {
      const target = reference.split('/').reduce((node, key) => node?.[key], document)
      expect([reference, typeof target]).toEqual([reference, 'object'])
    }
  })

  test('every route lists exactly the codes that it can answer', () => {
    const codes = (path: string, method: string) =>
      Object.fromEntries(
        Object.entries<{ $ref?: string }>(document.paths[path][method].responses).flatMap(([status, { $ref }]) => {
          if ($ref === undefined) return []
          const { content } = document.components.responses[$ref.split('/').at(-1) ?? '']
          return [[status, content?.['application/json'].schema.allOf[1].properties.error.properties.code.enum]]
        }),
      )
    const common = {
      400: ['INVALID_REQUEST', 'INVALID_PARAMETER', 'MISSING_PARAMETER'],
      401: ['INVALID_API_KEY'],
      402: ['INSUFFICIENT_CREDITS'],
      403: ['ACCOUNT_SUSPENDED', 'ENDPOINT_DISABLED'],
      404: ['ORGANIZATION_NOT_FOUND'],
      409: ['INVALID_REQUEST'],
      422: ['INVALID_REQUEST'],
      429: ['RATE_LIMIT_EXCEEDED'],
      500: ['API_ENDPOINT_NOT_CONFIGURED', 'INTERNAL_ERROR'],
      503: ['SERVICE_UNAVAILABLE'],
    }
    // A wallet may have a name, which may be unknown.
    const named = { ...common, 404: ['NOT_FOUND', 'ORGANIZATION_NOT_FOUND'] }
    expect(codes('/v1/positions/uniswap-v3', 'get')).toEqual(named)
    expect(codes('/v1/lending/kamino/position/{obligation_address}/yield', 'get')).toEqual({
      ...common,
      403: ['ACCOUNT_SUSPENDED', 'ENDPOINT_DISABLED', 'FEATURE_DISABLED'],
      404: ['NOT_FOUND', 'ORGANIZATION_NOT_FOUND'],
      502: ['UPSTREAM_ERROR'],
    })
    const body = { 408: ['INVALID_REQUEST'], 413: ['INVALID_REQUEST'], 415: ['INVALID_REQUEST'] }
    expect(codes('/v1/lending/aave-v3/batch', 'post')).toEqual({ ...named, ...body })
  })

  test('every operation of the service has the answers of the headers and formats that it takes', () => {
    const { paths } = JSON.parse(describeServices(readConfig({}, () => '')))
    const operations = Object.entries<Record<string, Operation>>(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, ...operation })),
    )
    const lists: string[] = []
    for (const { name, parameters = [], responses } of operations) {
      const takes = (parameter: string) => parameters.some((each) => each.name === parameter)
      const refused = [409, 422].map((status) => responses[status] !== undefined)
      expect([name, ...refused]).toEqual([name, takes('Idempotency-Key'), takes('Idempotency-Key')])
      const { content = {}, headers = {} } = responses[200] ?? responses[201] ?? {}
      expect([name, 'text/csv' in content]).toEqual([name, takes('format')])
      if (!takes('format')) continue
      lists.push(name)
      const body = Object.keys(content['application/json']?.schema.properties ?? {})
      const told = { 'X-Total-Count': 'pagination', Link: 'pagination', 'X-Coverage': 'coverage', 'X-Counts': 'counts' }
      for (const [header, field] of Object.entries(told)) {
        expect([name, header, header in headers]).toEqual([name, header, body.includes(field)])
      }
    }
    expect(lists.length).toBeGreaterThan(15)
  })

  describe('of the service', () => {
    const described = JSON.parse(describeServices(readConfig({}, () => '')))
    const fields: { readonly place: string; readonly schema: Schema }[] = []
    const visit = (schema: Schema, place: string): void => {
      for (const [name, field] of Object.entries(schema.properties ?? {})) {
        fields.push({ place: `${place}.${name}`, schema: field })
        visit(field, `${place}.${name}`)
      }
      const { items, anyOf = [], oneOf = [] } = schema
      for (const inner of [...(items ? [items] : []), ...anyOf, ...oneOf]) visit(inner, place)
    }
    for (const [name, schema] of Object.entries<Schema>(described.components.schemas)) visit(schema, name)
    for (const methods of Object.values<Record<string, Answering>>(described.paths)) {
      for (const { operationId, requestBody, responses } of Object.values(methods)) {
        const answers = Object.values(responses).map(({ content }) => content?.['application/json']?.schema)
        for (const schema of [requestBody?.content['application/json'].schema, ...answers])
          visit(schema ?? {}, operationId)
      }
    }

    test('every field says what it is', () => {
      expect(fields.length).toBeGreaterThan(900)
      const isTold = ({ description, $ref, anyOf, oneOf }: Schema): boolean =>
        [description, $ref].some((text) => text !== undefined) || [...(anyOf ?? []), ...(oneOf ?? [])].some(isTold)
      expect(fields.filter(({ schema }) => !isTold(schema)).map(({ place }) => place)).toEqual([])
    })

    test('every figure of an answer has its unit, and a link to its formula where it has one', () => {
      const figures = fields.filter(({ schema }) => schema['x-format']?.startsWith('decimal'))
      expect(figures.length).toBeGreaterThan(150)
      const links = figures.map(({ place, schema }) => [place, schema['x-unit'], schema.externalDocs?.url])
      const bare = links.filter(([, unit]) => unit === undefined).map(([place]) => place)
      // The last is the parameter itself, repeated.
      expect(bare).toEqual(['getKaminoRisk.data.target_health_factor'])
      expect(Object.fromEntries(links.map(([place, unit]) => [place, unit]))).toMatchObject({
        'AaveV3Position.netWorthUSD': 'US dollars',
        'AaveV3Position.healthFactor': 'ratio',
        'AaveV4Position.riskPremium': 'ratio',
        'AaveV4BorrowedAsset.premium': 'whole tokens',
        'AaveV3Calculations.currentLtvPercentage': 'percent',
        'Asset.price_usd': 'US dollars',
        'FlowPrice.usd': 'US dollars',
        'RangePrices.lower': 'whole tokens of the other',
        'TokenAmount.amount': 'whole tokens',
      })
      expect(Object.fromEntries(links.map(([place, , url]) => [place, url]))).toMatchObject({
        'AaveV3Position.netWorthUSD': 'formulas#aave-v3.netWorthUSD',
        'ProfitAndLoss.pnl_usd_value': undefined,
      })
    })

    test('schemas that answers share have one name, and are used', () => {
      const text = JSON.stringify(described)
      const names = Object.keys(described.components.schemas)
      expect(names.length).toBeGreaterThan(25)
      expect(names.filter((name) => !text.includes(`schemas/${name}"`))).toEqual([])
      expect(names).toEqual(
        expect.arrayContaining(['Asset', 'AaveV3Position', 'Token', 'AaveV3Subject', 'AaveV3Figure']),
      )
    })

    test('operations are named by a verb and what it is done to', () => {
      const ids = Object.values<Record<string, Answering>>(described.paths).flatMap((methods) =>
        Object.values(methods).map(({ operationId }) => operationId),
      )
      expect(ids).toEqual(
        expect.arrayContaining([
          'listTriggers',
          'createTrigger',
          'updateTrigger',
          'listTriggerDeliveries',
          'rotateWebhook',
        ]),
      )
      const verbs = /^(get|list|batch|create|update|delete|test|rotate|redeliver)[A-Z]/
      expect(ids.filter((id) => !verbs.test(id))).toEqual([])
    })
  })

  test('a name of two schemas is refused', () => {
    const components = createComponents()
    const place = { title: 'Thing', description: 'here', 'x-words': 'A thing', type: 'string' }
    expect(components.extract(place)).toEqual({ $ref: '#/components/schemas/Thing', description: 'here' } as never)
    expect(components.list()).toEqual({ Thing: { type: 'string', description: 'A thing' } })
    expect(() => components.extract({ ...place, type: 'integer' })).toThrow('two schemas by the name "Thing"')
  })

  test('the pattern of an Idempotency-Key accepts what the service accepts', () => {
    const pattern = new RegExp(IDEMPOTENCY_KEY_PARAMETER.schema.pattern)
    for (const text of ['a', '!#~', '"my key"', '"a \\" b"', 'my key', 'ключ', '', '"', 'a"b', '""', '"a\\b"']) {
      const accepted = () => idempotencyKey(text)
      if (pattern.test(text)) expect(accepted).not.toThrow()
      else expect(accepted).toThrow('visible ASCII')
    }
  })

  test('a route states whether an optional parameter may be required; none is missing if all are optional', () => {
    const [first] = routes
    if (first === undefined) throw new Error('Expected a route')
    const optional = { ...first, path: '/v1/all', input: v.object({ page: limit }), asOf: false as const }
    const listed = (route: Route) => getErrorCodes(route).get(400)
    expect(listed(optional)).toEqual(['INVALID_REQUEST', 'INVALID_PARAMETER'])
    expect(listed({ ...optional, errors: ['MISSING_PARAMETER'] })).toContain('MISSING_PARAMETER')
    expect(listed({ ...optional, input: v.object({}) })).toEqual(['INVALID_REQUEST', 'INVALID_PARAMETER'])
    expect(getErrorCodes(optional).get(500)).toEqual(['INTERNAL_ERROR'])
  })

  test('describes HEAD and OPTIONS, and lists the headers of 401 and 405', () => {
    expect(document.info.description).toMatch(/HEAD is answered.*OPTIONS is answered with 204/)
    for (const subject of ['Key', 'First call', 'Price', 'Errors', 'Retry', 'Pages', 'Past', 'Agents']) {
      expect(document.info.description).toContain(`**${subject}**`)
    }
    const headers = (name: string) => document.components.responses[name].headers
    expect(headers('Error401_INVALID_API_KEY')['WWW-Authenticate']).toBeDefined()
    expect(headers('Error405_INVALID_REQUEST')['Allow']).toBeDefined()
    expect(headers('Error415_INVALID_REQUEST')['Accept-Encoding']).toBeDefined()
  })

  test.each(['X-As-Of', 'X-Unwitnessed'])('lists %s if a chain is read, and only then', (name) => {
    const [first, ...others] = routes
    if (first === undefined) throw new Error('Expected a route')
    const { paths } = JSON.parse(openapiDocument({ routes: [{ ...first, asOf: false }, ...others] }))
    const listing = Object.entries<{ get?: { responses: { 200: { headers?: object } } } }>(paths)
      .filter(([, { get }]) => get !== undefined && name in (get.responses[200].headers ?? {}))
      .map(([path]) => path)
    expect(listing.sort()).toEqual([
      '/v1/lending/kamino/position/{obligation_address}/yield',
      '/v1/positions/uniswap-v3',
    ])
  })

  test('503, 429 and 409 carry Retry-After, every code stands under its status', () => {
    const { responses, schemas } = document.components
    expect(responses.Error503_SERVICE_UNAVAILABLE.headers['Retry-After']).toBeDefined()
    expect(responses.Error409_INVALID_REQUEST.headers['Retry-After']).toBeDefined()
    expect(responses.Error429_RATE_LIMIT_EXCEEDED.headers['Retry-After']).toBeDefined()
    expect(schemas.Error.properties.error.properties.code.enum).toEqual([...ERROR_CODES])
    for (const route of routes) {
      for (const [status, codes] of getErrorCodes(route)) {
        for (const code of codes) {
          const usual = toHttpFailure(new CodedError(code, ''), { badGateway: true }).status
          expect([code, code === 'INVALID_REQUEST' ? status : usual]).toEqual([code, status])
        }
      }
    }
  })

  test('parameters describe their checks', () => {
    const parameters = document.paths['/v1/positions/uniswap-v3'].get.parameters
    const named = (name: string) => parameters.find((parameter: { name: string }) => parameter.name === name)
    expect(named('wallet')).toMatchObject({ in: 'query', required: true, schema: { pattern: '^0x[0-9a-fA-F]{40}$' } })
    expect(named('page')).toEqual({
      name: 'page',
      in: 'query',
      required: false,
      description: 'Which page of the list, from 1.',
      examples: { default: { value: 1, 'x-disabled': true } },
      schema: { type: 'integer', minimum: 1, maximum: 1_000_000_000, default: 1 },
    })
    expect(named('limit').schema).toEqual({ type: 'integer', minimum: 1, maximum: 25, default: 10 })
    expect(named('status').schema).toEqual({ type: 'string', enum: ['inactive'] })
    expect(named('full').schema).toEqual({ type: 'boolean', default: false })
    // A client that is made from the document shall outlive the configuration.
    expect(named('chain_id')).toMatchObject({
      examples: { default: { value: 1 } },
      description: expect.stringContaining('1, 10'),
    })
    expect(named('chain_id').schema).toEqual({ type: 'integer', 'x-chain-ids': [1, 10] })
    const [id] = document.paths['/v1/positions/uniswap-v3/{id}'].get.parameters
    expect(id).toMatchObject({ name: 'id', in: 'path', required: true })
  })

  test('bodies are closed, answers have their request id, prices are stated', () => {
    const batch = document.paths['/v1/lending/aave-v3/batch'].post
    expect(batch.requestBody.content['application/json'].schema).toMatchObject({
      type: 'object',
      required: ['wallets'],
      additionalProperties: false,
      properties: { wallets: { type: 'array', minItems: 1 } },
    })
    expect(batch.responses[200].content['application/json'].schema.required).toEqual(['data', 'request_id'])
    expect(batch['x-credits']).toBe('15 credits per wallet.')
  })

  test('/openapi.json serves it', async () => {
    const answer = await createClient(createFixture().app.handler)('/openapi.json')
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
    expect(answer.body.paths).toEqual(document.paths)
  })
})

describe('jsonSchema()', () => {
  test.each<[string, v.GenericSchema, unknown]>([
    [
      'text',
      v.pipe(v.string(), v.minLength(1), v.maxLength(3), v.regex(/^a$/)),
      { type: 'string', minLength: 1, maxLength: 3, pattern: '^a$' },
    ],
    [
      'a number',
      v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(9)),
      { type: 'integer', minimum: 1, maximum: 9 },
    ],
    [
      'a list',
      v.pipe(v.array(v.boolean()), v.maxLength(2)),
      { type: 'array', items: { type: 'boolean' }, maxItems: 2 },
    ],
    ['null or text', v.nullable(v.string()), { type: ['string', 'null'] }],
    [
      'null or one of two words',
      v.nullable(v.picklist(['a', 'b'])),
      { anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'null' }] },
    ],
    ['one of two', v.union([v.literal('MAX'), v.number()]), { anyOf: [{ const: 'MAX' }, { type: 'number' }] }],
    ['a record', v.record(v.string(), v.number()), { type: 'object', additionalProperties: { type: 'number' } }],
    [
      'a choice with a default',
      v.optional(choice(['a', 'b']), 'a'),
      { type: 'string', enum: ['a', 'b'], default: 'a' },
    ],
    ['a flag with a default', v.optional(flag, 'false'), { type: 'boolean', default: false }],
    ['a limit', limit, { type: 'integer', minimum: 1, maximum: 25, default: 10, description: 'Entries of a page.' }],
    ['what is said of it', v.pipe(v.string(), v.transform(Number), documented({ type: 'number' })), { type: 'number' }],
    [
      'an object',
      v.strictObject({ a: v.string(), b: v.optional(v.string()) }),
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'string' } },
        required: ['a'],
        additionalProperties: false,
      },
    ],
  ])('%s', (_name, schema, expected) => {
    expect(createJsonSchema(schema)).toEqual(expected as never)
  })

  test('refuses what it does not know', () => {
    expect(() => createJsonSchema(v.date())).toThrow('Cannot describe a schema: The "date" schema')
  })
})
