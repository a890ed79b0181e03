import { afterAll, beforeAll, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { readConfig } from '../../../src/config/config.ts'
import { CURRENCY_FEED_ROWS } from '../../../src/finance/currency/table.ts'
import { serveBun } from '../../../src/http/server/bun.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { createLog } from '../../../src/lib/log.ts'
import { createServices, type Services } from '../../../src/service/mod.ts'
import { createLifecycle, type Lifecycle } from '../../../src/service/process/lifecycle.ts'
import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { TOKENS } from '../../devnet/addresses.ts'
import { DEVNET_ROW } from '../../devnet/chain.ts'
import { startDevnet } from '../../devnet/mod.ts'
import { addStakedSlipstream } from '../../devnet/slipstream.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import { UNISWAP_V4 } from '../../devnet/uniswap_v4/addresses.ts'
import { liquidityWorth } from '../../devnet/uniswap_v4/pools.ts'
import { type Account, createAccount, readBooks } from '../../support/account/scene.ts'
import { temporaryDirectory, testDatabase } from '../../support/database.ts'
import { findMismatches, resolve } from '../../support/json_schema.ts'
import { MARKET, OBLIGATION, SLOT, scene, WALLET } from '../../support/kamino_scene.ts'
import { startReceiver } from '../../support/receiver.ts'
import { type Fault, type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { startSolanaDouble } from '../../support/solana.ts'
import { waitFor } from '../../support/wait_for.ts'
import { type Document, type Shot, shots } from './fuzz_requests.ts'
import { ask, type RawAnswer } from './http.ts'

/** A longer run: `FUZZ_REQUESTS=100000`; the same one again: `FUZZ_SEED`, which every failure names. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 1_600)
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_260_101)
/** Requests under way at the same time. */
const VOLLEY = 16
/**
 * Never longer than this, whatever is asked and whatever fails; a proof may take five times as long. Deadlines end an answer
 * after 5 s, and a busy machine runs them late.
 */
const ANSWER_LIMIT_MS = 15_000

const database = await testDatabase()
// Of its own, because others let prices fail; old enough to end in the present.
const devnet = await startDevnet({ ageSec: 2 * SCENARIO_SEC })
const morpho = await devnet.morpho()
const aave = await devnet.aave()
const v4 = await devnet.uniswapV4()
const slipstream = await addStakedSlipstream(devnet)
// Feeds of currencies have no row in a configuration: a devnet's stand at their own addresses.
const feedCode = (await devnet.client.getCode({ address: TOKENS.usdc.feed })) ?? '0x'
for (const [, feed] of CURRENCY_FEED_ROWS[1] ?? []) {
  await devnet.client.setCode({ address: feed, bytecode: feedCode })
  await devnet.setFeed(feed, { answer: 108_345_678n })
}
/** One in a pool of each kind for every wallet. */
const v4Ids = await v4.mintMany(
  Object.values(devnet.wallets).flatMap((recipient) =>
    (['plain', 'native', 'feeTaking', 'forbidding'] as const).map((name) => {
      const pool = v4.pools[name]
      const range = rangeAround(pool, -900, 900)
      return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 1_000 }), recipient }
    }),
  ),
)
// Refreshed for every answer: the run takes longer than a price may be old.
const solana = startSolanaDouble({ accounts: () => scene(), slot: SLOT })
const lines: string[] = []
/** What the service must never say. */
const SECRETS = ['rpc-secret', 'solana-secret', database.url]
const NEVER_SAID = /SqlError|\bselect \b|\bat \S+\.ts:|node_modules|postgres:|stack/i

/** Those of the rich organization that were made first. */
const triggerIds: string[] = []
const webhookIds: string[] = []
/** What was answered last. */
let last: RawAnswer
/** Answers above 499 so far. */
let failures = 0
let upstream: FaultyRpc
let receiver: Awaited<ReturnType<typeof startReceiver>>
let life: Lifecycle
let services: Services
let server: ReturnType<typeof serveBun>
let document: Document
let accounts: Record<string, Account>
let authorizations: Record<string, string | undefined>
/** What each organization was answered, by request id. */
const answered = new Map<string, Map<string, string[]>>()

