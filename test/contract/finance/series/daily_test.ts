import { afterAll, beforeEach, expect, test } from 'bun:test'
import { lendingSnapshots } from '../../../../src/family/lending/series.ts'
import { takeDailySnapshots } from '../../../../src/finance/series/daily.ts'
import { createSnapshotStore } from '../../../../src/finance/series/store.ts'
import { DAY_SEC } from '../../../../src/history/midnight.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { testDatabase } from '../../../support/database.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

type Parts = Parameters<typeof takeDailySnapshots>[0]

const never = createWork(new AbortController().signal)
const DAY = 20_000
const NAME = { chainId: 5, name: toWalletAddress('market') }
const WALLETS = ['one', 'two', 'three'].map(toWalletAddress)
const HOUR_MS = 3_600_000
/** Noon, so that the next midnight is far. */
const clock = createFixedClock((DAY + 0.5) * DAY_SEC * 1_000)

const database = await testDatabase()
afterAll(() => database.close(), 60_000)

beforeEach(async () => {
  for (const table of ['lease', 'snapshot_series']) await database.db.run(`delete from ${table}`, [])
  const store = createStore('follower')
  for (const wallet of WALLETS) await store.follow(NAME, wallet, undefined)
})

function createStore(holder: string) {
  return createSnapshotStore(database.db, { holder, table: lendingSnapshots(database.db) })
}

/** A process: `readBlock` finds the midnight's block, `take` takes a wallet's snapshot. */
function createProcess(
  holder: string,
  {
    readBlock = async () => {},
    take = async () => {},
  }: { readBlock?: () => Promise<void>; take?: (wallet: string) => Promise<void> } = {},
): () => Promise<number> {
  const parts = {
    targets: [{ ...NAME, client: {} }],
    midnights: { findBlock: readBlock, settle: async () => 0 },
    store: createStore(holder),
    taker: { take: ({ wallet }: { wallet: string }) => take(wallet) },
    clock,
    log: silentLog,
  }
  return () => takeDailySnapshots(parts as unknown as Parts, never)
}

async function listTaken(): Promise<readonly string[]> {
  const rows = await database.db.run<{ wallet: string }>(
    "select '0x' || encode(wallet, 'hex') as wallet from snapshot_series where taken_day = $1::integer",
    [DAY],
  )
  return rows.map(({ wallet }) => wallet).sort()
}

const away = () => Promise.reject(new UnavailableError('Cannot read'))
const lower = (wallets: readonly string[]) => wallets.map((each) => each.toLowerCase()).sort()

test('a process that fails gives the wallets back, and another takes them at once', async () => {
  expect(await createProcess('blind', { readBlock: away })()).toBe(30_000)
  expect(await createProcess('seeing')()).toBe(HOUR_MS)
  expect(await listTaken()).toEqual(lower(WALLETS))
})

test('only wallets that failed are tried again', async () => {
  const [bad = ''] = WALLETS
  const tried: string[] = []
  let fails = true
  const run = createProcess('me', {
    take: async (wallet) => {
      tried.push(wallet)
      if (fails && wallet.toLowerCase() === bad.toLowerCase()) await away()
    },
  })
  expect(await run()).toBe(30_000)
  expect(await listTaken()).toEqual(lower(WALLETS.slice(1)))
  fails = false
  tried.length = 0
  expect(await run()).toBe(HOUR_MS)
  expect(lower(tried)).toEqual(lower([bad]))
})

test('wallets that another process has leased are looked at again when the first lease ends', async () => {
  await createStore('other').claim(NAME, { day: DAY, leaseSec: 20, max: 1 })
  await createStore('third').claim(NAME, { day: DAY, leaseSec: 3_000, max: 1 })
  const run = createProcess('me')
  const waitMs = await run()
  expect(waitMs).toBeGreaterThan(10_000)
  expect(waitMs).toBeLessThanOrEqual(20_000)
  expect(await listTaken()).toHaveLength(1)
  // The two processes are gone.
  await database.db.run("update lease set until = now() - interval '1 second'", [])
  expect(await run()).toBe(HOUR_MS)
  expect(await listTaken()).toEqual(lower(WALLETS))
})

test('a lease that is over, or of a wallet that is done, is not waited for', async () => {
  const other = createStore('other')
  const claimed = await other.claim(NAME, { day: DAY, leaseSec: 20, max: 3 })
  await database.db.run('update snapshot_series set taken_day = $1', [DAY])
  expect(claimed).toHaveLength(3)
  expect(await createProcess('me')()).toBe(HOUR_MS)
})
