import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { readConfig } from '../../../../src/config/config.ts'
import type { Database } from '../../../../src/db/database.ts'
import type { Route } from '../../../../src/http/route/route.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { createServiceRoutes } from '../../../../src/service/routes.ts'
import { type Account, createAccount, readBooks } from '../../../support/account/scene.ts'
import type { Answer, ClientRequest } from '../../../support/client.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { openProcess, type Process } from '../../../support/operator/scene.ts'
import { addMany } from '../../../support/trigger/deliver/scene.ts'
import { waitFor } from '../../../support/wait_for.ts'

type Run = () => Promise<readonly never[]>

let database: TestDatabase
let served: Process
/** Run statements of settlements with a change, and of their voids; tests let them fail, wait or come late. */
let settling: (run: Run) => Promise<readonly never[]>
let voiding: (run: Run) => Promise<readonly never[]>
/** Statements with one of these texts are run, and their answers lost. */
const losing: string[] = []
const statements: string[] = []

beforeAll(async () => {
  database = await testDatabase()
  const db: Database = {
    ...database.db,
    run(text, params, options) {
      statements.push(text)
      const run: Run = async () => {
        const rows = await database.db.run<never>(text, params, options)
        if (losing.some((each) => text.includes(each))) throw lost()
        return rows
      }
      if (text.includes('gate_settle_change(')) return settling(run)
      return text.includes('gate_void_change(') ? voiding(run) : run()
    },
  }
  served = await openProcess(db, { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' })
}, 60_000)
afterEach(() => {
  settling = voiding = (run) => run()
  losing.length = 0
})
settling = voiding = (run) => run()
afterAll(async () => {
  await served.close()
  await database.close()
}, 60_000)

const HEALTH = {
  chain_id: 1,
  family: 'aave-v3',
  subject: { wallet: '0x00000000000000000000000000000000000000AA' },
  when: { figure: 'health_factor', below: '1.05' },
}
const HOOK = { url: 'http://127.0.0.1:9/' }

type Ask = (method: string, path: string, body?: unknown, more?: ClientRequest & { idem?: string }) => Promise<Answer>

function askWith({ key }: Account): Ask {
  return (method, path, body, { idem, headers: others, ...more } = {}) => {
    const headers = {
      ...others,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idem === undefined ? {} : { 'idempotency-key': idem }),
    }
    return served.ask(path, {
      method,
      key,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...more,
    })
  }
}

async function newAccount(credits = 1_000) {
  const account = await createAccount(database.db, { credits })
  const count = async (table: string) => {
    const rows = await database.db.run(`select from ${table} where organization_id = $1`, [account.organizationId])
    return rows.length
  }
  return {
    account,
    ask: askWith(account),
    count,
    triggers: () => count('watch'),
    books: () => readBooks(database.db, account.organizationId),
  }
}

/** Repeats a request with its key until it is answered with 200, as a client does. */
async function repeat(ask: () => Promise<Answer>): Promise<Answer> {
  let answer = await ask()
  await waitFor('an answer with 200', async () => {
    if (answer.status !== 200) answer = await ask()
    return answer.status === 200
  })
  return answer
}

/** Webhooks, triggers and messages, without what deliveries change. */
async function readState({ organizationId }: Account): Promise<unknown> {
  const [row] = await database.db.run<{ state: string }>(
    `select json_build_array(
       (select json_agg(json_build_array(w.id, w.url, w.name, w.generation, w.overlap_until) order by w.id)
        from webhook w where w.organization_id = $1),
       (select json_agg(w order by w.id) from watch w where w.organization_id = $1),
       (select json_agg(s order by s.id) from watch_state s where s.organization_id = $1),
       (select json_agg(json_build_array(m.id, m.webhook_id, m.outcome) order by m.no)
        from message m where m.organization_id = $1))::text as state`,
    [organizationId],
  )
  return JSON.parse(row?.state ?? '')
}

const lost = () => new UnavailableError('The database does not answer')

/** An account with a webhook, a dead message and a trigger, and each request that changes one of them, or adds one. */
async function scene() {
  const made = await newAccount()
  const { account, ask } = made
  const webhook = (await ask('POST', '/v1/webhooks', HOOK)).body.data.id
  const idle = (await ask('POST', '/v1/webhooks', HOOK)).body.data.id
  const trigger = (await ask('POST', '/v1/triggers', HEALTH)).body.data.id
  await addMany(database.db, { organizationId: account.organizationId, webhookId: webhook, count: 1 })
  await database.db.run(`update message set due_at = null, outcome = 'dead' where organization_id = $1`, [
    account.organizationId,
  ])
  const range = { from: '2020-01-01', to: '2999-01-01' }
  const requests = [
    ['POST', '/v1/triggers', HEALTH],
    ['PATCH', `/v1/triggers/${trigger}`, { name: 'New' }],
    ['POST', `/v1/triggers/${trigger}/test`],
    ['DELETE', `/v1/triggers/${trigger}`],
    ['POST', '/v1/webhooks', HOOK],
    ['PATCH', `/v1/webhooks/${webhook}`, { name: 'New' }],
    ['POST', `/v1/webhooks/${webhook}/rotate`, {}],
    ['POST', `/v1/webhooks/${webhook}/test`],
    ['POST', `/v1/webhooks/${webhook}/redeliver`, range],
    ['DELETE', `/v1/webhooks/${idle}`],
  ] as const
  return { ...made, requests, webhook }
}

const requestsByTemplate = (requests: readonly (readonly [string, string, ...unknown[]])[]) =>
  requests.map(([method, path]) => `${method} ${path.replace(/\/(trg|whk)_\w+/, '/:id')}`)

describe('a route that changes data', () => {
  test('is each one whose method is not GET, but reads of batches; and all are tested here', async () => {
    const config = readConfig({ CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9' }, () => '')
    const never = () => Promise.reject(new Error('Expected no call'))
    const routes: readonly Route[] = createServiceRoutes(config, never as never, never as never)
    const isBatch = ({ method, path }: Route) => method === 'POST' && path.endsWith('/batch')
    const changing = routes.filter((route) => route.method !== 'GET' && !isBatch(route))
    expect(changing.filter(({ changes, presenter }) => changes !== true || presenter === undefined)).toEqual([])
    expect(routes.filter(({ method, changes }) => method === 'GET' && changes)).toEqual([])
    const { requests } = await scene()
    const listed = changing.map(({ method, path }) => `${method} ${path}`).toSorted()
    expect(requestsByTemplate(requests).toSorted()).toEqual(listed)
  })

  test('is made with its charge alone: of ten at once with one credit, one is made', async () => {
    const { ask, triggers, books } = await newAccount(1)
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask('POST', '/v1/triggers', HEALTH)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(402)])
    expect(await triggers()).toBe(1)
    expect(await books()).toMatchObject({ balance: 0, charged: 1, statuses: { 200: 1, 402: 9 } })
  })

  test('whose settlement fails for certain changes nothing, whichever it is', async () => {
    const { account, ask, requests, books } = await scene()
    const [before, { charged }] = [await readState(account), await books()]
    // The row of each, sent late, finds that of its void.
    const late: Run[] = []
    settling = async (run) => {
      late.push(run)
      throw lost()
    }
    for (const [method, path, body] of requests) {
      const answer = await ask(method, path, body, { idem: `fails_${method}_${path}` })
      expect([path, answer.status, answer.body.error.message]).toEqual([path, 503, expect.stringContaining('may have')])
    }
    await waitFor('the voids', async () => (await books()).statuses['503'] === requests.length)
    for (const run of late) await expect(run()).rejects.toMatchObject({ name: 'SqlError' })
    expect(await readState(account)).toEqual(before)
    expect((await books()).charged).toBe(charged)
    settling = (run) => run()
    for (const [method, path, body] of requests) {
      expect((await ask(method, path, body, { idem: `fails_${method}_${path}` })).status).toBe(200)
    }
    expect((await books()).charged).toBe(charged + 1)
  }, 30_000)

  test('that was committed unseen stays with its charge, and its key finds it done once, whichever it is', async () => {
    const { account, ask, requests, books } = await scene()
    const { charged } = await books()
    let open = () => {}
    const held = new Promise<void>((resolve) => {
      open = resolve
    })
    voiding = async (run) => {
      await held
      return run()
    }
    settling = async (run) => {
      await run()
      throw lost()
    }
    const send = async ([method, path, body]: (typeof requests)[number]) =>
      ask(method, path, body, { idem: `unseen_${method}_${path}` })
    for (const each of requests) expect((await send(each)).status).toBe(503)
    settling = (run) => run()
    const done = await readState(account)
    const answers: Answer[] = []
    for (const each of requests) answers.push(await send(each))
    open()
    await waitFor('the voids', async () => statements.filter((text) => text.includes('gate_void_change(')).length > 9)
    const again: Answer[] = []
    for (const each of requests) again.push(await send(each))
    expect(again.map(({ status, text }) => [status, text])).toEqual(answers.map(({ text }) => [200, text]))
    expect(again.every(({ headers }) => headers.get('idempotency-replayed') === 'true')).toBe(true)
    expect(await readState(account)).toEqual(done)
    expect(await books()).toMatchObject({ charged: charged + 1 })
    expect((await books()).statuses['503']).toBeUndefined()
  }, 30_000)

  test('is repeated until it is answered, with a database that loses answers: one of each key', async () => {
    const { ask, triggers, books } = await newAccount(100)
    const ways: readonly ((run: Run) => Promise<readonly never[]>)[] = [
      (run) => run(),
      async (run) => {
        await run()
        throw lost()
      },
      () => Promise.reject(lost()),
    ]
    let sent = 0
    settling = (run) => (ways[sent++ % ways.length] ?? run)(run)
    const keys = Array.from({ length: 24 }, (_, index) => `k${index}`)
    await Promise.all(keys.map((idem) => repeat(() => ask('POST', '/v1/triggers', HEALTH, { idem }))))
    expect(await triggers()).toBe(keys.length)
    await waitFor('the books', async () => (await books()).charged === keys.length)
    expect((await books()).balance).toBe(100 - keys.length)
  }, 30_000)

  test('changes nothing for a caller who left before it is settled, and stays for one who leaves later', async () => {
    const { ask, triggers, books } = await newAccount(100)
    const leave = async (idem: string, whenSettling: boolean) => {
      const caller = new AbortController()
      settling = (run) => {
        if (whenSettling) caller.abort()
        return run()
      }
      const asked = ask('POST', '/v1/triggers', HEALTH, { idem, signal: caller.signal })
      if (!whenSettling) caller.abort()
      await asked
    }
    for (let index = 0; index < 5; index++) {
      await leave(`early_${index}`, false)
      await leave(`late_${index}`, true)
    }
    expect(await triggers()).toBe(5)
    expect(await books()).toMatchObject({ charged: 5, statuses: { 200: 5, 499: 5 } })
    for (let index = 0; index < 5; index++) {
      for (const when of ['early', 'late'])
        await repeat(() => ask('POST', '/v1/triggers', HEALTH, { idem: `${when}_${index}` }))
    }
    expect(await triggers()).toBe(10)
    expect((await books()).charged).toBe(10)
  })

  test('is refused at its settlement without a charge, and its key is free', async () => {
    const { account, ask, triggers, books } = await newAccount()
    await database.db.run('update organization set trigger_limit = 0 where id = $1', [account.organizationId])
    const send = () => ask('POST', '/v1/triggers', HEALTH, { idem: 'limit' })
    expect([(await send()).status, (await send()).status, await triggers()]).toEqual([400, 400, 0])
    expect(await books()).toMatchObject({ charged: 0, statuses: { 400: 2 } })
    await database.db.run('update organization set trigger_limit = 1 where id = $1', [account.organizationId])
    expect([(await send()).status, (await send()).status, await triggers()]).toEqual([200, 200, 1])
    expect((await books()).charged).toBe(1)
  })

  test('is not made by a request that lost its key to another', async () => {
    const { account, ask, triggers, books } = await newAccount()
    settling = async (run) => {
      await database.db.run(`update idempotency_record set settlement_id = 'another' where organization_id = $1`, [
        account.organizationId,
      ])
      return run()
    }
    const answer = await ask('POST', '/v1/triggers', HEALTH, { idem: 'taken' })
    expect([answer.status, await triggers()]).toEqual([409, 0])
    expect(await books()).toMatchObject({ charged: 0, statuses: { 409: 1 } })
  })

  test('keeps no secret: a repetition derives it anew, to the byte', async () => {
    const { account, ask, webhook } = await scene()
    for (const [path, body] of [
      ['/v1/webhooks', HOOK],
      [`/v1/webhooks/${webhook}/rotate`, {}],
    ] as const) {
      const first = await ask('POST', path, body, { idem: path, headers: { 'x-request-id': 'mine' } })
      const second = await ask('POST', path, body, { idem: path })
      expect(first.body.data.secret).toStartWith('whsec_')
      expect([second.status, second.text]).toEqual([200, first.text])
    }
    const kept = await database.db.run<{ body: string; bytes: number }>(
      'select body, bytes from idempotency_record where organization_id = $1',
      [account.organizationId],
    )
    expect(kept).toHaveLength(2)
    expect(JSON.stringify(kept)).not.toContain('whsec_')
    const [use] = await database.db.run<{ bytes: string }>(
      'select bytes from idempotency_use where organization_id = $1',
      [account.organizationId],
    )
    expect(Number(use?.bytes)).toBe(kept.reduce((sum, { bytes }) => sum + bytes, 0))
    expect(Number(use?.bytes)).toBeGreaterThan(2 * 512)
  })
})

describe('an Idempotency-Key', () => {
  test('costs a request that is refused before its work no statement', async () => {
    const account = await createAccount(database.db, { rateLimit: 1 })
    const ask = askWith(account)
    const suspended = await createAccount(database.db)
    await database.db.run('update organization set suspended_at = now() where id = $1', [suspended.organizationId])
    const measure = async (idem?: string) => {
      const from = statements.length
      const more = idem === undefined ? {} : { idem }
      const answers = [
        ...(await Promise.all(Array.from({ length: 20 }, () => ask('GET', '/v1/nothing', undefined, more)))),
        await ask('PUT', '/v1/triggers', undefined, more),
        await askWith(suspended)('GET', '/v1/triggers', undefined, more),
      ]
      expect(answers.filter(({ status }) => status < 400)).toEqual([])
      return statements.slice(from).filter((text) => text.includes('idempotency')).length
    }
    expect([await measure(), await measure('key')]).toEqual([0, 0])
  })

  test('that another request has used costs nothing to release', async () => {
    const { ask } = await newAccount()
    expect((await ask('GET', '/v1/triggers', undefined, { idem: 'used' })).status).toBe(200)
    const from = statements.length
    expect((await ask('GET', '/v1/webhooks', undefined, { idem: 'used' })).status).toBe(422)
    expect(statements.slice(from).filter((text) => text.includes('delete from idempotency_record'))).toEqual([])
  })

  test('is free at once after a claim or a charge whose answer was lost, which is not replayed for nothing', async () => {
    const { ask, books } = await newAccount()
    await ask('POST', '/v1/triggers', HEALTH)
    for (const statement of ['idempotency_claim(', 'gate_settle_batch_idempotent(']) {
      const send = () => ask('GET', '/v1/triggers', undefined, { idem: statement.replace('(', '') })
      losing.push(statement, 'gate_void_batch(')
      expect((await send()).status).toBe(503)
      losing.shift()
      const again = await send()
      expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, null])
      losing.length = 0
    }
    await waitFor('the voids', async () => (await books()).statuses['503'] === 2)
    expect((await books()).charged).toBe(3)
  })

  test('is released together with others', async () => {
    const { ask } = await newAccount()
    const from = statements.length
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => ask('GET', '/v1/triggers/none', undefined, { idem: `k${index}` })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]))
    const released = statements.slice(from).filter((text) => text.includes('delete from idempotency_record'))
    expect(released.length).toBeGreaterThan(0)
    expect(released.length).toBeLessThan(30)
    const again = await ask('GET', '/v1/triggers/none', undefined, { idem: 'k0' })
    expect(again.status).toBe(404)
  })
})