beforeAll(async () => {
  upstream = await startFaultyRpc(devnet.rpcUrl)
  receiver = await startReceiver({ plain: true })
  const env = {
    CHAINS: '1',
    DATABASE_URL: database.url,
    DATA_DIR: temporaryDirectory(),
    CHAINS_FILE: 'chains.json',
    SOLANA_RPC_URL: solana.url,
    CORS_ORIGINS: 'https://app.example.org',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  }
  // Without a block time no read is kept: each goes to the endpoint.
  const chain = {
    ...DEVNET_ROW,
    ...slipstream.row,
    name: 'Devnet',
    rpcUrls: [`${upstream.url}rpc-secret`],
    blockTimeMs: 0,
  }
  const log = createLog({ level: 'debug', write: (line) => lines.push(line), clock: systemClock })
  life = createLifecycle({ clock: systemClock, log })
  services = await createServices(
    readConfig(env, () => JSON.stringify({ chains: [chain] })),
    { clock: systemClock, log, lifecycle: life },
  )
  server = serveBun(services.app, { port: 0, host: '127.0.0.1' })
  document = JSON.parse((await ask(server.port, { method: 'GET', target: '/openapi.json', headers: {} })).body)

  const { db } = database
  accounts = {
    rich: await createAccount(db, { credits: 10_000_000 }),
    poor: await createAccount(db, { credits: 4 }),
    limited: await createAccount(db, { credits: 1_000, rateLimit: 5 }),
    suspended: await createAccount(db, { credits: 100 }),
    deleted: await createAccount(db, { credits: 100 }),
  }
  await db.run('update organization set suspended_at = now() where id = $1', [
    accounts['suspended']?.organizationId ?? '',
  ])
  await db.run('update organization set deleted_at = now() where id = $1', [accounts['deleted']?.organizationId ?? ''])
  const rich = accounts['rich']?.key ?? ''
  authorizations = {
    ...Object.fromEntries(Object.entries(accounts).map(([name, { key }]) => [name, `Bearer ${key}`])),
    stranger: undefined,
    unknown: `Bearer ws_sk_${'A'.repeat(24)}`,
    mistyped: `Bearer ${rich.slice(0, -1)}~`,
    basic: `Basic ${rich}`,
    twice: `Bearer ${rich}, Bearer ${rich}`,
    long: `Bearer ${rich.repeat(20)}`,
  }
}, 120_000)

afterAll(async () => {
  void server.stop()
  await life.stop()
  await receiver.stop()
  await upstream.stop()
  solana.stop()
  await devnet.stop()
  await database.close()
}, 120_000)

