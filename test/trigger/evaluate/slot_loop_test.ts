import { expect, test } from 'bun:test'
import type { AccountWatcher, ConfirmedFigures } from '../../../src/family/watch.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { rational } from '../../../src/lib/number/rational.ts'
import { slotLoopJob } from '../../../src/trigger/evaluate/slot_loop.ts'
import { createAccount, readBooks } from '../../account/scene.ts'
import { testDatabase } from '../../support/database.ts'
import { createTrigger } from '../scene.ts'

const CHAIN_ID = 101

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
  const line = {
    chainId: CHAIN_ID,
    chainName: 'Solana',
    finality: 'latest',
    shard: 0,
    blindAfterSec: 60,
    leaseSec: 15,
  } as const
  const job = slotLoopJob({
    partition: line,
    watchers: new Map([['slots', watcher]]),
    db,
    holder: 'me',
    messageContext: { partition: line, publicUrl: '', answerPath: () => '/v1/slots' },
    recorder: { recordBlock: () => {}, recordFailure: () => {}, recordEnd: () => {} },
    onMessagesQueued: () => {},
    clock: systemClock,
    log: silentLog,
  })
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
