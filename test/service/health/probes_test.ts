import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createGate } from '../../../src/account/gate/gate.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { databaseProbe } from '../../../src/service/health/probes.ts'
import { createAccount, settlement } from '../../account/scene.ts'
import { startTestServer, type TestServer, temporaryDirectory } from '../../support/database.ts'
import { waitFor } from '../../support/wait_for.ts'

let server: TestServer
let db: Database
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
  const ready = () => probe(new AbortController().signal)
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
  await waitFor('trouble', () => gate.trouble !== undefined)
  expect(gate.trouble).toMatch(/^cannot execute [A-Z ]+ in a read-only transaction \(25006\)/)
  expect(await ready()).toBe('it accepts no charges: it is read-only')

  await takeNothing('off')
  await waitFor('the void', () => gate.voidsWaiting === 0)
  // Other steps of the gate may have failed meanwhile, and are tried again.
  await waitFor('readiness', async () => (await ready()) === true, 30_000)
  await gate.settle(settlement(caller))
  await gate.close(2_000)
}, 60_000)
