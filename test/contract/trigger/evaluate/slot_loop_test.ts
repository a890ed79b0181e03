import { expect, test } from 'bun:test'
import type { Database } from '../../../../src/db/database.ts'
import type { AccountWatcher, ConfirmedFigures } from '../../../../src/family/watch.ts'
import { type Clock, systemClock } from '../../../../src/lib/clock.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import type { Job } from '../../../../src/lib/job.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { rational } from '../../../../src/lib/number/rational.ts'
import { slotLoopJob } from '../../../../src/trigger/evaluate/slot_loop.ts'
import { createAccount, readBooks } from '../../../support/account/scene.ts'
import { testDatabase } from '../../../support/database.ts'
import { createFixedClock } from '../../../support/test_clock.ts'
import { createTrigger } from '../../../support/trigger/scene.ts'

const CHAIN_ID = 101

/** The loop of a process. */
function createJob(db: Database, watcher: AccountWatcher, clock: Clock = systemClock): Job {
  const partition = {
    chainId: CHAIN_ID,
    chainName: 'Solana',
    finality: 'latest',
    shard: 0,
    blindAfterSec: 60,
    leaseSec: 15,
  } as const
  return slotLoopJob({
    partition,
    watchers: new Map([['slots', watcher]]),
    db,
    holder: 'me',
    messageContext: { partition, publicUrl: '', answerPath: () => '/v1/slots' },
    recorder: { recordBlock: () => {}, recordFailure: () => {}, recordEnd: () => {} },
    onMessagesQueued: () => {},
    clock,
    log: silentLog,
  })
}

test('subjects are read in turn, each reading at a later slot, and the family counts as seen after all of them', async () => {
  const { db } = await testDatabase()
  const account = await createAccount(db)
  const { organizationId, apiKeyId } = account
  for (const obligation of ['a', 'b', 'c']) {
    await createTrigger(db, {
      organizationId,
      apiKeyId,
      id: `trg_${obligation}`,
      chainId: CHAIN_ID,
      family: 'slots',
      subject: { obligation },
      clause: { figure: 'level', below: '1.05' },
      createdAt: new Date(Date.now() - 100_000),
    })
  }
  let slot = 1_000n
  const levels = new Map([['a', 200n]])
  const asked: (readonly [bigint, readonly string[]])[] = []
  const watcher: AccountWatcher = {
    slotMs: 400,
    subjectsMax: 2,
    async confirm(subjects, minSlot) {
      slot = minSlot > slot ? minSlot : slot + 3n
      asked.push([minSlot, subjects.map(({ obligation = '' }) => obligation)])
      const found = subjects.map(({ obligation = '' }): ConfirmedFigures | 'gone' => {
        const level = levels.get(obligation)
        if (level === undefined) return 'gone'
        return { value: () => rational(level, 100n), text: () => String(Number(level) / 100), memo: undefined }
      })
      return { slot, timestampSec: 1_800_000_000n, subjects: found }
    },
  }
  const job = createJob(db, watcher)
  const { signal } = new AbortController()
  const types = async () =>
    (await db.run<{ type: string }>('select type from message order by no', [])).map(({ type }) => type)

  await job.round(signal)
  // The partition was not evaluated for a long time.
  expect(await types()).toEqual(['trigger.blind'])
  levels.set('a', 100n)
  await job.round(signal)
  expect(await types()).toEqual(['trigger.blind', 'trigger.sighted'])
  await job.round(signal)
  expect(await types()).toEqual(['trigger.blind', 'trigger.sighted', 'trigger.fired'])
  expect(asked.map(([, who]) => who)).toEqual([['a', 'b'], ['c'], ['a', 'b']])
  expect(asked.map(([minSlot]) => minSlot)).toEqual([0n, 1_004n, 1_005n])
  const [told] = await db.run<{ body: string }>(`select body from message where type = 'trigger.fired'`, [])
  expect(JSON.parse(told?.body ?? '').data).toMatchObject({
    block: { number: 1_005, hash: null, finality: 'latest' },
    value: '1',
    previous_value: null,
    citation: [],
  })
  expect(await readBooks(db, organizationId)).toMatchObject({ charged: 2 })
}, 60_000)

