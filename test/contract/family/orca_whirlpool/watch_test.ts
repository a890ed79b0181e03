import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../../../src/chain/solana/client.ts'
import { sqrtPriceAtTickX64 } from '../../../../src/family/orca_whirlpool/math/tick.ts'
import { ORCA_WHIRLPOOL } from '../../../../src/family/orca_whirlpool/mod.ts'
import type { AccountWatcher, ConfirmedFigures, WatchSubject } from '../../../../src/family/watch.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { slotLoopJob } from '../../../../src/trigger/evaluate/slot_loop.ts'
import { createAccount } from '../../../support/account/scene.ts'
import { testDatabase } from '../../../support/database.ts'
import { orcaStage } from '../../../support/family/orca_whirlpool/stage.ts'
import { createTestServices } from '../../../support/family.ts'
import { patchAccount, type ServedAccounts, toFakeAddress } from '../../../support/kamino.ts'
import { scene, WALLET } from '../../../support/kamino_scene.ts'
import { ORCA_MINT, orcaScene } from '../../../support/orca_scene.ts'
import { orcaAccounts, orcaCase } from '../../../support/orca_vectors.ts'
import { startSolanaDouble } from '../../../support/solana.ts'
import { createPatientClock } from '../../../support/test_clock.ts'
import { createTrigger } from '../../../support/trigger/scene.ts'

const SLOT = 432_000 * 925 + 7
const OTHER = toFakeAddress('wallet of all')
const CASES = ['edge/in-range', 'edge/in-range-dynamic', 'edge/taxed', 'edge/splash', 'edge/mixed-arrays'] as const
const FIGURES = ['in_range', 'is_active', 'fees_usd', 'value_usd'] as const
const patient = createWork(new AbortController().signal)

const double = startSolanaDouble({ slot: SLOT })
/** Time passes only as a test says. */
const createStage = () => orcaStage([double], { clock: createPatientClock() })
let stage = createStage()

beforeEach(() => {
  stage = createStage()
  double.accounts = world()
  double.slot = SLOT
  double.slotsPerRead = 0
  double.seen.length = 0
})
afterEach(() => stage.solana.close())
afterAll(() => double.stop(), 60_000)

/** A priced position of Kamino's wallet, and positions of another one, whose rewards were counted a minute ago. */
function world(): ServedAccounts {
  const rewardsUpdatedAt = String(Math.floor(Date.now() / 1_000) - 60)
  const others = CASES.map((name) => {
    const state = orcaCase(name)
    return orcaAccounts({ ...state, wallet: OTHER, pool: { ...state.pool, rewardsUpdatedAt } })
  })
  const accounts: ServedAccounts = Object.assign({}, scene(), orcaScene(), ...others)
  // The reward has no price: of an empty vault it counts as zero.
  patchAccount(accounts, toFakeAddress('reward vault'), { at: 64, length: 8, value: 0n })
  return accounts
}

function watched(solana = stage.solana) {
  const connect = () => createTestServices({ solana, clock: createPatientClock() })
  const found = ORCA_WHIRLPOOL.configure(new Map()).watch({ chainIds: [], servesSolana: true, connect })
  if (found === undefined) throw new Error('Cannot watch Orca')
  return found
}

function createWatcher(): AccountWatcher {
  const watcher = watched().accountWatcher?.()
  if (watcher === undefined) throw new Error('Expected a watcher')
  return watcher
}

interface Shown {
  readonly token_id: string
  readonly position_address: string
  readonly is_active: boolean
  readonly in_range: boolean
  readonly usd: { readonly uncollected_fees: string | null; readonly total: string | null }
  readonly prices: { readonly current: string; readonly lower: string; readonly upper: string }
}

async function list(wallet: string): Promise<readonly Shown[]> {
  const { reply, message } = await stage.list({ wallet, full: true, limit: 25 })
  if (reply === undefined) throw new Error(message)
  return reply.data as unknown as readonly Shown[]
}

