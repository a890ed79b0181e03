import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { parseDatabaseUrl } from '../../../../src/db/address.ts'
import { type DatabasePool, openDatabase } from '../../../../src/db/connection/pool.ts'
import type { Database } from '../../../../src/db/database.ts'
import { SqlError } from '../../../../src/db/database.ts'
import { type Clock, systemClock } from '../../../../src/lib/clock.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { createLog, silentLog } from '../../../../src/lib/log.ts'
import { caseCount } from '../../../support/cases.ts'
import { startTestServer, type TestDatabase, type TestServer, testDatabase } from '../../../support/database.ts'
import { holdLock } from '../../../support/held_lock.ts'
import { waitForLockWaits } from '../../../support/lock_waits.ts'
import { createFixedClock, createTestClock, settle, type TestClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'

let database: TestDatabase
const opened: Database[] = []

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(async () => {
  await Promise.all(opened.map((db) => db.close()))
  await database.close()
}, 60_000)

function open(
  url: string,
  options: { readonly max?: number; readonly lines?: string[]; readonly clock?: Clock } = {},
): DatabasePool {
  const { max = 4, lines, clock = systemClock } = options
  const log =
    lines === undefined
      ? silentLog
      : createLog({ level: 'debug', write: (line) => lines.push(line), clock: createFixedClock() })
  const db = openDatabase({ url, clock, log, max })
  opened.push(db)
  return db
}

function catchFailure(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: Error) => error)
}

/** How many sessions run this statement. */
async function running(statement: string, db: Database = database.db): Promise<number> {
  const [row] = await db.run<{ n: number }>(
    "select count(*)::int4 as n from pg_stat_activity where query = $1 and state = 'active'",
    [statement],
  )
  return row?.n ?? 0
}

/** Waits until so many sessions run this statement. */
function waitForRunning(statement: string, count = 1): Promise<void> {
  return waitFor(`${count} × ${statement}`, async () => (await running(statement)) === count)
}

/** A statement that answers with its process only once `release` was called. */
async function holdStatements(url: string = database.url) {
  const { wait, release } = await holdLock(url)
  return { statement: `select pg_backend_pid() as pid from ${wait}`, release }
}

/** Sets `isOver` once work has settled. */
function watch(work: Promise<unknown>): { readonly isOver: boolean } {
  const watched = { isOver: false }
  const end = () => {
    watched.isOver = true
  }
  work.then(end, end)
  return watched
}

/** Resolves when a statement succeeds again. The time of a test's clock passes meanwhile, so that it is tried again. */
function recovery(db: Database, clock?: TestClock): Promise<void> {
  const succeeds = async () => {
    await clock?.advance(200)
    return db.run('select 1', [], { deadlineMs: 1_500 }).then(Boolean, () => false)
  }
  return waitFor('a statement to succeed again', succeeds)
}

/** A server that does not speak PostgreSQL: it calls `behave` for every connection. */
async function fakeServer(
  behave: (socket: Socket) => void,
): Promise<{ url: string; sockets: Socket[]; server: Server }> {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    behave(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `postgres://user:hush@127.0.0.1:${port}/postgres`, sockets, server }
}

/** The real server behind one that passes nothing of a connection on, the first being 1, before it is `opened`. */
async function slowToOpen(opened: (no: number) => Promise<void>) {
  const { listeners, user, password = '', database: name } = parseDatabaseUrl(database.url)
  const [listener] = listeners
  let connections = 0
  const fake = await fakeServer((socket) => {
    void opened(++connections).then(() => {
      const upstream = 'path' in listener ? connect(listener.path) : connect(listener.port, listener.host)
      upstream.on('error', () => {})
      socket.pipe(upstream).pipe(socket)
    })
  })
  const { port } = new URL(fake.url)
  return { ...fake, url: `postgres://${user}:${password}@127.0.0.1:${port}/${name}` }
}

