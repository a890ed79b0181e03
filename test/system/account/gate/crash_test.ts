import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createGate } from '../../../../src/account/gate/gate.ts'
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import type { Database } from '../../../../src/db/database.ts'
import { migrate } from '../../../../src/db/migrate.ts'
import type { Settlement, SettlementResult } from '../../../../src/http/exchange/gate.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { type Account, admitKey, createAccount, readBooks, settlement } from '../../../support/account/scene.ts'
import { startTestServer, type TestServer, temporaryDirectory } from '../../../support/database.ts'
import { waitFor } from '../../../support/wait_for.ts'

const CRASHES = 3
const REQUESTS = 60
const CREDITS = [40, 100_000]
const RECOVERY_MS = 60_000

let server: TestServer
/** The test's own connection. */
let admin: Database

beforeAll(async () => {
  server = await startTestServer()
  admin = open(1)
  await migrate(admin)
}, 60_000)

afterAll(async () => {
  await admin.close()
  await server.close()
}, 60_000)

function open(max?: number): Database {
  const options = { url: server.url, clock: systemClock, log: silentLog }
  return openDatabase(max === undefined ? options : { ...options, max })
}

interface Outcome {
  readonly sent: Settlement
  /** Undefined if it was answered that it could not be settled. */
  readonly settled: SettlementResult | undefined
}

/** Waits until PostgreSQL has recovered; nothing else takes part in the test until then. */
async function recover(): Promise<void> {
  const isBack = () =>
    admin.run('select 1', []).then(
      () => true,
      () => false,
    )
  await waitFor('PostgreSQL to be back', isBack, RECOVERY_MS)
}

test('books equal the log after kill -9 of a real PostgreSQL, again and again under load', async () => {
  const databases = [open(), open()]
  const gates = await Promise.all(
    databases.map((db) => createGate({ db, clock: systemClock, log: silentLog, journalDir: temporaryDirectory() })),
  )
  const accounts = await Promise.all(CREDITS.map((credits) => createAccount(admin, { credits })))
  const outcomes: Outcome[] = []

  async function send(index: number): Promise<void> {
    const [gate, account] = [gates[index % gates.length], accounts[index % accounts.length]] as const
    if (gate === undefined || account === undefined) return
    const admission = await admitKey(gate, { key: account.key, endpoint: null }).catch(() => undefined)
    if (admission?.kind !== 'admitted') return
    const { caller, requestedAtMs } = admission
    const sent = settlement(caller, { requestedAtMs, credits: 1 + (index % 3) })
    outcomes.push({ sent, settled: await gate.settle(sent).catch(() => undefined) })
  }

  for (let crash = 0; crash < CRASHES; crash++) {
    // The process dies between answers, so that some requests are charged before, some never, and some unknown.
    let answers = 0
    const { promise: midway, resolve } = Promise.withResolvers<void>()
    const requests = Array.from({ length: REQUESTS }, async (_, index) => {
      await (index < REQUESTS / 2 ? send(index) : midway.then(() => send(index)))
      answers++
      if (answers === REQUESTS / 4) resolve()
    })
    await midway
    server.signal('SIGKILL')
    await Promise.all(requests)
    await server.stop()
    await server.start()
    await recover()
  }
  await waitFor('the voids to be done', () => gates.every(({ voidsWaiting }) => voidsWaiting === 0), RECOVERY_MS)

  const rows = await admin.run<{ settlement_id: string; status: number; credits: number }>(
    'select settlement_id, status, credits from request_log_entry where organization_id = any ($1)',
    [accounts.map(({ organizationId }: Account) => organizationId)],
  )
  const logged = rows.map((row) => `${row.settlement_id} ${row.status} ${row.credits}`)
  const expected = outcomes.map(({ sent, settled }) => {
    const row = settled === undefined ? '503 0' : settled.paid ? `200 ${sent.credits}` : '402 0'
    return `${sent.settlementId} ${row}`
  })
  expect(logged.toSorted()).toEqual(expected.toSorted())
  for (const { organizationId } of accounts) await readBooks(admin, organizationId)
  await Promise.all(gates.map((gate) => gate.close(2_000)))
  await Promise.all(databases.map((db) => db.close()))
}, 180_000)
