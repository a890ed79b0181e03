import { afterAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../../../src/config/config.ts'
import { clientText, typeText } from '../../../../src/http/openapi/client.ts'
import { describePlanes } from '../../../../src/service/planes.ts'
import { describeServices } from '../../../../src/service/routes.ts'

describe('the client', async () => {
  const ROOT = join(import.meta.dir, '../../../..')
  // Inside the checkout, so that packages are found from there.
  mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true })
  const directory = mkdtempSync(join(ROOT, 'node_modules/.cache/client-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  const config = readConfig({}, () => {
    throw new Error('Expected no file')
  })
  const text = clientText(describeServices(config))

  /** Compiler options of a user may be stricter than ours. */
  const TSCONFIG = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { lib: ['ES2023', 'DOM', 'DOM.Iterable'], types: [], noUnusedLocals: true, noEmit: true },
    include: ['*.ts'],
    // What ours excludes would be relative to ours, and leave this folder out.
    exclude: [],
  }

  const USAGE = `
import makeClient from 'openapi-fetch'
import { createClient, type components, type paths, type Success } from './client.ts'

const client = createClient({ baseUrl: 'http://h', key: 'k' })
const wallet = '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045'
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const proven = <T extends true>(..._: T[]): void => undefined

export async function use(): Promise<void> {
  const list = await client.GET('/v1/positions/uniswap-v3', { params: { query: { wallet, full: true, page: 2 } } })
  if (list.data !== undefined) {
    const next: string | null = list.data.pagination.next_page
    const id: string | undefined = list.data.data[0]?.token_id
    void next
    void id
  } else {
    const code: components['schemas']['Error']['error']['code'] = list.error.error.code
    proven<Equal<typeof list.data, undefined>>()
    void code
    // @ts-expect-error A list cannot answer this code.
    if (list.error.error.code === 'UPSTREAM_ERROR') return
  }
  const log: Success<'get', '/v1/usage/logs'> | undefined = (await client.GET('/v1/usage/logs')).data
  await client.POST('/v1/lending/aave-v3/batch', { body: { wallets: [wallet] } })
  await client.GET('/v1/positions/uniswap-v3/{id}', { params: { path: { id: '5' } }, signal: AbortSignal.timeout(1) })
  void log
  await client.PATCH('/v1/webhooks/{id}', { params: { path: { id: 'w' } }, body: { name: 'mine' } })
  await client.DELETE('/v1/triggers/{id}', { params: { path: { id: 't' } } })
  await client.GET('/v1/portfolio/balance', { params: { query: { wallet } } })
  // @ts-expect-error A wallet is text.
  await client.GET('/v1/portfolio/balance', { params: { query: { wallet: 42 } } })
  const idempotencyKey = crypto.randomUUID()
  for await (const entry of client.each('/v1/usage/logs', { params: { query: { limit: 25 } }, idempotencyKey })) {
    const status: number = entry.status_code
    void status
  }
  // @ts-expect-error A single thing has no pages.
  client.each('/v1/positions/uniswap-v3/{id}', { params: { path: { id: '5' } } })
  // @ts-expect-error The wallet is required.
  await client.GET('/v1/positions/uniswap-v3')
  // @ts-expect-error There is no such parameter.
  await client.GET('/v1/positions/uniswap-v3', { params: { query: { wallet, wallets: 1 } } })
  // @ts-expect-error There is no such path.
  await client.GET('/v1/positions/uniswap')
  // @ts-expect-error The path has no such method.
  await client.POST('/v1/usage/logs')
  // @ts-expect-error The body is required.
  await client.POST('/v1/lending/aave-v3/batch')
  // @ts-expect-error The status is a word.
  await client.GET('/v1/positions/uniswap-v3', { params: { query: { wallet, status: 'active' } } })

  const other = makeClient<paths>({ baseUrl: 'http://h' })
  const got = await other.GET('/v1/positions/uniswap-v3', { params: { query: { wallet } } })
  const total: number | undefined = got.data?.pagination.total
  void total
  proven<Equal<NonNullable<typeof got.data>, Success<'get', '/v1/positions/uniswap-v3'>>>()
}
`

  function complaints(files: Readonly<Record<string, string>>): string {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content)
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(TSCONFIG))
    const tsc = join(ROOT, 'node_modules/.bin/tsc')
    return Bun.spawnSync([tsc, '-p', directory], { cwd: directory }).stdout.toString()
  }

  test('each() follows next_page at its own address: its parameters pin a list that grows meanwhile', async () => {
    writeFileSync(join(directory, 'client.ts'), text)
    const { createClient } = await import(join(directory, 'client.ts'))
    const pinned = 'limit=2&status=200&from=2026-01-01T00%3A00%3A00.000Z&page='
    const pages: Record<string, object> = {
      'http://h/v1/usage/logs?limit=2&status=200': { data: [1, 2], pagination: { page: 1, next_page: `${pinned}2` } },
      [`http://h/v1/usage/logs?${pinned}2`]: { data: [3, 4], pagination: { page: 2, next_page: `${pinned}3` } },
      [`http://h/v1/usage/logs?${pinned}3`]: { data: [5], pagination: { page: 3, next_page: null } },
    }
    const fetch = async (url: string) => {
      const body = JSON.stringify(pages[url]).replaceAll('"limit', '"https://public.example/v1/usage/logs?limit')
      return new Response(body)
    }
    const entries: number[] = []
    const client = createClient({ baseUrl: 'http://h', key: 'k', fetch })
    for await (const entry of client.each('/v1/usage/logs', { params: { query: { limit: 2, status: 200 } } })) {
      entries.push(entry)
    }
    expect(entries).toEqual([1, 2, 3, 4, 5])
  })

  describe('what the client tries again', () => {
    const answer = (status: number, headers: Record<string, string> = {}) =>
      new Response(status === 200 ? '{"data":[]}' : '{"error":{"code":"C","message":"m","request_id":"r"}}', {
        status,
        headers,
      })
    /** Calls once, while the service gives these answers one after the other. */
    const calls = async (answers: readonly (Response | Error)[], init: object = {}, options: object = {}) => {
      writeFileSync(join(directory, 'client.ts'), text)
      const { createClient } = await import(join(directory, 'client.ts'))
      const sent: { headers: Record<string, string> }[] = []
      const fetch = async (_: string, request: { headers: Record<string, string> }) => {
        const next = answers[sent.length]
        sent.push(request)
        if (next instanceof Response) return next.clone()
        throw next ?? new Error('Cannot answer more')
      }
      const client = createClient({ baseUrl: 'http://h', key: 'k', fetch, ...options })
      const result = await client.GET('/v1/usage/logs', init).catch((error: Error) => ({ thrown: error.message }))
      return { sent, status: result.response?.status, thrown: result.thrown }
    }
    const soon = { 'retry-after': '0' }

    test.each([[429], [503]])('%i after the wait that it names', async (status) => {
      const { sent, status: last } = await calls([answer(status, soon), answer(status, soon), answer(200)])
      expect([sent.length, last]).toEqual([3, 200])
    })

    test.each([[502], [504]])('%i after a short wait', async (status) => {
      const { sent, status: last } = await calls([answer(status), answer(200)])
      expect([sent.length, last]).toEqual([2, 200])
    })

    test.each([[400], [401], [402], [403], [404], [409], [422], [500]])('%i never', async (status) => {
      const { sent, status: last } = await calls([answer(status, soon), answer(200)])
      expect([sent.length, last]).toEqual([1, status])
    })

    test('at most as often as configured, and not after too long a wait', async () => {
      const busy = Array.from({ length: 9 }, () => answer(503, soon))
      expect((await calls(busy)).sent).toHaveLength(4)
      expect((await calls(busy, {}, { retries: 1 })).sent).toHaveLength(2)
      expect((await calls([answer(429, { 'retry-after': '61' })])).status).toBe(429)
    })

    test('no answer at all and 409 only with an idempotency key, which stays the same', async () => {
      const lost = [new Error('lost'), answer(409, soon), answer(200)]
      expect(await calls(lost)).toMatchObject({ sent: [{}], thrown: 'lost' })
      const { sent, status } = await calls(lost, { idempotencyKey: 'mine' })
      expect([sent.map(({ headers }) => headers['idempotency-key']), status]).toEqual([['mine', 'mine', 'mine'], 200])
    })

    test('nothing once the caller has aborted', async () => {
      const signal = AbortSignal.timeout(20)
      const { sent, thrown } = await calls([answer(503, { 'retry-after': '30' }), answer(200)], { signal })
      expect([sent.length, thrown]).toEqual([1, 'The operation timed out.'])
    })
  })

  describe('the typed client', () => {
    test('compiles, refuses wrong calls, and its paths suit openapi-fetch', () => {
      expect(complaints({ 'client.ts': text, 'usage.ts': USAGE })).toBe('')
    }, 120_000)

    test('compiles for a service of chains without Aave, whose lists of names and chains are empty', () => {
      const solana = describeServices(readConfig({ CHAINS: '101' }, () => ''))
      const empty = /"enum": \[\s*\]|"examples": \[\s*null\s*\]|is served: \./.exec(solana)
      expect(empty).toBeNull()
      expect(complaints({ 'client.ts': clientText(solana), 'usage.ts': '' })).toBe('')
    }, 120_000)

    test('a wrong use is a compiler error', () => {
      const wrong = USAGE.replace("status: 'active'", "status: 'inactive'")
      expect(complaints({ 'client.ts': text, 'usage.ts': wrong })).toContain('Unused')
    }, 120_000)

    test('has every operation that needs a key, and no other', () => {
      const { paths } = JSON.parse(describeServices(config))
      for (const [path, methods] of Object.entries<Record<string, { security?: unknown }>>(paths)) {
        const needsKey = Object.values(methods).every(({ security }) => security === undefined)
        expect([path, text.includes(`  '${path}': {`)]).toEqual([path, needsKey])
      }
      expect(text).not.toContain('import ')
    })

    test('can call every method of its paths, and no parameter is of an unknown type', () => {
      const { paths } = JSON.parse(describeServices(config))
      const [, methods = ''] = /^type Method = (.*)$/m.exec(text) ?? []
      for (const [path, operations] of Object.entries<Record<string, { parameters?: object[] }>>(paths)) {
        for (const [method, { parameters = [] }] of Object.entries(operations)) {
          expect([path, method, methods.includes(`'${method}'`)]).toEqual([path, method, true])
          for (const { name, schema } of parameters as { name: string; schema: Record<string, unknown> }[]) {
            expect([path, name, typeText(schema)]).not.toEqual([path, name, 'unknown'])
          }
        }
      }
    })

    test('types follow the schema', () => {
      const cases: readonly [schema: object, type: string][] = [
        [{ type: ['string', 'null'] }, 'string | null'],
        [{ type: 'array', items: { type: ['integer', 'null'] } }, '(number | null)[]'],
        [{ enum: ["it's", 'a"b', 'c\\d', 'e\n'] }, String.raw`'it\'s' | 'a"b' | 'c\\d' | 'e\n'`],
        [{ const: 3 }, '3'],
        [{ anyOf: [{ const: null }, { type: 'boolean' }] }, 'null | boolean'],
        [{ type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
        [{ type: 'object' }, 'Record<string, unknown>'],
        [{}, 'unknown'],
        [{ oneOf: [{ type: 'string', pattern: '^0x' }, { type: 'integer' }, { type: 'string' }] }, 'string | number'],
        [
          { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: {} },
          '{\n  a: string\n  [name: string]: unknown\n}',
        ],
        [{ type: 'object', properties: { a: {} }, additionalProperties: false }, '{\n  a?: unknown\n}'],
        [{ $ref: '#/components/schemas/Error' }, "components['schemas']['Error']"],
        [{ allOf: [{ type: 'string' }, { enum: ['a', 'b'] }] }, "string & ('a' | 'b')"],
      ]
      for (const [schema, type] of cases) expect(typeText(schema as Record<string, unknown>)).toBe(type)
      const object = { type: 'object', properties: { 'a-b': { type: 'string', description: 'ends */ here.' } } }
      expect(typeText(object)).toBe("{\n  /** ends * / here. */\n  'a-b'?: string\n}")
      for (const unknown of [{ type: 'file' }, { not: { type: 'string' } }]) {
        expect(() => typeText(unknown)).toThrow('Cannot write a type')
      }
    })
  })
})