test('run() carries every type of parameter and gives exact values back', async () => {
  const rows = await database.db.run(
    `select $1::text as t, $2::int8 as i, $3::numeric as n, $4::boolean as b, $5::timestamptz as at, $6::bytea as bytes,
            $7::text[] as texts, $8::int4[] as numbers, $9::jsonb as json, $10::float8 as float, $11::text as nothing,
            $12::text[]::timestamptz[] as times, array['a', null, 'NULL'] as holes, array[array[1, 2], array[3, 4]] as grid`,
    [
      "it's",
      '9223372036854775807',
      '123456789012345678901234567890.0000001',
      false,
      new Date('2024-02-29T23:59:59.123Z'),
      new Uint8Array([0, 1, 255]),
      ['a"b', 'c\\d', '', 'NULL', '{x,y}', '  ', 'ü'],
      [1, -2],
      '{"a":[1,"2"]}',
      0.1,
      null,
      ['2024-01-01T00:00:00Z', '1970-01-01T00:00:00Z'],
    ],
  )
  expect(rows).toEqual([
    {
      t: "it's",
      i: '9223372036854775807',
      n: '123456789012345678901234567890.0000001',
      b: false,
      at: new Date('2024-02-29T23:59:59.123Z'),
      bytes: new Uint8Array([0, 1, 255]),
      texts: ['a"b', 'c\\d', '', 'NULL', '{x,y}', '  ', 'ü'],
      numbers: [1, -2],
      json: { a: [1, '2'] },
      float: 0.1,
      nothing: null,
      times: [new Date('2024-01-01T00:00:00Z'), new Date(0)],
      holes: ['a', null, 'NULL'],
      grid: [
        [1, 2],
        [3, 4],
      ],
    },
  ])
})

test('run() keeps microseconds of a timestamp sent as text', async () => {
  const [row] = await database.db.run<{ t: string }>('select ($1::timestamptz)::text as t', [
    '2024-01-01T00:00:00.123456Z',
  ])
  expect(row?.t).toBe('2024-01-01 00:00:00.123456+00')
})

test('run() refuses a number that may have lost digits', async () => {
  await expect(database.db.run('select $1::int8', [2 ** 53])).rejects.toBeInstanceOf(RangeError)
})

test('run() throws SqlError with the SQLSTATE and the constraint when the server refuses', async () => {
  const { db } = database
  await db.run('create table single (id integer constraint single_id primary key)', [])
  await db.run('insert into single values (1)', [])
  const error = await db.run('insert into single values (1)', []).catch((each) => each)
  expect(error).toBeInstanceOf(SqlError)
  expect(error).toMatchObject({ code: '23505', constraint: 'single_id' })
  await expect(db.run('select 1; select 2', [])).rejects.toMatchObject({ code: '42601' })
})

test('run() ends by its deadline, frees the server of the statement, and the pool keeps serving', async () => {
  const clock = createTestClock()
  const db = open(database.url, { max: 1, clock })
  const asked = catchFailure(db.run('select pg_sleep(600)', []))
  const watched = watch(asked)
  await waitForRunning('select pg_sleep(600)')
  await clock.advance(1_499)
  expect(watched.isOver).toBe(false)
  await clock.advance(1)
  expect(await asked).toBeInstanceOf(UnavailableError)
  expect(await db.run('select 1 as one', [])).toEqual([{ one: 1 }])
  // The lost connection is closed after a moment, which the server notices.
  await clock.advance(200)
  await waitForRunning('select pg_sleep(600)', 0)
})

test('run() keeps the deadline of each statement, and slow statements delay no others', async () => {
  const clock = createTestClock()
  const db = open(database.url, { max: 1, clock })
  const slow = catchFailure(db.run('select pg_sleep(601)', [], { lane: 'background', deadlineMs: 5_000 }))
  const watched = watch(slow)
  await waitForRunning('select pg_sleep(601)')
  const late = catchFailure(db.run('select pg_sleep(602)', [], { deadlineMs: 100 }))
  await waitForRunning('select pg_sleep(602)')
  await clock.advance(100)
  expect(await late).toBeInstanceOf(UnavailableError)
  await db.run('select 1', [])
  await clock.advance(4_899)
  expect(watched.isOver).toBe(false)
  await clock.advance(1)
  expect(await slow).toBeInstanceOf(UnavailableError)
})

test('no lane waits for another, and a statement that waits for its own takes nothing from the others', async () => {
  const clock = createTestClock()
  const db = open(database.url, { max: 2, clock })
  await db.run('select 1', [])
  const { release, statement } = await holdStatements()
  const slow = (['read', 'background'] as const).flatMap((lane) =>
    Array.from({ length: 2 }, () => catchFailure(db.run(statement, [], { lane, deadlineMs: 5_000 }))),
  )
  await waitForRunning(statement, 4)
  const waiting = catchFailure(db.run('select 1', [], { lane: 'read', deadlineMs: 100 }))
  await clock.advance(100)
  expect(await waiting).toMatchObject({ message: 'Too many requests wait for the database' })
  expect(await db.run('select 2 as two', [], { lane: 'gate' })).toEqual([{ two: 2 }])
  await release()
  // The statement that gave up was behind these in the queue; they go on.
  for (const outcome of await Promise.all(slow)) expect(outcome).not.toBeInstanceOf(Error)
  expect(await db.run('select 3 as three', [])).toEqual([{ three: 3 }])
})