test('triggers and webhooks are made, listed, changed, tested and deleted', async () => {
  const rules: Rules = { mayFail: () => false }
  const rich = (method: string, target: string, template: string, value?: unknown): Shot => ({
    template,
    caller: 'rich',
    method,
    target,
    headers: { Authorization: authorizations['rich'] ?? '', 'Content-Type': 'application/json' },
    ...(value === undefined ? {} : { body: JSON.stringify(value) }),
  })
  const accepted = async (shot: Shot) => {
    expect(await judged(shot, rules)).toEqual([])
    expect([last.status, last.body]).toEqual([200, expect.any(String)])
    return JSON.parse(last.body)
  }
  const [webhook] = rightBodies()['POST /v1/webhooks'] ?? []
  for (let count = 0; count < 3; count++) {
    webhookIds.push((await accepted(rich('POST', '/v1/webhooks', '/v1/webhooks', webhook))).data.id)
  }
  for (const body of [...(rightBodies()['POST /v1/triggers'] ?? []), ...(rightBodies()['POST /v1/triggers'] ?? [])]) {
    triggerIds.push((await accepted(rich('POST', '/v1/triggers', '/v1/triggers', body))).data.id)
  }
  expect(new Set(triggerIds).size).toBe(10)
  const listed = await accepted(rich('GET', '/v1/triggers?limit=25', '/v1/triggers'))
  expect(listed.data.map(({ id }: Document) => id).sort()).toEqual([...triggerIds].sort())
  const one = '/v1/triggers/{id}'
  for (const id of triggerIds) {
    const at = `/v1/triggers/${id}`
    for (const change of [{ paused: true }, { paused: false }, { name: 'Changed' }]) {
      await accepted(rich('PATCH', at, one, change))
    }
    expect((await accepted(rich('GET', at, one))).data).toMatchObject({ id, name: 'Changed' })
  }
  const [first = ''] = triggerIds
  await accepted(rich('POST', `/v1/triggers/${first}/test`, `${one}/test`))
  await waitFor('the test message', () => receiver.received.length > 0)
  const told = await accepted(rich('GET', `/v1/triggers/${first}/deliveries`, `${one}/deliveries`))
  expect(told.data.length).toBeGreaterThan(0)
  await accepted(rich('GET', '/v1/events', '/v1/events'))
  const gone = triggerIds.pop()
  await accepted(rich('DELETE', `/v1/triggers/${gone}`, one))
  await accepted(rich('DELETE', `/v1/webhooks/${webhookIds.pop()}`, '/v1/webhooks/{id}'))
  expect(await judged(rich('GET', `/v1/triggers/${gone}`, one), rules)).toEqual([])
  expect(last.status).toBe(404)
}, 120_000)

test('for any request the answer matches the document, fails only if the request was wrong, and is logged once', async () => {
  upstream.rule(() => undefined)
  await fire(REQUESTS, { mayFail: () => false })
}, 600_000)

test('with upstreams that fail in every way, the only further answers are 502 and 503', async () => {
  let asked = 0
  const faults: readonly Fault[] = [
    { kind: 'http', status: 500, body: 'rpc-secret' },
    { kind: 'result', result: '0xdead' },
    { kind: 'cut' },
    { kind: 'error', error: { code: -32000, message: 'rpc-secret' } },
    { kind: 'envelope', change: { id: 'rpc-secret' } },
  ]
  upstream.rule(() => (asked++ % 6 === 0 ? undefined : faults[asked % faults.length]))
  for (let fault = 0; fault < REQUESTS; fault++) {
    solana.faults.push(fault % 2 === 0 ? { kind: 'http', status: 500 } : { kind: 'body', text: 'solana-secret' })
  }
  const before = failures
  const rules: Rules = { mayFail: (status) => status === 502 || status === 503 }
  // Few random requests are right in all that Solana is asked for.
  const risk: Shot = {
    template: '/v1/lending/kamino/position/{obligation_address}/risk',
    caller: 'rich',
    method: 'GET',
    target: `/v1/lending/kamino/position/${OBLIGATION}/risk?wallet=${WALLET}&market_address=${MARKET}`,
    headers: { Authorization: authorizations['rich'] ?? '' },
  }
  expect(await judged(risk, rules)).toEqual([])
  await fire(REQUESTS / 2, rules)
  expect(failures - before).toBeGreaterThan(REQUESTS / 160)
  upstream.rule(() => undefined)
  solana.faults.length = 0
}, 600_000)

test('the log holds each of these answers once, with its status, and the books balance', async () => {
  for (const [name, { organizationId }] of Object.entries(accounts)) {
    const rows = await database.db.run<{ request_id: string; status: number; credits: string; path: string }>(
      'select request_id, status, credits, path from request_log_entry where organization_id = $1',
      [organizationId],
    )
    const logged = new Map<string, string[]>()
    for (const { request_id: id, status, credits, path } of rows) {
      // Charges of triggers have no request.
      if (['/v1/triggers/hour', '/v1/triggers/message'].includes(path)) continue
      logged.set(id, [...(logged.get(id) ?? []), `${status} ${credits}`])
    }
    const mine = answered.get(name) ?? new Map<string, string[]>()
    const differing = [...new Set([...mine.keys(), ...logged.keys()])].filter((id) => {
      const said = (mine.get(id) ?? []).toSorted()
      const stood = (logged.get(id) ?? []).toSorted()
      return said.join() !== stood.join()
    })
    expect(differing.slice(0, 5).map((id) => ({ name, id, said: mine.get(id), stood: logged.get(id) }))).toEqual([])
    expect((await readBooks(database.db, organizationId)).logged).toBe(rows.length)
  }
  expect((await readBooks(database.db, accounts['poor']?.organizationId ?? '')).balance).toBeLessThan(2)
  // Enough succeeded; seeds differ by more than twice, because one answer may cost 15.
  expect((await readBooks(database.db, accounts['rich']?.organizationId ?? '')).charged).toBeGreaterThan(REQUESTS / 16)
})

