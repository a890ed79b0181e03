import { beforeAll, expect, test } from 'bun:test'
import type { Database } from '../../../../src/db/database.ts'
import {
  acquirePartition,
  commitBlock,
  notifyBlindTriggers,
  storeUnseen,
  type TriggerPartition,
} from '../../../../src/trigger/evaluate/partition.ts'
import { createAccount } from '../../../support/account/scene.ts'
import { testDatabase } from '../../../support/database.ts'
import { createTrigger } from '../../../support/trigger/scene.ts'

const PARTITION: TriggerPartition = {
  chainId: 900_000,
  chainName: 'Test',
  finality: 'latest',
  shard: 0,
  blindAfterSec: 60,
  leaseSec: 15,
}
const BLOCK = { number: 10n, hash: `0x${'11'.repeat(32)}`, timestampSec: 1_700_000_000n }
let db: Database

beforeAll(async () => {
  db = (await testDatabase()).db
}, 60_000)

test('a trigger that was made while its line stood still is not blind at once', async () => {
  const { organizationId, apiKeyId } = (await createAccount(db)).caller
  const { chainId } = PARTITION
  const old = await createTrigger(db, {
    organizationId,
    apiKeyId,
    chainId,
    createdAt: new Date(Date.now() - 120_000),
  })
  const lease = await acquirePartition(db, PARTITION, { holder: 'me' })
  if (lease === undefined) throw new Error('Expected the line')
  const commit = {
    partition: PARTITION,
    lease,
    block: BLOCK,
    fork: null,
    final: 0n,
    families: [old.family],
    changes: [],
  }
  await commitBlock(db, commit)
  await db.run("update watch_sight set at = now() - interval '61 seconds'", [])
  await createTrigger(db, { organizationId, apiKeyId, chainId })
  expect(await notifyBlindTriggers(db, PARTITION, lease)).toBe(1)
  const [message] = await db.run<{ ids: readonly string[] }>(
    `select body::jsonb -> 'data' -> 'trigger_ids' as ids from message where organization_id = $1`,
    [organizationId],
  )
  expect(message?.ids).toEqual([old.id])
})

test('who lost the lease notes nothing of what it left out', async () => {
  const { organizationId, apiKeyId } = (await createAccount(db)).caller
  const partition = { ...PARTITION, chainId: 900_001 }
  const trigger = await createTrigger(db, { organizationId, apiKeyId, chainId: partition.chainId })
  const lost = await acquirePartition(db, partition, { holder: 'me' })
  await db.run('update watch_cursor set lease_until = now()', [])
  const held = await acquirePartition(db, partition, { holder: 'other' })
  if (lost === undefined || held === undefined) throw new Error('Expected the line')
  const countNoted = async (lease: typeof lost) => {
    await storeUnseen(db, { partition, lease, block: 10n, missed: [{ trigger }], seen: [] })
    return (await db.run('select from watch_unseen where id = $1', [trigger.id])).length
  }
  expect(await countNoted(lost)).toBe(0)
  expect(await countNoted(held)).toBe(1)
})