test('a lane opens no more connections than needed, and waiting statements run in order', async () => {
  const { db, url, close } = await testDatabase()
  const pid = async () => (await db.run<{ pid: number }>('select pg_backend_pid() as pid', []))[0]?.pid
  const alone = [await pid(), await pid(), await pid()]
  expect(new Set(alone).size).toBe(1)
  const { release, statement } = await holdStatements(url)
  const held = async () => (await db.run<{ pid: number }>(statement, [], { deadlineMs: 10_000 }))[0]?.pid
  const together = Promise.all(Array.from({ length: 16 }, held))
  await waitForRunning(statement, 4)
  await release()
  expect(new Set(await together).size).toBe(4)
  await close()
})

test('connections are opened one at a time, and finished even if their waiters have timed out', async () => {
  const opened = Promise.withResolvers<void>()
  const { url, server, sockets } = await slowToOpen(() => opened.promise)
  const clock = createTestClock()
  const db = open(url, { max: 8, clock })
  const ask = (deadlineMs: number) => db.run('select 1 as one', [], { lane: 'gate', deadlineMs })
  const given = Promise.all(Array.from({ length: 20 }, () => catchFailure(ask(200))))
  await waitFor('a connection', () => sockets.length === 1)
  await clock.advance(200)
  for (const each of await given) expect(each).toMatchObject({ message: 'The database does not answer' })
  expect(sockets).toHaveLength(1)
  opened.resolve()
  await clock.advance(100)
  expect(await ask(1_500)).toEqual([{ one: 1 }])
  expect(sockets).toHaveLength(1)
  server.close()
})

test('a lane refuses a deadline that is longer than its own', async () => {
  await expect(database.db.run('select 1', [], { lane: 'gate', deadlineMs: 1_501 })).rejects.toThrow(
    'expected a deadline up to 1500 ms',
  )
})

test('run() sends the victim of a deadlock again', async () => {
  const db = open(database.url)
  await db.run('create table pair (id integer primary key, n integer not null default 0)', [])
  await db.run('insert into pair values (1), (2)', [])
  const { wait, release } = await holdLock(database.url)
  const crosswise = (first: number, second: number) =>
    db.run(
      `do $$ begin
         update pair set n = n + 1 where id = ${first};
         perform ${wait};
         update pair set n = n + 1 where id = ${second};
       end $$`,
      [],
      { deadlineMs: 10_000 },
    )
  const both = Promise.all([crosswise(1, 2), crosswise(2, 1)])
  await waitForLockWaits(database.db, 2)
  await release()
  await both
  expect(await db.run('select n from pair order by id', [])).toEqual([{ n: 2 }, { n: 2 }])
})

test('run() sees what was committed before, despite the default isolation of the database', async () => {
  const { db, url, close } = await testDatabase()
  const [row] = await db.run<{ name: string }>('select current_database() as name', [])
  await db.run(`alter database ${row?.name} set default_transaction_isolation = 'serializable'`, [])
  const [shown] = await open(url).run<object>('show transaction_isolation', [])
  expect(shown).toEqual({ transaction_isolation: 'read committed' })
  await close()
})

test('run() throws UnavailableError when its backend is terminated, and serves the next statement', async () => {
  const db = open(database.url)
  const victim = catchFailure(db.run("select pg_sleep(10), 'victim'", [], { lane: 'background', deadlineMs: 60_000 }))
  await waitFor('the victim to run', async () => (await running("select pg_sleep(10), 'victim'")) === 1)
  await database.db.run(
    "select pg_terminate_backend(pid) from pg_stat_activity where query like '%''victim''%' and pid <> pg_backend_pid()",
    [],
  )
  expect(await victim).toBeInstanceOf(UnavailableError)
  expect(await db.run('select 1 as one', [])).toEqual([{ one: 1 }])
})

test('run() never waits for an answer of a session that the server has ended', async () => {
  const db = open(`${database.url}${database.url.includes('?') ? '&' : '?'}application_name=ended`)
  const reasons = new Set<string>()
  let running = true
  const clients = Array.from({ length: 4 }, async () => {
    while (running) {
      await db.run('select 1', [], { deadlineMs: 10_000 }).catch(({ cause }) => reasons.add(String(cause)))
      await settle(1)
    }
  })
  for (let round = 0; round < caseCount(100, 25); round++) {
    const end = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ended'"
    await database.db.run(end, [])
    await recovery(db)
  }
  running = false
  await Promise.all(clients)
  expect([...reasons].filter((reason) => reason.includes('deadline'))).toEqual([])
}, 60_000)

