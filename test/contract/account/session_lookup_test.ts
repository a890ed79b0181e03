import { expect, test } from 'bun:test'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { createLoginLink, createSessionLookup, endSession, openSession } from '../../../src/account/session.ts'
import type { Database } from '../../../src/db/database.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { randomBase62 } from '../../../src/lib/text/base62.ts'
import { createAccount } from '../../support/account/scene.ts'
import { testDatabase } from '../../support/database.ts'

const INVENTED = 1_000

/** A database that counts its statements, and holds them while it is asked to. */
async function scene() {
  const { db } = await testDatabase()
  const counts = { statements: 0 }
  const gate: { held: Promise<void> | undefined } = { held: undefined }
  const counted: Database = {
    ...db,
    async run(text, params, options) {
      counts.statements += 1
      await gate.held
      return db.run(text, params, options)
    },
  }
  const { organizationId } = await createAccount(db, { credits: 1 })
  const open = async () => {
    const { secret } = await createLoginLink(db, { organizationId, by: CLI_ACTOR })
    const session = await openSession(db, secret)
    if (session === undefined) throw new Error('The link opens no session')
    return session
  }
  return { db, counts, gate, organizationId, open, lookup: createSessionLookup({ db: counted, clock: systemClock }) }
}

function inventSession() {
  return { cookie: `ws_session_${randomBase62(32)}`, page: `ws_page_${randomBase62(32)}` }
}

test('1,000 invented sessions and links cost a few statements, and the true ones among them are found', async () => {
  const { db, counts, organizationId, open, lookup } = await scene()
  const session = await open()
  const { secret } = await createLoginLink(db, { organizationId: null, by: CLI_ACTOR })
  const sessions = Array.from({ length: INVENTED }, () => lookup.findSession(inventSession()))
  const links = Array.from({ length: INVENTED }, () => lookup.findLink(`ws_login_${randomBase62(32)}`))
  expect(await lookup.findSession(session)).toMatchObject({ id: session.id, organizationId })
  expect(await lookup.findLink(secret)).toEqual({ organizationId: null, organizationName: null })
  const own = await createLoginLink(db, { organizationId, by: CLI_ACTOR })
  expect(await lookup.findLink(own.secret)).toEqual({ organizationId, organizationName: expect.any(String) })
  expect((await Promise.all(sessions)).every((each) => each === undefined)).toBe(true)
  expect((await Promise.all(links)).every((each) => each === undefined)).toBe(true)
  expect(counts.statements).toBeLessThanOrEqual(6)
})

test('a recognized session waits for no stranger, and is still looked up each time', async () => {
  const { db, counts, gate, open, lookup } = await scene()
  const session = await open()
  await lookup.findSession(session)
  const held = Promise.withResolvers<void>()
  gate.held = held.promise
  const strangers = Array.from({ length: 5_000 }, () => lookup.findSession(inventSession()).catch(String))
  await new Promise(setImmediate)
  gate.held = undefined
  expect(await lookup.findSession(session)).toMatchObject({ id: session.id })
  await endSession(db, { id: session.id, by: CLI_ACTOR })
  expect(await lookup.findSession(session)).toBeUndefined()
  held.resolve()
  // What waits is bounded.
  const outcomes = await Promise.all(strangers)
  expect(outcomes.filter((each) => String(each).includes('Too many requests'))).not.toHaveLength(0)
  expect(counts.statements).toBeLessThan(20)
})

test('one secret of a session, or a text that is none, finds nothing', async () => {
  const { counts, open, lookup } = await scene()
  const session = await open()
  expect(await lookup.findSession({ cookie: session.cookie, page: inventSession().page })).toBeUndefined()
  const before = counts.statements
  expect(await lookup.findSession({ cookie: session.page, page: session.cookie })).toBeUndefined()
  expect(await lookup.findLink(session.cookie)).toBeUndefined()
  expect(counts.statements).toBe(before)
})
