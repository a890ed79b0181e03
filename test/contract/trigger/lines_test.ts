import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { createReadiness } from '../../../src/http/page/probes.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { createLog, silentLog } from '../../../src/lib/log.ts'
import { createMetrics, type Metrics } from '../../../src/lib/metrics.ts'
import { createDeliveryMetrics } from '../../../src/trigger/deliver/metrics.ts'
import { startTriggers } from '../../../src/trigger/mod.ts'
import { readTriggerProgress } from '../../../src/trigger/report.ts'
import { findTrigger } from '../../../src/trigger/stored.ts'
import { createAccount } from '../../support/account/scene.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { startReceiver } from '../../support/receiver.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { createFixedClock, slowClock } from '../../support/test_clock.ts'
import { createWebhook, deliverAll, deliverer } from '../../support/trigger/deliver/scene.ts'
import { METER_CHAIN_ID, type Meter, meterFamily, startMeter } from '../../support/trigger/meter.ts'
import { createTrigger } from '../../support/trigger/scene.ts'
import { waitFor } from '../../support/wait_for.ts'

let database: TestDatabase
let meter: Meter
let rpc: FaultyRpc
const stops: (() => void)[] = []

beforeAll(async () => {
  database = await testDatabase()
  meter = await startMeter()
  rpc = await startFaultyRpc(meter.url)
}, 60_000)
beforeEach(async () => {
  for (const table of ['watch', 'watch_cursor', 'watch_block', 'watch_sight']) {
    await database.db.run(`delete from ${table}`, [])
  }
})
afterAll(async () => {
  for (const stop of stops) stop()
  await rpc.stop()
  await meter.stop()
  await database.close()
}, 60_000)

/** Starts what a process runs for triggers, whose chains it serves or not. */
function start(holder: string, options: { readonly serves: boolean; readonly metrics?: Metrics }) {
  const warnings: string[] = []
  const { stop } = startTriggers({
    db: database.db,
    holder,
    clients: new Map(options.serves ? [[METER_CHAIN_ID, meter.client(rpc.url)]] : []),
    solanaChainId: undefined,
    families: [meterFamily()],
    publicUrl: undefined,
    clock: slowClock,
    log: createLog({
      level: 'warn',
      write: (line) => void warnings.push(JSON.parse(line).msg),
      clock: createFixedClock(),
    }),
    metrics: options.metrics ?? createMetrics(),
    jobs: { clock: systemClock },
    leaseSec: 600,
  })
  stops.push(stop)
  return { stop, warnings }
}

async function watchLevel(name: string, webhookId?: string) {
  const { organizationId, apiKeyId } = await createAccount(database.db)
  const clause = { figure: 'level', below: '1.05' }
  const of = { organizationId, apiKeyId, chainId: METER_CHAIN_ID, family: 'meter', subject: { account: name }, clause }
  return await createTrigger(database.db, { ...of, ...(webhookId === undefined ? {} : { webhookId }) })
}

async function typesOf(organizationId: string): Promise<readonly string[]> {
  const rows = await database.db.run<{ type: string }>(
    'select type from message where organization_id = $1 order by no',
    [organizationId],
  )
  return rows.map(({ type }) => type)
}

async function line() {
  const [found] = await readTriggerProgress(database.db)
  return found
}