describe('the document', async () => {
  const ROOT = join(import.meta.dir, '../../../..')
  const LINTER = join(ROOT, 'node_modules/@redocly/cli/bin/cli.js')
  const directory = mkdtempSync(join(tmpdir(), 'walletscope-lint-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  /** What the linter finds in a document, by the names of its rules. Needs no network. */
  function findings(text: string): string[] {
    const path = join(directory, 'openapi.json')
    writeFileSync(path, text)
    const { stdout } = Bun.spawnSync(
      [process.execPath, LINTER, 'lint', path, '--format=json', '--extends=recommended'],
      {
        cwd: directory,
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
      },
    )
    const { problems } = JSON.parse(stdout.toString())
    return problems.map(({ ruleId, message }: { ruleId: string; message: string }) => `${ruleId}: ${message}`)
  }

  test('the document of everything has no finding, whatever is configured', () => {
    const noFile = () => {
      throw new Error('Expected no file')
    }
    for (const env of [{}, { CHAINS: '101' }, { CHAINS: '1', OPERATOR_PORT: '0', PUBLIC_URL: 'https://api.example' }]) {
      expect(findings(describeServices(readConfig(env, noFile)))).toEqual([])
    }
  }, 120_000)

  test('the documents of the planes have no finding', () => {
    const { operator, organization } = describePlanes(readConfig({}, () => ''))
    expect(findings(operator)).toEqual([])
    expect(findings(organization)).toEqual([])
  }, 120_000)

  test('the linter finds something in a wrong document', () => {
    expect(findings('{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/a":{"get":{}}}}')).not.toEqual([])
  }, 120_000)
})
