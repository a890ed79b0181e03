import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { createGate } from '../../../../src/account/gate/gate.ts'
import { parseDatabaseUrl } from '../../../../src/db/address.ts'
import { type DatabasePool, openDatabase } from '../../../../src/db/connection/pool.ts'
import type { Database } from '../../../../src/db/database.ts'
import { migrate } from '../../../../src/db/migrate.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { backgroundProbe, databaseProbe } from '../../../../src/service/health/probes.ts'
import { createAccount, settlement } from '../../../support/account/scene.ts'
import { startTestServer, type TestServer, temporaryDirectory } from '../../../support/database.ts'
import { holdLock } from '../../../support/held_lock.ts'
import { waitForLockWaits } from '../../../support/lock_waits.ts'
import { createTestClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'

let server: TestServer
let db: DatabasePool
/** With connections of its own. */
let admin: Database

beforeAll(async () => {
  server = await startTestServer()
  db = openDatabase({ url: server.url, clock: systemClock, log: silentLog })
  admin = openDatabase({ url: server.url, clock: systemClock, log: silentLog, max: 1 })
  await migrate(db)
}, 60_000)
afterAll(async () => {
  await admin.close()
  await db.close()
  await server.close()
}, 60_000)

test('a database that answers but accepts no charges is not ready, with the reason, and is ready again later', async () => {
  const gate = await createGate({ db, clock: systemClock, log: silentLog, journalDir: temporaryDirectory() })
  const { caller } = await createAccount(db)
  const probe = databaseProbe(db, gate, silentLog)
  const ready = () => probe(createWork(new AbortController().signal))
  const takeNothing = async (value: 'on' | 'off') => {
    await admin.run(`alter system set default_transaction_read_only = ${value}`, [])
    await admin.run('select pg_reload_conf()', [])
  }
  await gate.settle(settlement(caller))
  expect(await ready()).toBe(true)

  await takeNothing('on')
  // Known before a caller was refused.
  await waitFor('the setting', async () => (await ready()) === 'it accepts no charges: it is read-only')
  await waitFor('a refusal', () =>
    gate.settle(settlement(caller)).then(
      () => false,
      () => true,
    ),
  )
  await waitFor('trouble', async () => (await gate.findTrouble()) !== undefined)
  expect(await gate.findTrouble()).toMatch(/^cannot execute [A-Z ]+ in a read-only transaction \(25006\)/)
  expect(await ready()).toBe('it accepts no charges: it is read-only')

  await takeNothing('off')
  await waitFor('the void', () => gate.voidsWaiting === 0)
  // Other steps of the gate may have failed meanwhile, and are tried again.
  await waitFor('readiness', async () => (await ready()) === true, 30_000)
  await gate.settle(settlement(caller))
  await gate.close(2_000)
}, 60_000)

test('a full disk is known before a caller is refused, and until a charge is possible', async () => {
  const clock = createTestClock()
  // No statement is late by a clock that stands still.
  const patient = openDatabase({ url: server.url, clock: createTestClock(), log: silentLog })
  const gate = await createGate({ db: patient, clock, log: silentLog, journalDir: temporaryDirectory() })
  const { caller } = await createAccount(db)
  const probe = databaseProbe(patient, gate, silentLog)
  const ready = () => probe(createWork(new AbortController().signal))
  const full = 'it accepts no charges: could not extend file: No space left on device (53100)'
  /** Lets the server refuse what extends the log: every insert, or only one of many rows. */
  const fill = async (rowsMin: number) => {
    await admin.run(
      `create or replace function fill() returns trigger language plpgsql as $$ begin
        if (select count(*) from added) >= ${rowsMin} then
          raise exception 'could not extend file: No space left on device' using errcode = '53100';
        end if;
        return null;
      end $$`,
      [],
    )
    await admin.run(
      `create or replace trigger fill after insert on request_log referencing new table as added
        for each statement execute function fill()`,
      [],
    )
  }
  expect(await ready()).toBe(true)
  await fill(1)
  // Lately a write succeeded.
  expect(await ready()).toBe(true)
  await clock.advance(10_000)
  for (let second = 0; second < 25; second++) {
    expect(await ready()).toBe(full)
    await clock.advance(1_000)
  }
  // Room for a row is not enough.
  await fill(50)
  expect(await ready()).toBe(full)
  await admin.run('drop trigger fill on request_log', [])
  expect(await ready()).toBe(true)

  // A settlement shows that writes are taken, without a try.
  await clock.advance(9_000)
  await gate.settle(settlement(caller))
  await fill(1)
  await clock.advance(9_000)
  expect(await ready()).toBe(true)
  await admin.run('drop trigger fill on request_log', [])

  // Nothing of a try stays.
  const [{ rows = -1 } = {}] = await admin.run<{ rows: number }>(
    `select (select count(*) from request_log where organization_no = 0)::int4
      + (select count(*) from rate_window where organization_id = '')::int4 as rows`,
    [],
  )
  expect(rows).toBe(0)
  await gate.close(2_000)
  await patient.close()
}, 60_000)

test('a lane that gets no connection is told, and gets one once another process has been idle for a minute', async () => {
  const clock = createTestClock()
  const { url, close } = await startCrowdedServer(3)
  const [first, second] = [1, 2].map(() => openDatabase({ url, clock, log: silentLog, max: 3 }))
  if (first === undefined || second === undefined) throw new Error('No databases')
  const gate = { findTrouble: async () => undefined }
  const ready = () => databaseProbe(second, gate, silentLog)(createWork(new AbortController().signal))
  const select = (lane: 'gate' | 'background') => second.run('select 1', [], { lane })
  // Each has a connection of its own.
  const lock = await holdLock(server.url)
  const opened = Promise.all([1, 2, 3].map(() => first.run(`select ${lock.wait}`, [], { lane: 'gate' })))
  await waitForLockWaits(admin, 3)
  await lock.release()
  await opened
  const refusal = 'it gives no connection for lane'
  expect((await second.findShortages()).map(({ lane }) => lane)).toEqual(['gate', 'read', 'background'])

  // One of its three stays.
  await clock.advance(60_000)
  await waitFor('a connection', () => select('gate').then(Boolean, () => clock.advance(100).then(() => false)))
  await waitFor('another', () => select('background').then(Boolean, () => clock.advance(100).then(() => false)))
  expect(await ready()).toBe(`${refusal} read: too many clients (53300)`)
  expect(await backgroundProbe(second)()).toEqual([])

  await first.close()
  await waitFor('readiness', async () => {
    await clock.advance(100)
    return (await ready()) === true
  })
  await second.close()
  await close()
}, 60_000)

/** The server behind one that refuses more than so many connections at a time, as PostgreSQL does. */
async function startCrowdedServer(connectionsMax: number) {
  const { listeners, user, password = '', database } = parseDatabaseUrl(server.url)
  const [listener] = listeners
  const open = new Set<Socket>()
  const refusal = Buffer.from('SFATAL\0VFATAL\0C53300\0Mtoo many clients\0\0')
  const proxy = createServer((socket) => {
    socket.on('error', () => {})
    if (open.size >= connectionsMax) {
      const header = Buffer.from([69, 0, 0, 0, refusal.length + 4])
      socket.once('data', () => socket.end(Buffer.concat([header, refusal])))
      return
    }
    open.add(socket)
    const upstream = 'path' in listener ? connect(listener.path) : connect(listener.port, listener.host)
    upstream.on('error', () => {})
    socket.pipe(upstream).pipe(socket)
    for (const each of [socket, upstream]) {
      each.on('close', () => {
        open.delete(socket)
        socket.destroy()
        upstream.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const { port } = proxy.address() as AddressInfo
  return {
    url: `postgres://${user}:${password}@127.0.0.1:${port}/${database}`,
    close: () => new Promise((resolve) => proxy.close(resolve)),
  }
}