test('a removed chain is notified once, whichever process runs on, and is evaluated again when it is back', async () => {
  expect(await readTriggerProgress(database.db)).toEqual([])
  await meter.units('left', 200)
  const { organizationId, id } = await watchLevel('left')
  const serving = start('first', { serves: true })
  await waitFor('the first block', async () => (await line())?.block != null)
  expect(await line()).toMatchObject({
    chain_id: METER_CHAIN_ID,
    finality: 'latest',
    holder: 'first',
    blind_since: null,
  })
  expect((await line())?.age_sec).toBeWithin(0, 600)
  serving.stop()

  const others = [start('second', { serves: false }), start('third', { serves: false })]
  await database.db.run('update watch_cursor set lease_until = clock_timestamp()', [])
  await waitFor('the lease to be free', async () => (await line())?.holder === null)
  await waitFor('both said so', () => others.every(({ warnings }) => warnings.length === 1))
  expect(others[0]?.warnings).toEqual(['Triggers are not evaluated: their chain is not served'])
  await database.db.run("update watch set active_at = now() - interval '2 minutes'", [])
  await database.db.run("update watch_sight set at = now() - interval '2 minutes'", [])
  await waitFor('the notification', async () => (await typesOf(organizationId)).length > 0)
  const since = (await line())?.blind_since
  const probes = { database: async () => true, chains: new Map(), triggers: () => readTriggerProgress(database.db) }
  expect(await createReadiness(probes, systemClock)()).toMatchObject({
    ready: true,
    reasons: [{ part: `triggers of chain ${METER_CHAIN_ID}`, reason: `not evaluated since ${since}` }],
    triggers: [{ chain_id: METER_CHAIN_ID, holder: null, blind_since: expect.stringMatching(/^20/) }],
  })
  expect((await findTrigger(database.db, { organizationId, id })).state).toBe('blind')

  // Processes that do not serve the chain do not hold up the others.
  start('fourth', { serves: true })
  await meter.mine()
  await waitFor('the chain is seen again', async () => (await typesOf(organizationId)).length > 1)
  expect(await line()).toMatchObject({ holder: 'fourth', blind_since: null })
  expect((await findTrigger(database.db, { organizationId, id })).state).toBe('armed')
  expect(await typesOf(organizationId)).toEqual(['trigger.blind', 'trigger.sighted'])
  await database.db.run("update watch set paused_for = 'owner'", [])
  expect(await readTriggerProgress(database.db)).toEqual([])
  for (const stop of stops.splice(0)) stop()
}, 60_000)

test('each metric says what happened', async () => {
  const metrics = createMetrics()
  const value = (name: string) => {
    const found = metrics.render().match(new RegExp(`^walletscope_${name.replaceAll(/[{}]/g, '\\$&')} (.+)$`, 'm'))
    return found === null ? undefined : Number(found[1])
  }
  const labels = `chain_id="${METER_CHAIN_ID}",finality="latest"`
  const { organizationId, apiKeyId } = await createAccount(database.db)
  const receiver = await startReceiver({ plain: true })
  const webhookId = await createWebhook(database.db, organizationId, `http://127.0.0.1:${receiver.port}/ok`)
  const clause = { figure: 'level', below: '1.05' }
  const family = { organizationId, apiKeyId, chainId: METER_CHAIN_ID, family: 'meter', clause, webhookId }
  // So far from its level that a screen is enough once it was confirmed, and one that crosses it.
  await meter.units('far', 1_000)
  await meter.units('near', 110)
  for (const account of ['far', 'near']) await createTrigger(database.db, { ...family, subject: { account } })

  const served = start('metered', { serves: true, metrics })
  const evaluated = async (block: bigint) =>
    await waitFor(`block ${block}`, async () => value(`trigger_block{${labels}}`) === Number(block))
  await evaluated(await meter.mine())
  expect(value(`trigger_subjects_total{${labels},how="confirmed"}`)).toBeGreaterThanOrEqual(2)
  expect(value(`trigger_changes_total{${labels}}`)).toBe(0)
  expect(value(`trigger_failures_total{${labels},family="meter"}`)).toBeUndefined()
  await evaluated(await meter.units('near', 100))
  expect(value(`trigger_changes_total{${labels}}`)).toBe(1)
  expect(value(`trigger_subjects_total{${labels},how="screened"}`)).toBeGreaterThan(0)
  expect(value(`trigger_block_age_seconds{${labels}}`)).toBeWithin(-60, 600)

  rpc.rule(({ method }) =>
    method === 'eth_call' ? { kind: 'error', error: { code: -32_000, message: 'away' } } : undefined,
  )
  await meter.mine()
  await waitFor('a failure', () => (value(`trigger_failures_total{${labels},family="meter"}`) ?? 0) > 0)
  rpc.rule(() => undefined)
  served.stop()

  const delivery = createDeliveryMetrics(metrics, { db: database.db, log: silentLog })
  await database.db.run("update message set due_at = now() - interval '90 seconds' where webhook_id is not null", [])
  await delivery.job.round(new AbortController().signal)
  expect([value('messages_due'), Math.floor((value('message_due_oldest_seconds') ?? 0) / 10)]).toEqual([1, 9])
  const own = deliverer(database.db, { onAttempt: delivery.onAttempt })
  await deliverAll(own, async () => receiver.received.length === 1)
  await delivery.job.round(new AbortController().signal)
  expect([value('messages_due'), value('message_due_oldest_seconds')]).toEqual([0, 0])
  expect(value('message_tries_total{outcome="delivered"}')).toBe(1)
  await receiver.stop()
  expect(own.faults).toEqual([])
}, 60_000)
