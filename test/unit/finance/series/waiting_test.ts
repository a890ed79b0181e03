import { expect, test } from 'bun:test'
import type { ChainClient } from '../../../../src/chain/rpc/client.ts'
import { createSnapshotSeries, type SeriesStart } from '../../../../src/finance/series/series.ts'
import { createSnapshotTaker } from '../../../../src/finance/series/snapshot_taker.ts'
import type { SnapshotStore, SnapshotTarget } from '../../../../src/finance/series/store.ts'
import type { Midnights } from '../../../../src/history/midnight.ts'
import type { Recheck } from '../../../../src/history/recheck.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { PendingError, UnavailableError } from '../../../../src/lib/error.ts'
import { createTestClock, settle } from '../../../support/test_clock.ts'

const WALLET = '0x0000000000000000000000000000000000000001'
const work = createWork(new AbortController().signal)
const client = { chain: { id: 1 } } as unknown as ChainClient

/** A target whose figures are read by `readFigures`. */
function createTarget(readFigures: SnapshotTarget<string>['readFigures']): SnapshotTarget<string> {
  return { chainId: 1, name: '0x01', client, walletsMax: 10, readFigures }
}

/** A series whose completion lasts until the test ends it, or until it is aborted. */
function openSeries() {
  const clock = createTestClock()
  const runs: { readonly end: (start: SeriesStart | undefined) => void; readonly signal: AbortSignal }[] = []
  const series = createSnapshotSeries<string, SnapshotTarget<string>>({
    findSeriesStart: (_, within) =>
      new Promise((end, fail) => {
        runs.push({ end, signal: within.signal })
        within.signal.addEventListener('abort', () => fail(new UnavailableError('Aborted')))
      }),
    midnights: {} as Midnights,
    store: { list: async () => [] } as Partial<SnapshotStore<string>> as SnapshotStore<string>,
    taker: createSnapshotTaker({ midnights: {} as Midnights, store: {} as SnapshotStore<string>, clock }),
    recheck: {} as Recheck,
    clock,
  })
  const ask = () => {
    const request = { target: createTarget(() => Promise.reject(new Error('Not read'))), wallet: WALLET } as const
    return series.read(request, work).catch((error: unknown) => error)
  }
  return { clock, runs, ask }
}

test('a caller waits four seconds for missing snapshots, and later ones share what was begun', async () => {
  const { clock, runs, ask } = openSeries()
  const first = ask()
  let isSettled = false
  void first.then(() => {
    isSettled = true
  })
  await clock.advance(3_999)
  expect(isSettled).toBe(false)
  await clock.advance(1)
  expect(await first).toBeInstanceOf(PendingError)
  const second = ask()
  await settle()
  expect(runs).toHaveLength(1)
  runs[0]?.end(undefined)
  expect(await second).toMatchObject({ snapshots: [], newest: undefined })
})

test('the reading ends a minute after the last caller asked, and the next caller begins another', async () => {
  const { clock, runs, ask } = openSeries()
  void ask()
  await clock.advance(50_000)
  void ask()
  await clock.advance(59_999)
  expect(runs.map((run) => run.signal.aborted)).toEqual([false])
  await clock.advance(1)
  expect(runs.map((run) => run.signal.aborted)).toEqual([true])
  const last = ask()
  await settle()
  expect(runs).toHaveLength(2)
  runs[1]?.end(undefined)
  expect(await last).toMatchObject({ snapshots: [] })
})

test('a reading that fails is tried again after half a second, and after one and a half more', async () => {
  const clock = createTestClock()
  const readMs: number[] = []
  const saved: string[] = []
  const taker = createSnapshotTaker<string>({
    midnights: { findBlock: async () => ({ number: 1n }) } as unknown as Midnights,
    store: {
      async save(_target: unknown, _midnight: unknown, rows: readonly { readonly wallet: string }[]) {
        saved.push(...rows.map(({ wallet }) => wallet))
        return true
      },
    } as unknown as SnapshotStore<string>,
    clock,
  })
  const target = createTarget(async (_, wallets) => {
    readMs.push(clock.monotonicMs())
    if (readMs.length < 3) throw new UnavailableError('Not now')
    return { value: wallets.map(() => 'figures'), endpoints: [0, 1] }
  })
  const taken = taker.take({ target, day: 5, wallet: WALLET }, work.signal)
  await clock.advance(2_000)
  expect(await taken).toBe(2)
  expect([readMs, saved]).toEqual([[0, 500, 2_000], [WALLET]])
})

test('of the wallets of one reading only those that cannot be read fail', async () => {
  const clock = createTestClock()
  const saved: string[] = []
  const taker = createSnapshotTaker<string>({
    midnights: { findBlock: async () => ({ number: 1n }) } as unknown as Midnights,
    store: {
      async save(_target: unknown, _midnight: unknown, rows: readonly { readonly wallet: string }[]) {
        saved.push(...rows.map(({ wallet }) => wallet))
        return true
      },
    } as unknown as SnapshotStore<string>,
    clock,
  })
  const wallets = Array.from({ length: 8 }, (_, index) => `0x${index}` as const)
  let readings = 0
  const target = createTarget(async (_, part) => {
    readings++
    if (part.includes('0x5')) throw new UnavailableError('Cannot read the wallet')
    return { value: part.map(() => 'figures'), endpoints: [0, 1] }
  })
  const taken = wallets.map((wallet) => taker.take({ target, day: 5, wallet }, work.signal).catch(String))
  await clock.advance(5_000)
  const others = wallets.filter((wallet) => wallet !== '0x5')
  expect(await Promise.all(taken)).toEqual(
    wallets.map((wallet) => (wallet === '0x5' ? 'UnavailableError: Cannot read the wallet' : 2)),
  )
  expect([saved.sort(), readings]).toEqual([others, 3 + 6])
})
