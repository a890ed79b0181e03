import { afterAll, beforeAll, expect, test } from 'bun:test'
import { openSession } from '../../../../src/db/connection/session.ts'
import type { Database } from '../../../../src/db/database.ts'
import {
  acquirePartition,
  commitBlock,
  type TriggerChange,
  type TriggerPartition,
} from '../../../../src/trigger/evaluate/partition.ts'
import { findTrigger } from '../../../../src/trigger/stored.ts'
import type { Trigger } from '../../../../src/trigger/trigger.ts'
import { createAccount } from '../../../support/account/scene.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { waitForLockWaits } from '../../../support/lock_waits.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { ARMED, chargeHourAt, createTrigger, deleteTrigger, updateTrigger } from '../../../support/trigger/scene.ts'

let database: TestDatabase
// Sessions: a pool would send the victim of a deadlock again.
let committer: Database
let owner: Database
let holder: Database

beforeAll(async () => {
  database = await testDatabase()
  const open = () => openSession({ url: database.url, applicationName: 'session', clock: slowClock })
  ;[committer, owner, holder] = await Promise.all([open(), open(), open()])
}, 60_000)
afterAll(async () => {
  await Promise.all([committer.close(), owner.close(), holder.close()])
  await database.close()
}, 60_000)

function fired(trigger: Trigger): TriggerChange {
  const type = 'trigger.fired' as const
  const body = JSON.stringify({ type, timestamp: '', text: 'It fired.', data: {} })
  return {
    trigger,
    before: ARMED,
    after: { ...ARMED, phase: 'fired', changes: 1, value: '1.04', since: 10n },
    messages: [{ change: 1, type, body }],
    notified: [{ change: 1, block: 10n, name: 'fired' }],
    reverted: [],
  }
}

/** Lets a trigger fire, and its owner do something with it once the commit has begun. */
async function meet(
  chainId: number,
  credits: number,
  act: (trigger: Trigger) => Promise<void>,
): Promise<{ readonly trigger: Trigger; readonly failed: readonly TriggerChange[] | undefined }> {
  const { db } = database
  const { organizationId, apiKeyId } = await createAccount(db, { credits })
  const partition: TriggerPartition = {
    chainId,
    chainName: 'Test',
    finality: 'latest',
    shard: 0,
    blindAfterSec: 60,
    leaseSec: 60,
  }
  const trigger = await createTrigger(db, { organizationId, apiKeyId, chainId })
  const lease = await acquirePartition(db, partition, { holder: 'me' })
  if (lease === undefined) throw new Error('Expected the line')
  await holder.run('begin', [])
  await holder.run(`select from spending_limit where organization_id = $1 for update`, [organizationId])
  const block = { number: 10n, hash: `0x${'11'.repeat(32)}`, timestampSec: 1_700_000_000n }
  const at = { partition, lease, block, fork: null, final: 0n, families: ['aave-v3'] }
  const committed = commitBlock(committer, { ...at, changes: [fired(trigger)] })
  // The commit has the state, and waits for the balance.
  await waitForLockWaits(db)
  const acted = act(trigger)
  // Its owner waits for the commit.
  await waitForLockWaits(db, 2)
  await holder.run('commit', [])
  const [outcome] = await Promise.all([committed, acted])
  return { trigger, failed: outcome?.failed }
}

test('a trigger that fires while it is deleted is notified, and then deleted', async () => {
  const { trigger, failed } = await meet(1, 100, (each) => deleteTrigger(owner, each))
  expect(failed).toEqual([])
  await expect(findTrigger(database.db, trigger)).rejects.toThrow('Cannot find trigger')
})

test('a trigger that cannot be paid for is paused, and then changed as its owner asked meanwhile', async () => {
  const change = { clause: { figure: 'health_factor', below: '1.2' }, name: 'lower' }
  const { trigger, failed } = await meet(2, 1, (each) => updateTrigger(owner, each, change))
  expect(failed).toHaveLength(1)
  expect(await findTrigger(database.db, trigger)).toMatchObject({ ...change, paused_for: 'credits', changes: '0' })
})

test('a trigger that cannot be paid for is paused while its hours are charged, without a deadlock', async () => {
  const hour = Math.floor(Date.now() / 3_600_000) + 2
  const { trigger, failed } = await meet(5, 1, async () => {
    await chargeHourAt(owner, hour, 100)
  })
  expect(failed).toHaveLength(1)
  // An hour of it can be paid, its message could not.
  expect(await findTrigger(database.db, trigger)).toMatchObject({ paused_for: null, changes: '0' })
})

test('a trigger that fires while it is changed is told, and then armed anew', async () => {
  const change = { clause: { figure: 'health_factor', below: '1.2' } }
  const { trigger, failed } = await meet(3, 100, (each) => updateTrigger(owner, each, change))
  expect(failed).toEqual([])
  expect(await findTrigger(database.db, trigger)).toMatchObject({
    ...change,
    state: 'armed',
    changes: '1',
    value: '1.04',
  })
})

test('deleting a trigger while a commit drops its notified changes does not deadlock', async () => {
  const { db } = database
  const { organizationId, apiKeyId } = await createAccount(db)
  const partition: TriggerPartition = {
    chainId: 4,
    chainName: 'Test',
    finality: 'latest',
    shard: 0,
    blindAfterSec: 60,
    leaseSec: 60,
  }
  const trigger = await createTrigger(db, { organizationId, apiKeyId, chainId: 4 })
  const lease = await acquirePartition(db, partition, { holder: 'me' })
  if (lease === undefined) throw new Error('Expected the line')
  await db.run(
    `insert into watch_told (organization_id, id, change, chain_id, finality, shard, block, name)
     values ($1, $2, 1, 4, 'latest', 0, 1, 'fired')`,
    [organizationId, trigger.id],
  )
  // As `deleteTrigger` in one statement, slowly.
  await owner.run('begin', [])
  await owner.run('select from watch_state where organization_id = $1 for update', [organizationId])
  const block = { number: 10n, hash: `0x${'11'.repeat(32)}`, timestampSec: 1_700_000_000n }
  const at = { partition, lease, block, fork: null, final: 5n, families: ['aave-v3'] }
  const committed = commitBlock(committer, { ...at, changes: [fired(trigger)] })
  // The commit waits for the state.
  await waitForLockWaits(db)
  await owner.run('delete from watch where organization_id = $1', [organizationId])
  await owner.run('commit', [])
  expect((await committed)?.failed).toHaveLength(1)
})