/** What the route shows at the path of a message. */
async function readShown(subject: WatchSubject): Promise<Shown> {
  const target = new URL(watched().answerPath(subject, SOLANA_CHAIN_ID, 1n), 'http://scope.test')
  const { reply, message } = await stage.single(
    target.pathname.split('/').at(-1) ?? '',
    Object.fromEntries(target.searchParams),
  )
  if (reply === undefined) throw new Error(message)
  return reply.data as unknown as Shown
}

const toSubject = (position_address: string, wallet: string): WatchSubject => ({ position_address, wallet })

function toTexts(found: ConfirmedFigures | 'gone' | undefined) {
  if (found === undefined || found === 'gone') throw new Error('Expected figures')
  return Object.fromEntries(FIGURES.map((figure) => [figure, found.text(figure)]))
}

async function listSubjects(): Promise<WatchSubject[]> {
  const found = await Promise.all([WALLET, OTHER].map(async (wallet) => ({ wallet, listed: await list(wallet) })))
  return found.flatMap(({ wallet, listed }) => listed.map((each) => toSubject(each.position_address, wallet)))
}

describe('confirm()', () => {
  test('returns the figures of the route at the same slot, digit by digit, of several wallets', async () => {
    const subjects = await listSubjects()
    const { slot, subjects: confirmed } = await createWatcher().confirm(subjects, BigInt(SLOT), patient)
    expect(slot).toBe(BigInt(SLOT))
    let valued = 0
    for (const [index, subject] of subjects.entries()) {
      const { is_active, in_range, usd, prices } = await readShown(subject)
      const found = confirmed[index]
      expect(toTexts(found)).toEqual({ in_range, is_active, fees_usd: usd.uncollected_fees, value_usd: usd.total })
      if (Number(usd.uncollected_fees) > 0 && Number(usd.total) > Number(usd.uncollected_fees)) valued++
      const [current = 0, lower = 0, upper = 0] = [prices.current, prices.lower, prices.upper].map(Number)
      const distance = (Math.min(current - lower, upper - current) / current) * 100
      const text = found === undefined || found === 'gone' ? null : found.text('distance_to_edge_percentage')
      // The route rounds its prices, and the figure is rounded to four digits.
      expect(Number(text) / distance).toBeCloseTo(1, 3)
    }
    expect([subjects.length, valued]).toEqual([CASES.length + 1, 1])
  }, 60_000)

  test('returns gone for a closed position, one of another wallet and one that never was, and stops no other', async () => {
    const subjects = await listSubjects()
    const [first, second, third] = subjects as [WatchSubject, WatchSubject, WatchSubject]
    const watcher = createWatcher()
    const before = await watcher.confirm(subjects, 0n, patient)
    expect(before.subjects.filter((each) => each === 'gone')).toEqual([])
    // Closed after it was read, so that its accounts are cached.
    const { [second['position_address'] ?? '']: _, ...rest } = world()
    double.accounts = rest
    const asked = [first, second, { ...third, wallet: WALLET }, toSubject(toFakeAddress('nothing'), OTHER), third]
    const { subjects: confirmed } = await watcher.confirm(asked, 0n, patient)
    expect(confirmed.map((each) => each === 'gone')).toEqual([false, true, true, true, false])
    expect(toTexts(confirmed[0])).toEqual(toTexts(before.subjects[0]))
  }, 60_000)

  test('takes one request for positions that it has read, and answers from no slot before the requested one', async () => {
    const subjects = await listSubjects()
    const watcher = createWatcher()
    await watcher.confirm(subjects, 0n, patient)
    double.seen.length = 0
    double.slot = SLOT + 5
    const { slot, timestampSec } = await watcher.confirm(subjects, BigInt(SLOT + 3), patient)
    expect(slot).toBe(BigInt(SLOT + 5))
    expect(double.seen.length).toBeLessThan(subjects.length)
    expect(timestampSec).toBeGreaterThan(0n)
    double.seen.length = 0
    expect(await watcher.confirm([], 0n, patient)).toMatchObject({ slot: BigInt(SLOT + 5), subjects: [] })
    expect(double.seen.length).toBe(1)
    await expect(watcher.confirm(subjects, BigInt(SLOT + 1_000), patient)).rejects.toThrow('Solana')
  }, 60_000)
})