test('run() refuses at once when too many statements wait', async () => {
  const db = open(database.url, { clock: createTestClock() })
  const outcomes = await Promise.all(
    Array.from({ length: 1_100 }, () => db.run('select 1', []).catch((error: Error) => error.message)),
  )
  expect(outcomes.filter((outcome) => outcome === 'Too many requests wait for the database').length).toBe(100)
})

test('the error of a refused connection names no host, user or password, and later ones fail at once', async () => {
  const { url, server } = await fakeServer(() => {})
  await new Promise((resolve) => server.close(resolve))
  const lines: string[] = []
  const db = open(url, { lines })
  const errors: Error[] = []
  for (let count = 0; count < 20; count++) errors.push(await db.run('select 1', []).catch((error) => error))
  for (const error of errors) {
    expect(error).toBeInstanceOf(UnavailableError)
    expect(`${error.message} ${error.cause} ${error.stack}`).not.toMatch(/hush|127\.0\.0\.1|user:/)
  }
  expect(lines.join('')).not.toMatch(/hush|127\.0\.0\.1/)
  expect(lines).toHaveLength(1)
  expect(String(errors.at(-1)?.cause)).toContain('not tried again yet')
})

test('a refusal of the server is reported in its own words', async () => {
  const lines: string[] = []
  const unknown = database.url.replace(/\/[^/?]*(\?|$)/, '/absent$1')
  const outcome = await catchFailure(open(unknown, { lines }).run('select 1', []))
  expect(outcome).toBeInstanceOf(UnavailableError)
  expect(lines.map((line) => JSON.parse(line).reason)).toEqual(['database "absent" does not exist (3D000)'])
})

