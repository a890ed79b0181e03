import { afterAll, beforeAll, expect, test } from 'bun:test'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { type AccountGate, createGate } from '../../../src/account/gate/gate.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { FEATURES, type Feature } from '../../../src/http/route/route.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { listSwitches, type Switchboard, setSwitch } from '../../../src/operator/switches.ts'
import { admitKey, createAccount, readBooks, settlement } from '../../support/account/scene.ts'
import { temporaryDirectory, testDatabase } from '../../support/database.ts'
import { slowClock } from '../../support/test_clock.ts'

const ENDPOINT = 'GET /v1/test'
const BOARD: Switchboard = { endpoints: [ENDPOINT, 'POST /v1/test'], featuresOff: [] }

let db: Database
/** What a second process would have. */
let otherDb: Database
const gates: AccountGate[] = []

async function openGate(over: Database, featuresOff: readonly Feature[] = []): Promise<AccountGate> {
  const gate = await createGate({
    db: over,
    clock: slowClock,
    log: silentLog,
    journalDir: temporaryDirectory(),
    featuresOff,
  })
  gates.push(gate)
  return gate
}

beforeAll(async () => {
  const database = await testDatabase()
  db = database.db
  otherDb = openDatabase({ url: database.url, clock: slowClock, log: silentLog })
}, 60_000)

afterAll(async () => {
  for (const gate of gates) await gate.close(2_000)
  await otherDb.close()
}, 60_000)

async function off(): Promise<string[]> {
  return (await listSwitches(db, BOARD)).filter(({ on }) => !on).map(({ name }) => name)
}

test('each switch acts on the next request of every process, at no cost and without filling the window', async () => {
  const { key, organizationId, caller } = await createAccount(db, { rateLimit: 100_000 })
  const narrow = await createAccount(db, { rateLimit: 1 })
  const both = [await openGate(db), await openGate(otherDb)] as const
  const ask = async (asking: string, features: readonly Feature[]) =>
    Promise.all(
      both.map(async (gate) => {
        const admission = await admitKey(gate, { key: asking, endpoint: ENDPOINT, features })
        return admission.kind === 'refused' ? admission.code : admission.kind
      }),
    )
  const twice = <Word>(word: Word) => [word, word]
  const by = CLI_ACTOR

  for (let round = 0; round < 3; round++) {
    for (const feature of FEATURES) {
      await setSwitch(round === 1 ? otherDb : db, { name: feature, on: false, board: BOARD, by })
      expect(await ask(key, [feature])).toEqual(twice('FEATURE_DISABLED'))
      expect(await ask(narrow.key, FEATURES)).toEqual(twice('FEATURE_DISABLED'))
      expect(await ask(key, [])).toEqual(twice('admitted'))
      expect(
        await ask(
          key,
          FEATURES.filter((each) => each !== feature),
        ),
      ).toEqual(twice('admitted'))
      await setSwitch(round === 1 ? db : otherDb, { name: feature, on: true, board: BOARD, by })
      expect(await ask(key, FEATURES)).toEqual(twice('admitted'))
    }
    await setSwitch(otherDb, { name: ENDPOINT, on: false, board: BOARD, by })
    // The endpoint is named first.
    await setSwitch(db, { name: 'mcp', on: false, board: BOARD, by })
    expect(await ask(key, ['mcp'])).toEqual(twice('ENDPOINT_DISABLED'))
    await setSwitch(db, { name: ENDPOINT, on: true, board: BOARD, by })
    expect(await ask(key, ['mcp'])).toEqual(twice('FEATURE_DISABLED'))
    await setSwitch(db, { name: 'mcp', on: true, board: BOARD, by })
  }

  await both[0].settle(settlement(caller, { admitted: false, status: 403, credits: 0 }))
  const books = await readBooks(db, organizationId)
  expect([books.balance, books.statuses]).toEqual([1_000, { 403: 1 }])
  // Of all these requests only this one took a place in the window of one a second.
  const { kind } = await admitKey(both[0], { key: narrow.key, endpoint: ENDPOINT })
  expect(kind).toBe('admitted')
})

test('a feature switched off by the environment stays off regardless of the operator', async () => {
  const { key } = await createAccount(db)
  const board = { ...BOARD, featuresOff: ['snapshots'] as const }
  const gate = await openGate(db, board.featuresOff)
  const verdict = async () => {
    const admission = await admitKey(gate, { key, endpoint: ENDPOINT, features: ['snapshots'] })
    return admission.kind === 'refused' ? admission.code : admission.kind
  }
  expect(await verdict()).toBe('FEATURE_DISABLED')
  const turned = await setSwitch(db, { name: 'snapshots', on: true, board, by: CLI_ACTOR })
  expect(turned).toMatchObject({ name: 'snapshots', on: false, off_by: 'environment' })
  expect(await verdict()).toBe('FEATURE_DISABLED')
})

test('changes are recorded once each, with who and what; repeats change nothing', async () => {
  const by = { kind: 'operator session', sessionId: 'ses_1' } as const
  const turn = (on: boolean) => setSwitch(db, { name: 'POST /v1/test', on, board: BOARD, by })
  expect(await turn(false)).toMatchObject({ kind: 'endpoint', on: false, off_by: 'operator' })
  expect(await turn(false)).toMatchObject({ on: false })
  expect(await off()).toEqual(['POST /v1/test'])
  // Many at once, from two processes: one of them changes it.
  const turned = await Promise.all(
    [db, otherDb, db, otherDb].map((each) => setSwitch(each, { name: 'POST /v1/test', on: true, board: BOARD, by })),
  )
  expect(turned.map(({ on }) => on)).toEqual([true, true, true, true])
  const recorded = await db.run(
    `select actor, session_id, action, organization_id, subject from audit_entry
     where subject = 'POST /v1/test' order by id`,
    [],
  )
  const entry = { actor: 'operator session', session_id: 'ses_1', organization_id: null, subject: 'POST /v1/test' }
  expect(recorded.map((row) => ({ ...row }))).toEqual([
    { ...entry, action: 'switch.off' },
    { ...entry, action: 'switch.on' },
  ])
})

test('an unknown name is refused; an endpoint of another version can be switched on again', async () => {
  const refused = await setSwitch(db, { name: 'GET /v1/other', on: false, board: BOARD, by: CLI_ACTOR }).catch((e) => e)
  expect(refused).toMatchObject({ code: 'INVALID_PARAMETER' })
  expect(await off()).toEqual([])
  const older = { ...BOARD, endpoints: ['GET /v1/older'] }
  await setSwitch(db, { name: 'GET /v1/older', on: false, board: older, by: CLI_ACTOR })
  expect(await off()).toEqual(['GET /v1/older'])
  expect(await setSwitch(db, { name: 'GET /v1/older', on: true, board: BOARD, by: CLI_ACTOR })).toMatchObject({
    on: true,
  })
  expect(await off()).toEqual([])
})