test('a trigger fires at the slot where the price leaves the range, and clears where it is back', async () => {
  const { db } = await testDatabase()
  const { organizationId, apiKeyId } = await createAccount(db)
  const [own] = await list(WALLET)
  const subject = toSubject(own?.position_address ?? '', WALLET)
  const shared = { organizationId, apiKeyId, chainId: SOLANA_CHAIN_ID, family: 'orca-whirlpool', subject }
  await createTrigger(db, { ...shared, clause: { figure: 'in_range', is: false }, clear: null })
  const partition = {
    chainId: SOLANA_CHAIN_ID,
    chainName: 'Solana',
    finality: 'latest',
    shard: 0,
    blindAfterSec: 600,
    leaseSec: 15,
  } as const
  const job = slotLoopJob({
    partition,
    watchers: new Map([['orca-whirlpool', createWatcher()]]),
    db,
    holder: 'me',
    messageContext: { partition, publicUrl: '', answerPath: () => '/' },
    recorder: { recordBlock: () => {}, recordFailure: () => {}, recordEnd: () => {} },
    onMessagesQueued: () => {},
    clock: systemClock,
    log: silentLog,
  })
  /** One turn at a slot, with the pool of the position at a tick. */
  async function turn(slot: number, tick: number | undefined): Promise<void> {
    const accounts = world()
    const pool = toFakeAddress('SOL/USDC pool')
    if (tick !== undefined) {
      patchAccount(accounts, pool, { at: 65, length: 16, value: sqrtPriceAtTickX64(tick) })
      patchAccount(accounts, pool, { at: 81, length: 4, value: BigInt(tick) })
    }
    Object.assign(double, { accounts, slot })
    await job.round(patient.signal)
  }
  await turn(SLOT + 10, undefined)
  await turn(SLOT + 20, -17_409)
  await turn(SLOT + 30, -17_408)
  await turn(SLOT + 40, -20_481)
  await turn(SLOT + 50, -20_480)
  const messages = await db.run<{ type: string; body: string }>('select type, body from message order by no', [])
  expect(messages.map(({ type, body }) => [type, JSON.parse(body).data.block.number])).toEqual([
    ['trigger.fired', SLOT + 30],
    ['trigger.cleared', SLOT + 50],
  ])
}, 60_000)

test('a subject is the account of a position and the wallet that holds its token', async () => {
  const { subject, figures, events, chainIds, watcher } = watched()
  expect([chainIds, watcher, events]).toEqual([[SOLANA_CHAIN_ID], undefined, []])
  expect(Object.keys(figures)).toEqual([...FIGURES, 'distance_to_edge_percentage'])
  const parse = (value: unknown) => {
    const result = v.safeParse(subject(SOLANA_CHAIN_ID), value)
    return result.success ? result.output : undefined
  }
  const [own] = (await list(WALLET)).filter(({ token_id }) => token_id === ORCA_MINT)
  const plain = toSubject(own?.position_address ?? '', WALLET)
  expect(parse(plain)).toEqual(plain)
  expect(parse({ position_address: plain['position_address'] })).toBeUndefined()
  expect(parse({ ...plain, wallet: '0x' })).toBeUndefined()
  const path = `/v1/positions/orca-whirlpool/${own?.position_address}?wallet=${WALLET}&full=true`
  expect(watched().answerPath(plain, SOLANA_CHAIN_ID, 1n)).toBe(path)
})
