import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { CLI_ACTOR } from '../../../../src/account/audit.ts'
import { updateOrganization } from '../../../../src/account/organization.ts'
import { chargeHour } from '../../../../src/trigger/evaluate/partition.ts'
import { type Account, createAccount, readBooks } from '../../../support/account/scene.ts'
import type { Answer } from '../../../support/client.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { MARKET, OBLIGATION } from '../../../support/kamino_scene.ts'
import { openProcess, type Process } from '../../../support/operator/scene.ts'
import { RECEIVER_BODY, startReceiver } from '../../../support/receiver.ts'
import { addMessages } from '../../../support/trigger/messages.ts'
import { createTrigger } from '../../../support/trigger/scene.ts'
import { waitFor } from '../../../support/wait_for.ts'

let database: TestDatabase
let served: Process
let receiver: Awaited<ReturnType<typeof startReceiver>>

beforeAll(async () => {
  database = await testDatabase()
  served = await openProcess(database.db, { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' })
  receiver = await startReceiver({ plain: true })
}, 60_000)
afterAll(async () => {
  await receiver.stop()
  await served.close()
  await database.close()
}, 60_000)

const WALLET = '0x00000000000000000000000000000000000000AA'
const HEALTH = {
  chain_id: 1,
  family: 'aave-v3',
  subject: { wallet: WALLET },
  when: { figure: 'health_factor', below: '1.05' },
}

/** Asks with an account's key. */
function askWith({ key }: Account, ask: Process['ask'] = served.ask) {
  return (method: string, path: string, body?: unknown): Promise<Answer> =>
    ask(path, {
      method,
      key,
      ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
}

const hook = (path = 'ok') => `http://127.0.0.1:${receiver.port}/${path}`
const charged = ({ headers }: Answer) => Number(headers.get('x-credits-charged'))
const messageOf = (answer: Answer) => `${answer.status} ${answer.body.error?.code} ${answer.body.error?.message}`

async function newAccount(options?: Parameters<typeof createAccount>[1]) {
  const account = await createAccount(database.db, options)
  return { account, ask: askWith(account) }
}

describe('webhooks', () => {
  test('are made, shown without their secret, changed, rotated, started again and deleted, for nothing', async () => {
    const { account, ask } = await newAccount()
    expect((await ask('GET', '/v1/webhooks')).body.data).toEqual([])
    const made = await ask('POST', '/v1/webhooks', { url: hook(), name: 'Bridge' })
    expect(made.body.data).toMatchObject({ url: hook(), name: 'Bridge', status: 'active', failing_since: null })
    const { id, secret, public_key } = made.body.data
    expect([id, secret, public_key]).toEqual([
      expect.stringMatching(/^whk_/),
      expect.stringMatching(/^whsec_/),
      expect.stringMatching(/^whpk_/),
    ])
    const listed = await ask('GET', '/v1/webhooks')
    const single = await ask('GET', `/v1/webhooks/${id}`)
    expect([charged(made), charged(listed), charged(single)]).toEqual([0, 1, 1])
    expect(listed.body.data).toEqual([single.body.data])
    expect(listed.text + single.text).not.toContain('whsec_')

    const rotated = await ask('POST', `/v1/webhooks/${id}/rotate`, { overlap_sec: 60 })
    expect(rotated.body.data.secret).not.toBe(secret)
    expect(Date.parse(rotated.body.data.overlap_until)).toBeGreaterThan(Date.now() + 50_000)
    const before = receiver.received.length
    const tested = await ask('POST', `/v1/webhooks/${id}/test`)
    await waitFor('the test message', () => receiver.received.length > before)
    const { headers = {}, body = '' } = receiver.received.at(-1) ?? {}
    expect(headers['webhook-id']).toBe(tested.body.data.id)
    for (const each of [secret, rotated.body.data.secret]) {
      expect(new Webhook(each).verify(body, headers)).toMatchObject({ type: 'webhook.test', data: { webhook_id: id } })
    }

    await database.db.run(`update webhook set status = 'stopped', failing_since = now() where id = $1`, [id])
    const started = await ask('PATCH', `/v1/webhooks/${id}`, { status: 'active', name: 'New' })
    expect(started.body.data).toMatchObject({ status: 'active', failing_since: null, name: 'New', url: hook() })
    expect((await ask('DELETE', `/v1/webhooks/${id}`)).body.data).toEqual({ id })
    expect((await ask('GET', `/v1/webhooks/${id}`)).status).toBe(404)
    const { charged: sum } = await readBooks(database.db, account.organizationId)
    expect(sum).toBe(2)
  })

  test('lead to addresses that may be reached, are 20 at most, and stay as long as triggers post to them', async () => {
    const { ask } = await newAccount()
    for (const url of [
      'https://10.0.0.1/',
      'http://hook.test/',
      'https://me@hook.test/',
      'https://169.254.169.254/',
      'https://hook.test/\0',
      'x',
    ]) {
      expect(messageOf(await ask('POST', '/v1/webhooks', { url }))).toMatch(
        /^400 INVALID_PARAMETER Cannot read parameter "url"/,
      )
    }
    const made = await Promise.all(Array.from({ length: 25 }, () => ask('POST', '/v1/webhooks', { url: hook() })))
    expect(made.filter(({ status }) => status === 200).length).toBe(20)
    const refused = made.filter(({ status }) => status === 400).map(messageOf)
    expect(new Set(refused)).toEqual(
      new Set(['400 INVALID_REQUEST Cannot create the webhook: the organization has 20 already']),
    )
    const { id } = made.find(({ status }) => status === 200)?.body.data ?? {}
    const trigger = await ask('POST', '/v1/triggers', { ...HEALTH, webhook_id: id })
    expect(messageOf(await ask('DELETE', `/v1/webhooks/${id}`))).toContain('INVALID_REQUEST')
    await ask('PATCH', `/v1/triggers/${trigger.body.data.id}`, { webhook_id: null })
    expect((await ask('DELETE', `/v1/webhooks/${id}`)).status).toBe(200)
  })

  test('are tested ten times an hour, together with triggers', async () => {
    const { ask } = await newAccount()
    const { id } = (await ask('POST', '/v1/webhooks', { url: hook() })).body.data
    const trigger = (await ask('POST', '/v1/triggers', { ...HEALTH, webhook_id: id })).body.data
    expect((await ask('POST', `/v1/triggers/${trigger.id}/test`)).status).toBe(200)
    const asked = await Promise.all(Array.from({ length: 15 }, () => ask('POST', `/v1/webhooks/${id}/test`)))
    expect(asked.filter(({ status }) => status === 200).length).toBe(9)
    for (const path of [`/v1/webhooks/${id}/test`, `/v1/triggers/${trigger.id}/test`]) {
      expect(messageOf(await ask('POST', path))).toContain('400 INVALID_REQUEST')
    }
  })

  test('are posted to again: by ids, or by time', async () => {
    const { account, ask } = await newAccount()
    const { id } = (await ask('POST', '/v1/webhooks', { url: hook('status/500') })).body.data
    const sent = (await ask('POST', `/v1/webhooks/${id}/test`)).body.data.id
    const read = async () => {
      const [row] = await database.db.run<{ outcome: string | null; tries: number; noted: number }>(
        `select m.outcome, m.tries, (select count(*)::integer from message_try t
           where t.organization_id = m.organization_id and t.message_no = m.no) as noted
         from message m where m.organization_id = $1`,
        [account.organizationId],
      )
      return row
    }
    await waitFor('a try', async () => (await read())?.noted === 1)
    await database.db.run(
      `update message set due_at = null, outcome = 'dead', done_at = now() where organization_id = $1`,
      [account.organizationId],
    )
    await ask('PATCH', `/v1/webhooks/${id}`, { url: hook() })
    const path = `/v1/webhooks/${id}/redeliver`
    expect((await ask('POST', path, { ids: [crypto.randomUUID()] })).body.data).toEqual({
      redelivered: 0,
      more: false,
      after: null,
    })
    expect((await ask('POST', path, { ids: [sent] })).body.data).toEqual({
      redelivered: 1,
      more: false,
      after: null,
    })
    await waitFor('delivery', async () => (await read())?.outcome === 'delivered')
    expect(await read()).toEqual({ outcome: 'delivered', tries: 1, noted: 2 })
    const day = { from: '2020-01-01', to: '2999-01-01' }
    expect((await ask('POST', path, day)).body.data.redelivered).toBe(1)
    await waitFor('delivery', async () => (await read())?.noted === 3)
    const mixed = { ids: [sent], from: day.from }
    for (const body of [
      {},
      { ids: [] },
      { ids: ['x'] },
      { ids: [sent], ...day },
      mixed,
      { ids: [sent], after: sent },
      { from: '2020-01-01' },
    ]) {
      expect((await ask('POST', path, body)).status).toBe(400)
    }
  })
})

describe('triggers', () => {
  test('each family takes its own subjects, in one form', async () => {
    const env = { CHAINS: '1,101', SOLANA_RPC_URL: 'http://127.0.0.1:9' }
    const other = await openProcess(database.db, env)
    const { account } = await newAccount()
    const ask = askWith(account, other.ask)
    const named = { obligation_address: OBLIGATION, market_address: MARKET }
    const position = { token_id: '7', manager_address: '0xC36442b4a4522E871399CD717aBDD847Ab11FE88' }
    const market = { wallet: WALLET, market_id: `0x${'ab'.repeat(32)}` }
    for (const [family, chain_id, subject, stored] of [
      ['aave-v3', 1, { wallet: WALLET }, { wallet: WALLET, market_id: 'main' }],
      ['uniswap-v3', 1, position, position],
      ['morpho-blue', 1, market, market],
      ['kamino', 101, named, named],
      ['kamino', 101, { ...named, wallet: OBLIGATION }, { ...named, wallet: OBLIGATION }],
    ] as const) {
      const when = family === 'uniswap-v3' ? { figure: 'in_range', is: false } : HEALTH.when
      const made = await ask('POST', '/v1/triggers', { chain_id, family, subject, when })
      expect([family, made.status, made.body.data?.subject]).toEqual([family, 200, stored])
      const wrong = await ask('POST', '/v1/triggers', { chain_id, family, subject: { ...subject, x: '1' }, when })
      expect(messageOf(wrong)).toContain('400 INVALID_PARAMETER Unknown field "x"')
    }
    for (const [filter, families] of [
      ['token_id=7', ['uniswap-v3']],
      [`obligation_address=${OBLIGATION}`, ['kamino', 'kamino']],
      [`wallet=${OBLIGATION}&obligation_address=${OBLIGATION}`, ['kamino']],
      [`wallet=${WALLET}`, ['aave-v3', 'morpho-blue']],
    ] as const) {
      const { body } = await ask('GET', `/v1/triggers?${filter}`)
      expect([filter, body.data.map(({ family }: { family: string }) => family).sort()]).toEqual([filter, families])
    }
    await other.close()
  })

  test('are made, listed, changed and deleted; what decides arms them anew', async () => {
    const { account, ask } = await newAccount()
    const empty = await ask('GET', '/v1/triggers')
    expect([empty.body.data, charged(empty)]).toEqual([[], 0])
    const made = await ask('POST', '/v1/triggers', {
      ...HEALTH,
      subject: { wallet: WALLET.toLowerCase() },
      name: ' Vault',
    })
    expect(charged(made)).toBe(1)
    const { id } = made.body.data
    expect(made.body.data).toEqual({
      ...HEALTH,
      id: expect.stringMatching(/^trg_/),
      name: 'Vault',
      subject: { wallet: WALLET, market_id: 'main' },
      clear: '1.071',
      for_blocks: 1,
      finality: 'latest',
      webhook_id: null,
      state: 'armed',
      paused_for: null,
      value: null,
      changes: 0,
      since_block: null,
      expires_at: null,
      created_at: expect.any(String),
    })
    const listed = await ask('GET', `/v1/triggers?wallet=${WALLET}&family=aave-v3&chain_id=1&state=armed`)
    expect([listed.body.data, charged(listed)]).toEqual([[made.body.data], 1])
    for (const other of [
      'state=fired',
      `wallet=${WALLET.replace('AA', 'AB')}`,
      'chain_id=10',
      'family=kamino',
      'token_id=7',
      `wallet=${WALLET}&obligation_address=${OBLIGATION}`,
    ]) {
      expect((await ask('GET', `/v1/triggers?${other}`)).body.data).toEqual([])
    }
    const edition = async () => {
      const [row] = await database.db.run<{ edition: number; phase: string }>(
        'select edition, phase from watch_state where organization_id = $1',
        [account.organizationId],
      )
      return row
    }
    await database.db.run(`update watch_state set phase = 'fired' where organization_id = $1`, [account.organizationId])
    expect((await ask('PATCH', `/v1/triggers/${id}`, { name: 'Safe' })).body.data).toMatchObject({
      name: 'Safe',
      state: 'fired',
    })
    expect(await edition()).toEqual({ edition: 1, phase: 'fired' })
    const when = { figure: 'net_worth_usd', above: '1000' }
    const changed = await ask('PATCH', `/v1/triggers/${id}`, { when, for_blocks: 3, finality: 'safe' })
    expect(changed.body.data).toMatchObject({ when, clear: '980', for_blocks: 3, finality: 'safe', state: 'armed' })
    expect(await edition()).toEqual({ edition: 2, phase: 'armed' })
    expect((await ask('PATCH', `/v1/triggers/${id}`, { clear: '900' })).body.data).toMatchObject({ when, clear: '900' })
    const paused = await ask('PATCH', `/v1/triggers/${id}`, { paused: true })
    expect(paused.body.data).toMatchObject({ state: 'paused', paused_for: 'owner' })
    expect((await ask('PATCH', `/v1/triggers/${id}`, { paused: false })).body.data).toMatchObject({ state: 'armed' })
    const later = new Date(Date.now() + 60_000).toISOString()
    expect((await ask('PATCH', `/v1/triggers/${id}`, { expires_at: later })).body.data.expires_at).toBe(later)
    // One that had expired begins anew, and is not blind for the time between.
    await database.db.run(`update watch_state set phase = 'fired' where organization_id = $1`, [account.organizationId])
    expect((await ask('PATCH', `/v1/triggers/${id}`, { expires_at: null })).body.data.state).toBe('fired')
    await database.db.run("update watch set expires_at = now(), active_at = now() - interval '1 day' where id = $1", [
      id,
    ])
    expect((await ask('GET', `/v1/triggers/${id}`)).body.data.state).toBe('expired')
    expect((await ask('PATCH', `/v1/triggers/${id}`, { expires_at: null })).body.data.state).toBe('armed')
    const [since] = await database.db.run<{ is_new: boolean }>(
      "select active_at > now() - interval '1 minute' as is_new from watch where id = $1",
      [id],
    )
    expect(since?.is_new).toBe(true)
    // Its three blocks in a row mean nothing for an event.
    const event = { when: { event: ['borrow'] } }
    expect(messageOf(await ask('PATCH', `/v1/triggers/${id}`, event))).toContain('parameter "for_blocks": expected 1')
    const once = await ask('PATCH', `/v1/triggers/${id}`, { ...event, for_blocks: 1 })
    expect(once.body.data).toMatchObject({ ...event, for_blocks: 1, clear: null })
    expect((await ask('DELETE', `/v1/triggers/${id}`)).body.data).toEqual({ id })
    expect((await ask('DELETE', `/v1/triggers/${id}`)).status).toBe(404)
  })

  test('cost five credits for what is looked at every 20 blocks, and are evaluated apart from others', async () => {
    const { account, ask } = await newAccount()
    const when = { figure: 'exit_usd', below: '1000' }
    const exit = { chain_id: 1, family: 'portfolio', subject: { wallet: WALLET.toLowerCase() }, when }
    const made = await ask('POST', '/v1/triggers', exit)
    expect([charged(made), made.body.data.subject, made.body.data.clear]).toEqual([5, { wallet: WALLET }, '1020'])
    expect(charged(await ask('POST', '/v1/triggers', HEALTH))).toBe(1)
    expect(
      await database.db.run(
        'select family, shard, hour_credits from watch where organization_id = $1 order by family',
        [account.organizationId],
      ),
    ).toEqual([
      { family: 'aave-v3', shard: 0, hour_credits: 1 },
      { family: 'portfolio', shard: 1, hour_credits: 5 },
    ])
    expect(messageOf(await ask('POST', '/v1/triggers', { ...exit, when: { event: ['Borrow'] } }))).toContain(
      'parameter "when": expected a figure, portfolio has no events',
    )
    const { charged: sum } = await readBooks(database.db, account.organizationId)
    expect(sum).toBe(6)
  })

  test('that paused for want of credits go on with credits alone, whatever their owner pauses', async () => {
    const { account, ask } = await newAccount()
    const { id } = (await ask('POST', '/v1/triggers', HEALTH)).body.data
    const limit = (spent: string) =>
      database.db.run(
        `update spending_limit set spent = ${spent} where organization_id = $1 and scope = '' and period = 0`,
        [account.organizationId],
      )
    const pause = async (paused: boolean) => (await ask('PATCH', `/v1/triggers/${id}`, { paused })).body.data.paused_for
    await limit('most')
    await database.db.run("update watch set paused_for = 'credits' where id = $1", [id])
    expect([await pause(false), await pause(true), await pause(false)]).toEqual(['credits', 'owner', 'credits'])
    await limit('0')
    expect([await pause(true), await pause(false)]).toEqual(['owner', null])
  })

  test('take what their family can watch, and say what is wrong otherwise', async () => {
    const { ask } = await newAccount()
    const wrong = async (change: object) => messageOf(await ask('POST', '/v1/triggers', { ...HEALTH, ...change }))
    for (const change of [
      { chain_id: 999 },
      { family: 'orca' },
      { subject: { wallet: '0x1' } },
      { subject: { wallet: WALLET, market: 'main' } },
      { subject: { wallet: WALLET, market_id: 'nowhere' } },
      ...['__proto__', 'constructor', 'prototype'].map((name) => ({ subject: { wallet: WALLET, [name]: '1' } })),
      ...[null, [WALLET], WALLET].map((subject) => ({ subject })),
      { when: { figure: 'fees_usd', below: '1' } },
      { when: { figure: 'health_factor', is: true } },
      { when: { figure: 'health_factor', below: 1.05 } },
      { when: { figure: 'health_factor', below: '-1' } },
      { when: { figure: 'health_factor', below: '1', above: '2' } },
      { when: { event: ['flashloan'] } },
      { when: { event: [] } },
      { when: { event: ['borrow'] }, clear: '1' },
      { when: { event: ['borrow'] }, for_blocks: 2 },
      { clear: '1.0' },
      { for_blocks: 0 },
      { for_blocks: 101 },
      { finality: 'soon' },
      { webhook_id: 'whk_nothing' },
      { expires_at: '2020-01-01' },
      { name: '' },
      { name: ' ' },
      { name: 'Vau\0lt' },
      { name: 'Vau\u202elt' },
      { webhook_id: 'whk_\0' },
      { more: 1 },
    ]) {
      expect([change, await wrong(change)]).toEqual([
        change,
        expect.stringMatching(/^400 INVALID_PARAMETER (?:Cannot read parameter|Unknown field) "/),
      ])
    }
    expect(await wrong({ when: undefined })).toContain('MISSING_PARAMETER')
    const range = {
      chain_id: 1,
      family: 'uniswap-v3',
      subject: { token_id: 7, manager_address: '0xC36442b4a4522E871399CD717aBDD847Ab11FE88' },
      when: { figure: 'in_range', is: false },
    }
    expect((await ask('POST', '/v1/triggers', range)).body.data).toMatchObject({ clear: null, state: 'armed' })
    const events = { ...HEALTH, when: { event: ['borrow', 'borrow', 'liquidation'] } }
    const made = await ask('POST', '/v1/triggers', events)
    expect([made.status, made.body.data?.when ?? messageOf(made)]).toEqual([200, { event: ['borrow', 'liquidation'] }])
    const { id } = made.body.data
    expect(messageOf(await ask('PATCH', `/v1/triggers/${id}`, {}))).toContain('INVALID_PARAMETER')
    expect(messageOf(await ask('PATCH', `/v1/triggers/${id}`, { for_blocks: 2 }))).toContain('for_blocks')
  })

  test('are as many as the operator allows, also if many are made at once', async () => {
    const { account, ask } = await newAccount()
    await updateOrganization(database.db, { id: account.organizationId, triggerLimit: 7, by: CLI_ACTOR })
    const made = await Promise.all(Array.from({ length: 12 }, () => ask('POST', '/v1/triggers', HEALTH)))
    expect(made.filter(({ status }) => status === 200).length).toBe(7)
    expect(new Set(made.filter(({ status }) => status === 400).map((each) => each.body.error.code))).toEqual(
      new Set(['INVALID_REQUEST']),
    )
    const pages = await Promise.all([1, 2, 3].map((page) => ask('GET', `/v1/triggers?limit=3&page=${page}`)))
    expect(pages.map((each) => each.body.data.length)).toEqual([3, 3, 1])
    expect(new Set(pages.flatMap((each) => each.body.data.map((one: { id: string }) => one.id))).size).toBe(7)
    expect(pages[2]?.body.pagination).toMatchObject({ total: 7, next_page: null })
    expect((await ask('GET', '/v1/triggers?limit=3&page=9')).body.pagination.total).toBe(7)
  })

  test('have their hours in the log, found by the path of those', async () => {
    const { account, ask } = await newAccount()
    const { organizationId, apiKeyId } = account
    const nowMs = Date.now()
    await createTrigger(database.db, { organizationId, apiKeyId, chainId: 1, createdAt: new Date(nowMs - 10_800_000) })
    await ask('GET', '/v1/triggers/trg_nothing')
    while (await chargeHour(database.db));
    const log = await ask('GET', '/v1/usage/logs?path=/v1/triggers/hour')
    expect(log.body.data).toEqual([
      expect.objectContaining({ method: 'POST', path: '/v1/triggers/hour', status_code: 200, credits_charged: 1 }),
    ])
    const others = await ask('GET', '/v1/usage/logs?path=/v1/triggers/other')
    expect(others.body.data).toEqual([expect.objectContaining({ path: '/v1/triggers/{id}', status_code: 404 })])
  })

  test('show their deliveries with every try, and no byte of an answer', async () => {
    const { ask } = await newAccount()
    const { id: webhook_id } = (await ask('POST', '/v1/webhooks', { url: hook('status/500') })).body.data
    const { id } = (await ask('POST', '/v1/triggers', { ...HEALTH, webhook_id })).body.data
    const path = `/v1/triggers/${id}/deliveries`
    expect(charged(await ask('GET', path))).toBe(0)
    const sent = (await ask('POST', `/v1/triggers/${id}/test`)).body.data.id
    await waitFor('a try', async () => (await ask('GET', path)).body.data[0]?.tries.length === 1)
    const answer = await ask('GET', path)
    expect(charged(answer)).toBe(1)
    expect(answer.body.data).toEqual([
      {
        id: sent,
        type: 'webhook.test',
        change: null,
        created_at: expect.any(String),
        webhook_id,
        status: 'due',
        next_try_at: expect.any(String),
        tries: [{ at: expect.any(String), status_code: 500, failure: null, latency_ms: expect.any(Number) }],
      },
    ])
    expect(answer.text).not.toContain(RECEIVER_BODY)
    await ask('PATCH', `/v1/triggers/${id}`, { webhook_id: null })
    await ask('POST', `/v1/triggers/${id}/test`)
    expect((await ask('GET', path)).body.data[0]).toMatchObject({ status: 'feed', next_try_at: null, tries: [] })
  })
})

test("another organization's ids lead nowhere", async () => {
  const [{ ask }, { ask: askOther }] = await Promise.all([newAccount(), newAccount()])
  const webhook = (await ask('POST', '/v1/webhooks', { url: hook() })).body.data.id
  const trigger = (await ask('POST', '/v1/triggers', HEALTH)).body.data.id
  const own = `/v1/webhooks/${webhook}`
  for (const [method, path, body] of [
    ['GET', own],
    ['PATCH', own, { name: 'x' }],
    ['DELETE', own],
    ['POST', `${own}/rotate`, {}],
    ['POST', `${own}/test`],
    ['POST', `${own}/redeliver`, { ids: [crypto.randomUUID()] }],
    ['GET', `/v1/triggers/${trigger}`],
    ['PATCH', `/v1/triggers/${trigger}`, { name: 'x' }],
    ['DELETE', `/v1/triggers/${trigger}`],
    ['POST', `/v1/triggers/${trigger}/test`],
    ['GET', `/v1/triggers/${trigger}/deliveries`],
  ] as const) {
    const answer = await askOther(method, path, body)
    expect([method, path, answer.status, answer.body.error.code]).toEqual([method, path, 404, 'NOT_FOUND'])
    expect(charged(answer)).toBe(0)
  }
  expect((await askOther('POST', '/v1/triggers', { ...HEALTH, webhook_id: webhook })).status).toBe(400)
  expect((await askOther('GET', '/v1/webhooks')).body.data).toEqual([])
  expect((await ask('GET', own)).body.data.name).toBe('')
})

test('everything is refused while the feature is off, and nothing is charged', async () => {
  const off = await openProcess(database.db, { TRIGGERS: 'off' })
  const { account } = await newAccount()
  const ask = askWith(account, off.ask)
  for (const [method, path, body] of [
    ['GET', '/v1/triggers'],
    ['POST', '/v1/triggers', HEALTH],
    ['GET', '/v1/webhooks'],
    ['GET', '/v1/events'],
  ] as const) {
    const answer = await ask(method, path, body)
    expect([path, answer.status, answer.body.error.code]).toEqual([path, 403, 'FEATURE_DISABLED'])
  }
  await off.close()
})

describe('the feed', () => {
  const add = ({ organizationId }: Account, texts: readonly string[]) =>
    addMessages(
      database.db,
      texts.map((text) => ({
        organizationId,
        triggerId: null,
        webhookId: null,
        body: { type: 'trigger.blind', timestamp: new Date().toISOString(), text, data: { text } },
      })),
    )

  test('returns all messages in order, after the last one received, free of charge if there is none', async () => {
    const { account, ask } = await newAccount()
    const nothing = await ask('GET', '/v1/events')
    expect([nothing.body.data, charged(nothing)]).toEqual([[], 0])
    const texts = Array.from({ length: 60 }, (_, index) => String(index))
    const ids = await add(account, texts)
    const seen: { id: string; text: string }[] = []
    for (;;) {
      const after = seen.at(-1)?.id
      const answer = await ask('GET', `/v1/events?limit=25${after === undefined ? '' : `&after=${after}`}`)
      if (answer.body.data.length === 0) break
      expect(charged(answer)).toBe(1)
      seen.push(...answer.body.data)
    }
    expect(seen.map(({ text }) => text)).toEqual(texts)
    expect(seen.map(({ id }) => id)).toEqual([...ids])
    expect(seen[0]).toMatchObject({ type: 'trigger.blind', data: { text: '0' } })

    await database.db.run('delete from message where organization_id = $1 and no <= 10', [account.organizationId])
    const old = await ask('GET', `/v1/events?after=${ids[3]}`)
    expect(messageOf(old)).toContain(`400 INVALID_PARAMETER`)
    expect(messageOf(old)).toContain(`the oldest is "${ids[10]}"`)
    for (const query of ['after=x', 'wait=26', 'wait=-1', 'limit=101', 'limit=0']) {
      expect((await ask('GET', `/v1/events?${query}`)).status).toBe(400)
    }
  })

  test('answers a caller that waits once there is a message', async () => {
    const { account, ask } = await newAccount()
    const waiting = ask('GET', '/v1/events?wait=25')
    await add(account, ['now'])
    expect((await waiting).body.data.map(({ text }: { text: string }) => text)).toEqual(['now'])
  })

  test('loses nothing between two calls, while four writers add', async () => {
    const { account, ask } = await newAccount({ credits: 5_000 })
    const total = 400
    let added = 0
    const writing = Array.from({ length: 4 }, async () => {
      while (added < total) await add(account, [String(added++)])
    })
    const seen: string[] = []
    let after = ''
    while (seen.length < total) {
      const { body } = await ask('GET', `/v1/events?wait=5&limit=100${after}`)
      for (const { id, text } of body.data) {
        seen.push(text)
        after = `&after=${id}`
      }
    }
    await Promise.all(writing)
    expect(seen.length).toBeGreaterThanOrEqual(total)
    expect(new Set(seen).size).toBe(seen.length)
  }, 60_000)

  test('lets sixteen of an organization wait, and answers all at once when the process drains', async () => {
    const own = await openProcess(database.db)
    const { account } = await newAccount()
    const ask = askWith(account, own.ask)
    const waits = Array.from({ length: 17 }, () => ask('GET', '/v1/events?wait=25'))
    const refused = await Promise.race(waits)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    own.drain()
    const answers = await Promise.all(waits)
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(16).fill(200), 503])
    expect(new Set(answers.map(charged))).toEqual(new Set([0]))
    expect((await ask('GET', '/v1/events?wait=25')).body.data).toEqual([])
    await own.close()
  }, 20_000)
})