test('nothing of keys and addresses of upstreams is in the log or the metrics', async () => {
  const { body } = await ask(server.port, { method: 'GET', target: '/metrics', headers: {} })
  expect(body).toMatch(/^walletscope_rpc_requests_total\{chain_id="1",endpoint="1",outcome="ok"\} [1-9]/m)
  expect(body).toMatch(/^walletscope_rpc_requests_total\{chain_id="101",endpoint="1",outcome="failed"\} [1-9]/m)
  expect(body).toMatch(/^walletscope_gate_batch_requests_count\{step="settle"\} [1-9]/m)
  expect(body).toMatch(/^walletscope_gate_voids_waiting 0$/m)
  expect(lines.length).toBeGreaterThan(100)
  const keys = Object.values(accounts).map(({ key }) => key)
  for (const secret of [...SECRETS, ...keys]) {
    expect(body.includes(secret)).toBe(false)
    expect(lines.filter((line) => line.includes(secret))).toEqual([])
  }
})

interface Rules {
  /** True for a status above 499 that the caller could not help. */
  readonly mayFail: (status: number) => boolean
}

async function fire(requests: number, rules: Rules): Promise<void> {
  const { borrower, everywhere, lidoOnly, liquidated } = aave.wallets
  const wallets = [
    ...[...Object.values(devnet.wallets), devnet.wallets.provider.toLowerCase()],
    ...[borrower, everywhere, lidoOnly, liquidated, morpho.wallets.borrower, morpho.wallets.supplier],
  ]
  const values = {
    wallet: [...wallets, WALLET, WALLET],
    id: [...[...Object.values(devnet.positions), ...v4Ids].map(String), ...triggerIds, ...triggerIds, ...webhookIds],
    manager_address: [devnet.addresses.uniswapV3.manager, UNISWAP_V4.positionManager],
    obligation_address: [OBLIGATION],
    market_address: [MARKET],
    market_id: ['main', 'market_b', morpho.markets.wethUsdc.id],
    target_health_factor: ['1.5', '2', '100'],
    chain_id: ['1'],
    at_block: ['0', '1', '5', '20', '999999999'],
    at_time: [String(Math.floor(Date.now() / 1_000)), '2020-01-01', '2999-01-01'],
    from: ['2026-01-01', '2026-01-01T00:00:00Z'],
    to: ['2999-01-01'],
    path: ['/v1/positions/amm_a'],
    api_key_id: Object.values(accounts).map(({ apiKeyId }) => apiKeyId),
    status_code: ['200', '400'],
  }
  const volley = fc.array(shots({ document, values, bodies: rightBodies(), callers: authorizations }), {
    minLength: VOLLEY,
    maxLength: VOLLEY,
  })
  await fc.assert(
    fc.asyncProperty(volley, async (batch) => {
      const complaints = await Promise.all(batch.map((shot) => judged(shot, rules)))
      expect(complaints.flat()).toEqual([])
    }),
    {
      numRuns: Math.ceil(requests / VOLLEY),
      seed: SEED,
      endOnFailure: true,
      // The complaints name the requests; all of a volley, with targets as long as they come, would hide them.
      reporter: ({ failed, errorInstance, numRuns }) => {
        if (failed) throw new Error(`FUZZ_SEED=${SEED}, volley ${numRuns}`, { cause: errorInstance })
      },
    },
  )
}