test.each([
  ['is silent', (_: Socket) => {}],
  ['closes while a session starts', (socket: Socket) => void socket.once('data', () => socket.end())],
  ['resets the connection', (socket: Socket) => void socket.resetAndDestroy()],
  ['answers with nonsense', (socket: Socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
])('run() ends by its deadline when the server %s', async (_, behave) => {
  const { url, server, sockets } = await fakeServer(behave)
  const clock = createTestClock()
  const asked = catchFailure(open(url, { clock }).run('select 1', [], { deadlineMs: 300 }))
  await waitFor('a connection', () => sockets.length > 0)
  // Connecting alone may take 3,000 ms.
  await clock.advance(300)
  expect(await asked).toBeInstanceOf(UnavailableError)
  await clock.advance(3_700)
  await waitFor('connections to be closed', () => sockets.filter((socket) => !socket.destroyed).length < 2)
  for (const socket of sockets) socket.destroy()
  server.close()
})

test('run() uses the next host when the first is unreachable', async () => {
  const url = new URL(database.url)
  url.searchParams.set('host', `/nowhere,${url.searchParams.get('host') ?? url.host}`)
  const db = open(url.href)
  expect(await db.run('select 1 as one', [])).toEqual([{ one: 1 }])
})

test('close() returns within two seconds while a statement hangs', async () => {
  const { url, server, sockets } = await fakeServer(() => {})
  const clock = createTestClock()
  const db = open(url, { clock })
  const hanging = db.run('select 1', [], { lane: 'background', deadlineMs: 60_000 }).catch((error) => error)
  await waitFor('a connection', () => sockets.length > 0)
  const closing = db.close()
  await clock.advance(2_000)
  await closing
  expect(await hanging).toBeInstanceOf(UnavailableError)
  await expect(db.run('select 1', [])).rejects.toBeInstanceOf(UnavailableError)
  for (const socket of sockets) socket.destroy()
  server.close()
})

test.each([
  'postgres://user:hush@db.example.org/app?sslmode=disable',
  'postgres://user:hush@10.0.0.1/app?sslmode=disable',
  'postgres://user:hush@localhost,db.example.org/app?sslmode=disable',
  'postgres://user:hush@localhost/app?sslmode=none',
  'postgres://user:hush@localhost/app?sslkey=x',
  'postgres://user:hush@localhost:99999/app',
  'postgres://user:hush@localhost/app?sslmode=verify-full&sslrootcert=/absent.pem',
  'mysql://user:hush@localhost/app',
])('openDatabase() refuses %s and does not repeat it', (url) => {
  const opening = () => openDatabase({ url, clock: systemClock, log: silentLog })
  expect(opening).toThrow('DATABASE_URL')
  expect(opening).not.toThrow('hush')
})

async function withServer(work: (server: TestServer, db: Database, clock: TestClock) => Promise<void>): Promise<void> {
  const server = await startTestServer()
  const clock = createTestClock()
  const db = open(server.url, { clock })
  try {
    await work(server, db, clock)
  } finally {
    await server.close()
  }
}

test('the pool serves again after the server was killed and came back', () =>
  withServer(async (server, db, clock) => {
    await db.run('create table kept (id integer)', [])
    const interrupted = catchFailure(db.run('select pg_sleep(600)', [], { lane: 'background', deadlineMs: 60_000 }))
    await waitFor('the statement to run', async () => (await running('select pg_sleep(600)', db)) === 1)
    server.signal('SIGKILL')
    expect(await interrupted).toBeInstanceOf(UnavailableError)
    await recovery(db, clock)
    expect(await db.run('select count(*)::int4 as n from kept', [])).toEqual([{ n: 0 }])
  }))

test('the pool serves again after the server was unreachable and came back', () =>
  withServer(async (server, db, clock) => {
    await db.run('select 1', [])
    await server.stop()
    for (let count = 0; count < 10; count++) {
      expect(await catchFailure(db.run('select 1', []))).toBeInstanceOf(UnavailableError)
      await clock.advance(20)
    }
    await server.start()
    await recovery(db, clock)
  }))

test('the pool answers by the deadline while the server is frozen, and serves again afterwards', () =>
  withServer(async (server, db, clock) => {
    await Promise.all(Array.from({ length: 4 }, () => db.run('select pg_sleep(0.01)', [])))
    server.signal('SIGSTOP')
    const asked = Promise.all(Array.from({ length: 8 }, () => catchFailure(db.run('select 1', []))))
    await clock.advance(1_500)
    const frozen = await asked
    server.signal('SIGCONT')
    for (const outcome of frozen) expect(outcome).toBeInstanceOf(UnavailableError)
    await recovery(db, clock)
    const sessions = "select pid from pg_stat_activity where application_name = 'walletscope'"
    await waitFor('the lost sessions to end', async () => (await db.run(sessions, [])).length < 6)
  }))

test('after one missed deadline no connection that has been silent since is used, in any lane', async () => {
  const { listeners, user, password, database: name } = parseDatabaseUrl(database.url)
  const [target] = listeners
  const dead = new Set<Socket>()
  const sockets: Socket[] = []
  // A firewall that can forget connections without a word.
  const server = createServer((client) => {
    const upstream = 'path' in target ? connect(target.path) : connect(target.port, target.host)
    sockets.push(client, upstream)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('error', () => {})
      from.on('data', (data) => {
        if (!dead.has(client)) to.write(data)
      })
      from.on('close', () => to.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { readonly port: number }
  const url = new URL(`postgres://127.0.0.1:${port}/${name}`)
  Object.assign(url, { username: user, password: password ?? '' })
  const clock = createTestClock()
  const db = open(url.href, { clock })
  const runAll = async (lane: 'gate' | 'read') => {
    const { release, statement } = await holdStatements()
    const all = Promise.all([1, 2, 3, 4].map(() => db.run(statement, [], { lane, deadlineMs: 1_500 })))
    await waitForRunning(statement, 4)
    await release()
    await all
  }
  await runAll('gate')
  await runAll('read')
  for (const socket of sockets) dead.add(socket)
  await clock.advance(1)
  const lost = catchFailure(db.run('select 1', [], { lane: 'gate', deadlineMs: 300 }))
  await clock.advance(300)
  expect(await lost).toBeInstanceOf(UnavailableError)
  expect(db.report().every(({ isReachable }) => isReachable)).toBe(false)
  for (const lane of ['read', 'gate', 'read', 'gate'] as const) {
    expect(await db.run('select 1 as one', [], { lane, deadlineMs: 1_500 })).toEqual([{ one: 1 }])
  }
  expect(db.report().every(({ isReachable }) => isReachable)).toBe(true)
  await db.close()
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
})

test('a connection that is being opened outlives a missed deadline of another lane', async () => {
  const opened = Promise.withResolvers<void>()
  const { url, server, sockets } = await slowToOpen(async (no) => (no === 1 ? undefined : opened.promise))
  const clock = createTestClock()
  const db = open(url, { clock })
  const { statement, release } = await holdStatements()
  await clock.advance(1)
  const lost = catchFailure(db.run(statement, [], { lane: 'read', deadlineMs: 300 }))
  await waitForRunning(statement)
  const gate = db.run('select 1 as one', [], { lane: 'gate', deadlineMs: 1_500 })
  await waitFor('its connection', () => sockets.length === 2)
  await clock.advance(300)
  expect(await lost).toBeInstanceOf(UnavailableError)
  opened.resolve()
  expect(await gate).toEqual([{ one: 1 }])
  expect(sockets).toHaveLength(2)
  await release()
  server.close()
})
