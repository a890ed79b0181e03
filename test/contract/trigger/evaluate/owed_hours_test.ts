import { beforeAll, expect, test } from 'bun:test'
import type { Database } from '../../../../src/db/database.ts'
import type { Trigger } from '../../../../src/trigger/trigger.ts'
import { createAccount, readBooks } from '../../../support/account/scene.ts'
import { testDatabase } from '../../../support/database.ts'
import { chargeHourAt, createTrigger } from '../../../support/trigger/scene.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
let db: Database

beforeAll(async () => {
  db = (await testDatabase()).db
}, 60_000)

/** An organization with triggers whose paid time ends at `paidUntilMs`. */
async function createOrganization(options: { credits?: number; triggers?: number; paidUntilMs: number }) {
  const { credits = 100, triggers = 1, paidUntilMs } = options
  const { caller } = await createAccount(db, { credits })
  const { organizationId, apiKeyId } = caller
  const createdAt = new Date(paidUntilMs - HOUR_MS)
  const made: Trigger[] = []
  for (let no = 0; no < triggers; no++) {
    made.push(await createTrigger(db, { organizationId, apiKeyId, chainId: 1, createdAt }))
  }
  return { organizationId, triggers: made, books: () => readBooks(db, organizationId) }
}

/** Sets columns of a trigger as a statement of a route does. */
async function setTrigger({ organizationId, id }: Trigger, columns: string): Promise<void> {
  await db.run(`update watch set ${columns} where organization_id = $1 and id = $2`, [organizationId, id])
}

async function listPaidUntilMs(organizationId: string): Promise<readonly number[]> {
  const rows = await db.run<{ ms: number }>(
    'select (extract(epoch from paid_until) * 1000)::float8 as ms from watch where organization_id = $1',
    [organizationId],
  )
  return rows.map(({ ms }) => ms)
}

test('an hour that could not be paid is still owed', async () => {
  const hour = Math.floor(Date.now() / HOUR_MS)
  const paidUntilMs = hour * HOUR_MS - 10 * MINUTE_MS
  const { organizationId, books } = await createOrganization({ credits: 1, triggers: 2, paidUntilMs })
  while ((await chargeHourAt(db, hour, 100)) > 0) {}
  expect(await books()).toMatchObject({ charged: 0, statuses: { '402': 1 } })
  expect(await listPaidUntilMs(organizationId)).toEqual([paidUntilMs, paidUntilMs])
})

test('who cannot pay an hour of the active triggers resumes no paused one in that hour', async () => {
  const hour = Math.floor(Date.now() / HOUR_MS)
  const paidUntilMs = hour * HOUR_MS - 10 * MINUTE_MS
  const { organizationId, triggers, books } = await createOrganization({ credits: 1, triggers: 3, paidUntilMs })
  const [paused] = triggers
  if (paused === undefined) throw new Error('Expected a trigger')
  await setTrigger(paused, "paused_for = 'credits'")
  while ((await chargeHourAt(db, hour, 100)) > 0) {}
  expect(await books()).toMatchObject({ charged: 0, balance: 1 })
  const active = await db.run('select from watch where organization_id = $1 and paused_for is null', [organizationId])
  expect(active).toHaveLength(0)
})

test('a begun hour is charged if its trigger expires while it is paused for want of credits', async () => {
  const hour = Math.floor(Date.now() / HOUR_MS) + 1
  const { triggers, books } = await createOrganization({ paidUntilMs: Date.now() - 10 * MINUTE_MS })
  const [expired] = triggers
  if (expired === undefined) throw new Error('Expected a trigger')
  await setTrigger(expired, "paused_for = 'credits'")
  await setTrigger(expired, 'expires_at = now()')
  for (const each of [hour, hour + 1]) while ((await chargeHourAt(db, each, 100)) > 0) {}
  expect(await books()).toMatchObject({ charged: 1 })
})

test('a trigger that stops while its organization is suspended gets no time for the rest of the suspension', async () => {
  const paidUntilMs = Date.now() - 5 * HOUR_MS + 20 * MINUTE_MS
  const { organizationId, triggers } = await createOrganization({ paidUntilMs })
  const [stopped] = triggers
  if (stopped === undefined) throw new Error('Expected a trigger')
  const setOrganization = (columns: string) =>
    db.run(`update organization set ${columns} where id = $1`, [organizationId])
  await setOrganization("suspended_at = now() - interval '5 hours'")
  await setTrigger(stopped, "paused_for = 'owner'")
  await setTrigger(stopped, "idle_at = now() - interval '3 hours'")
  await setOrganization('suspended_at = null')
  await setTrigger(stopped, 'paused_for = null')
  const [leftMs = 0] = (await listPaidUntilMs(organizationId)).map((ms) => ms - Date.now())
  expect(Math.round(leftMs / MINUTE_MS)).toBe(20)
})