/** Triggers and webhooks that are accepted. */
function rightBodies(): Readonly<Record<string, readonly unknown[]>> {
  const health = { figure: 'health_factor', below: '1.05' }
  const [webhook_id = null] = webhookIds
  return {
    'POST /v1/webhooks': [{ url: `http://127.0.0.1:${receiver.port}/ok` }],
    'POST /v1/triggers': [
      // It holds, so it fires at once.
      {
        chain_id: 1,
        family: 'aave-v3',
        subject: { wallet: aave.wallets.everywhere },
        when: { ...health, below: '1000' },
        webhook_id,
      },
      {
        chain_id: 1,
        family: 'uniswap-v3',
        subject: { token_id: '1', manager_address: devnet.addresses.uniswapV3.manager },
        when: { figure: 'in_range', is: false },
        for_blocks: 2,
      },
      {
        chain_id: 1,
        family: 'morpho-blue',
        subject: { wallet: morpho.wallets.borrower, market_id: morpho.markets.wethUsdc.id },
        when: health,
        finality: 'safe',
      },
      {
        chain_id: 101,
        family: 'kamino',
        subject: { obligation_address: OBLIGATION, market_address: MARKET, wallet: WALLET },
        when: health,
        clear: '1.2',
      },
      {
        chain_id: 1,
        family: 'aave-v3',
        subject: { wallet: aave.wallets.borrower, market_id: 'main' },
        when: { event: ['borrow'] },
      },
    ],
    'PATCH /v1/triggers/{id}': [
      { paused: true },
      { paused: false },
      { when: health },
      { webhook_id: null },
      { name: 'x' },
    ],
    'PATCH /v1/webhooks/{id}': [{ name: 'x' }, { status: 'active' }],
  }
}

/** Sends one request and returns the problem with its answer. */
async function judged(shot: Shot, { mayFail }: Rules): Promise<string[]> {
  const startedMs = performance.now()
  const answer = await ask(server.port, shot)
  const complaints: string[] = []
  const must = (holds: boolean, what: string) => {
    if (!holds)
      complaints.push(
        `${what}: ${JSON.stringify({ ...shot, body: shot.body?.slice(0, 100) })} → ${answer.status} ${answer.body.slice(0, 300)}`,
      )
  }
  last = answer
  const { status, headers } = answer
  const account = accounts[shot.caller]
  const requestId = headers['x-request-id'] ?? ''
  if (account !== undefined) {
    const mine = answered.get(shot.caller) ?? new Map<string, string[]>()
    answered.set(
      shot.caller,
      mine.set(requestId, [...(mine.get(requestId) ?? []), `${status} ${headers['x-credits-charged']}`]),
    )
  }

  const limitMs = shot.target.includes('receipt=proof') ? 5 * ANSWER_LIMIT_MS : ANSWER_LIMIT_MS
  must(performance.now() - startedMs < limitMs, 'too late')
  if (status >= 500) failures += 1
  // One organization has one proof at a time, no proof covers the search for the block of a time, and days may come later.
  const isLater = status === 503 && /"message":"Cannot (?:prove |answer [^"]* yet: )/.test(answer.body)
  must(status < 500 || isLater || mayFail(status), 'failed')
  must(headers['cache-control'] === 'no-store' && headers['x-content-type-options'] === 'nosniff', 'headers')
  must(/^[A-Za-z0-9_-]{8,64}$/.test(requestId), 'request id')
  const named = shot.headers['X-Request-Id']
  must(named === undefined || !/^[A-Za-z0-9_-]{8,64}$/.test(named) || named === requestId, 'request id not kept')
  must(!NEVER_SAID.test(answer.body) && !SECRETS.some((secret) => answer.body.includes(secret)), 'reveals too much')
  must((account !== undefined) === (headers['x-ratelimit-limit'] !== undefined), 'state of the account')
  const charged = Number(headers['x-credits-charged'] ?? 0)
  must(charged === 0 || (status >= 200 && status < 300), 'charged for a failure')
  if (shot.method === 'HEAD') must(answer.body === '', 'body of HEAD')
  else if (status === 204) must(shot.method === 'OPTIONS' && answer.body === '', 'no content')
  else
    complaints.push(
      ...bodyComplaints(shot, answer, requestId).map(
        (what) => `${what}: ${JSON.stringify(shot)} → ${status} ${answer.body.slice(0, 300)}`,
      ),
    )
  return complaints
}