test('a subject of a stranger that cannot be read stops no other, and is blind by itself', async () => {
  const { db } = await testDatabase()
  const [victim, stranger] = [await createAccount(db), await createAccount(db)]
  const watch = (account: typeof victim, obligation: string) =>
    createTrigger(db, {
      ...account,
      chainId: CHAIN_ID,
      family: 'slots',
      subject: { obligation },
      clause: { figure: 'level', below: '1.05' },
    })
  const poison = await watch(stranger, 'poison')
  const stale = await watch(victim, 'stale')
  for (let index = 0; index < 30; index++) await watch(victim, `fine ${index}`)
  let slot = 1_000n
  let isAway = false
  let level = 200n
  let sizes: number[] = []
  const watcher: AccountWatcher = {
    slotMs: 400,
    subjectsMax: 500,
    async confirm(subjects, minSlot) {
      if (isAway || subjects.some(({ obligation }) => obligation === 'poison')) throw new UpstreamError('Too long')
      sizes.push(subjects.length)
      slot = minSlot > slot ? minSlot : slot + 3n
      const found = subjects.map(({ obligation }): ConfirmedFigures => {
        const value = obligation === 'stale' ? undefined : rational(level, 100n)
        return { value: () => value, text: () => (value === undefined ? null : String(level)), memo: undefined }
      })
      return { slot, timestampSec: 1_800_000_000n, subjects: found }
    },
  }
  let nowMs = Date.now()
  const job = createJob(
    db,
    watcher,
    createFixedClock(() => nowMs),
  )
  const { signal } = new AbortController()
  const listTold = async (account: typeof victim, type: string) => {
    const sql = 'select body from message where organization_id = $1 and type = $2'
    return (await db.run<{ body: string }>(sql, [account.organizationId, type])).map(
      ({ body }) => JSON.parse(body).data,
    )
  }
  /** Reads all pieces of a pass. */
  const pass = async () => {
    for (let turn = 0; turn < 12; turn++) await job.round(signal)
  }
  await pass()
  level = 100n
  await pass()
  expect(await listTold(victim, 'trigger.fired')).toHaveLength(30)
  // The next passes read it apart from the others.
  sizes = []
  await job.round(signal)
  await job.round(signal)
  expect(sizes.filter((size) => size > 0)).toEqual([31])

  for (const [table, column] of [
    ['watch_unseen', 'since_at'],
    ['watch', 'active_at'],
  ]) {
    await db.run(`update ${table} set ${column} = ${column} - interval '60 seconds'`, [])
  }
  nowMs += 60_000
  await pass()
  expect((await listTold(victim, 'trigger.blind')).map(({ trigger_ids }) => trigger_ids)).toEqual([[stale.id]])
  expect((await listTold(stranger, 'trigger.blind')).map(({ trigger_ids }) => trigger_ids)).toEqual([[poison.id]])

  // If the chain cannot be read at all, the subjects are not the cause.
  isAway = true
  await expect(job.round(signal)).rejects.toThrow('Too long')
  const [unseen] = await db.run<{ count: string }>('select count(*) from watch_unseen', [])
  expect(Number(unseen?.count)).toBe(2)
}, 60_000)

test('a turn through all subjects that takes too long is told, though some of them are read', async () => {
  const { db } = await testDatabase()
  const { organizationId, apiKeyId } = await createAccount(db)
  for (const obligation of ['a', 'b', 'c']) {
    await createTrigger(db, {
      organizationId,
      apiKeyId,
      chainId: CHAIN_ID,
      family: 'slots',
      subject: { obligation },
      clause: { figure: 'level', below: '1.05' },
    })
  }
  let slot = 1_000n
  const watcher: AccountWatcher = {
    slotMs: 400,
    subjectsMax: 1,
    confirm: async (subjects) => ({ slot: ++slot, timestampSec: 1_800_000_000n, subjects: subjects.map(() => 'gone') }),
  }
  let nowMs = 1_000
  const job = createJob(
    db,
    watcher,
    createFixedClock(() => nowMs),
  )
  const { signal } = new AbortController()
  for (let piece = 0; piece < 3; piece++) await job.round(signal)
  await db.run("update watch_sight set at = now() - interval '61 seconds'", [])
  await db.run("update watch set active_at = now() - interval '61 seconds'", [])
  for (let piece = 0; piece < 2; piece++) {
    expect(await db.run('select type from message', [])).toEqual([])
    nowMs += 30_000
    await job.round(signal)
  }
  expect(await db.run('select type from message', [])).toEqual([{ type: 'trigger.blind' }])
}, 60_000)