function bodyComplaints({ template, method }: Shot, { status, headers, body }: RawAnswer, requestId: string): string[] {
  if (headers['content-type']?.startsWith('text/csv') === true) {
    const isTable = status === 200 && body.endsWith('\r\n') && headers['x-credits-charged'] !== undefined
    return isTable ? [] : ['table']
  }
  if (headers['content-type'] !== 'application/json; charset=utf-8') return ['content type']
  const value = JSON.parse(body)
  const operation = document.paths[template ?? '']?.[method.toLowerCase()]
  if (status !== 200) {
    if (value.error?.request_id !== requestId) return ['request id of the error']
    const listed = operation?.responses[status]
    // Errors of an unlisted route, of the target or of the body's size: the document does not list these.
    const schema =
      listed === undefined
        ? document.components.schemas.Error
        : resolve(document, listed.$ref).content['application/json'].schema
    const unlisted = operation !== undefined && listed === undefined && status !== 413
    return [...(unlisted ? ['status that the document does not list'] : []), ...findMismatches(schema, value, document)]
  }
  if (operation === undefined) return ['answer of no route']
  if (headers['x-as-of'] !== undefined && operation.responses[200].headers['X-As-Of'] === undefined) {
    return ['X-As-Of that the document does not list']
  }
  if (value.request_id !== requestId) return ['request id']
  const own = PRICES[template ?? '']?.(value)
  const price = own === undefined ? undefined : own + receiptCredits(value)
  if (price !== undefined && String(price) !== headers['x-credits-charged']) return [`price, expected ${price}`]
  return findMismatches(operation.responses[200].content['application/json'].schema, value, document)
}

/** What a receipt costs, of an answer that holds nothing too. */
function receiptCredits({ receipt }: Document): number {
  if (receipt === undefined) return 0
  return JSON.parse(Buffer.from(receipt.payload, 'base64').toString()).level === 'proven' ? 25 : 2
}

/** What an answer must have cost without a receipt, from its content. */
const PRICES: Readonly<Record<string, (body: Document) => number>> = {
  '/v1/positions/uniswap-v3': ({ data }) => data.reduce((sum: number, item: Document) => sum + getPrice(item), 0),
  '/v1/positions/uniswap-v3/{id}': ({ data }) => (data.amounts === undefined ? 2 : 15),
  '/v1/positions/uniswap-v4': ({ data }) => data.reduce((sum: number, item: Document) => sum + getPrice(item), 0),
  '/v1/positions/uniswap-v4/{id}': ({ data }) => (data.amounts === undefined ? 2 : 15),
  '/v1/positions/slipstream': ({ data }) => data.reduce((sum: number, item: Document) => sum + getPrice(item), 0),
  '/v1/positions/slipstream/{id}': ({ data }) => (data.amounts === undefined ? 2 : 15),
  '/v1/positions/orca-whirlpool': ({ data }) => data.reduce((sum: number, item: Document) => sum + getPrice(item), 0),
  '/v1/positions/orca-whirlpool/{id}': ({ data }) => (data.amounts === undefined ? 2 : 15),
  '/v1/usage/logs': () => 1,
  '/v1/names': () => 1,
  '/v1/lending/kamino': ({ pagination }) => 15 * pagination.total,
  '/v1/lending/kamino/batch': ({ pagination: { total } }) => (total < 100 ? 15 : 12) * total,
  '/v1/lending/kamino/position/{obligation_address}/yield': () => 8,
  '/v1/lending/kamino/position/{obligation_address}/risk': () => 8,
}

function getPrice(item: Document): number {
  if (item.amounts !== undefined) return 15
  return item.is_active ? 2 : 1
}
