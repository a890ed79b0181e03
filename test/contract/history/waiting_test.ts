import { expect, test } from 'bun:test'
import { readLendingEvents } from '../../../src/family/lending/lending_event.ts'
import { createCoverage } from '../../../src/history/coverage.ts'
import { createHistory, type HistoryService } from '../../../src/history/mod.ts'
import { countBlocksIn } from '../../../src/history/range.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { UnavailableError } from '../../../src/lib/error.ts'
import { silentLog } from '../../../src/lib/log.ts'
import {
  actInBlocks,
  createTestClient,
  deployEmitter,
  describeRows,
  EMITTED,
  readTruth,
  toTarget,
  toWallet,
} from '../../support/history/scene.ts'
import { capped } from '../../support/history/simulation/capped.ts'
import { CAP_DIALECTS } from '../../support/history/simulation/endpoint.ts'
import type { Fault, SeenRequest } from '../../support/rpc.ts'
import { slowClock } from '../../support/test_clock.ts'
import { waitFor } from '../../support/wait_for.ts'
import { CHAIN_ID, setStage } from './stage.ts'

const never = createWork(new AbortController().signal)
const PLACE = toTarget(CHAIN_ID)
const HEAD = 80
const FINAL = 70
const WALLET = toWallet(1)
const [dialect] = CAP_DIALECTS as [(typeof CAP_DIALECTS)[number]]

/** Time that passed apart from the machine's, milliseconds. */
let skippedMs = 0
/** How long a caller waits. */
const WAIT_MS = 4_000
/** How long the end of a history is kept for those who ask while its blocks are the newest. */
const KEPT_MS = 30_000
/** How far the wall clock is ahead of the chain. */
let aheadMs = 0
/** The waits of callers that go on, which end when the test says so. */
const waits = new Set<AbortController>()
const clock: Clock = {
  ...slowClock,
  now: () => slowClock.now() + aheadMs,
  monotonicMs: () => slowClock.monotonicMs() + skippedMs,
  timeout(ms) {
    // Those for one request are shorter.
    if (ms < WAIT_MS / 2) return slowClock.timeout(ms)
    const wait = new AbortController()
    waits.add(wait)
    return wait.signal
  },
}

const stage = setStage({
  endpoints: 1,
  async prepare(rpc) {
    await deployEmitter(rpc)
    await actInBlocks(rpc, HEAD)
  },
})

function open(): HistoryService {
  const client = createTestClient([stage.proxy.url], { chainId: CHAIN_ID })
  const clients = new Map([[CHAIN_ID, client]])
  const history = createHistory({ clients, db: stage.database.db, clock, log: silentLog, holder: 'test' })
  stage.closers.push(async () => {
    await history.close()
    client.close()
  })
  return history
}

function ensure(history: HistoryService, subject = WALLET) {
  return history.ensure({ stream: EMITTED, target: PLACE, subject }, never)
}

async function catchFailure(asking: Promise<unknown>): Promise<UnavailableError> {
  const failure = await asking.then(
    () => new Error('It answered'),
    (error: unknown) => error,
  )
  expect(failure).toBeInstanceOf(UnavailableError)
  return failure as UnavailableError
}

/** Blocks of a wallet's history that are stored. */
async function storedBlocks(): Promise<number> {
  const name = { target: PLACE, stream: EMITTED.name }
  const covered = await createCoverage(stage.database.db, 'nobody').find(name, [WALLET])
  return countBlocksIn(covered.get(WALLET)?.ranges ?? [])
}

function logRequests(): number {
  return stage.proxy.seen.filter(({ method }) => method === 'eth_getLogs').length
}

/** The range that is asked for; undefined for other requests than those for logs of a range. */
function toRange({ method, params }: SeenRequest): { readonly fromBlock: number } | undefined {
  const { fromBlock } = (params[0] ?? {}) as { readonly fromBlock?: string }
  return method === 'eth_getLogs' && fromBlock !== undefined ? { fromBlock: Number(fromBlock) } : undefined
}

/** Asks as so many callers, whose waits end once the work that they wait for stands at a request for logs. */
async function askInVain(history: HistoryService, callers = 1): Promise<readonly UnavailableError[]> {
  waits.clear()
  const asking = Array.from({ length: callers }, () => catchFailure(ensure(history)))
  await waitFor('the waits', () => waits.size === callers && logRequests() > 0 && stage.proxy.waiting() > 0)
  skippedMs += WAIT_MS
  for (const wait of waits) wait.abort()
  return await Promise.all(asking)
}

test('a caller is told after its wait how far the work is and when to come back, and the work goes on', async () => {
  const limited = capped(dialect, 3)
  stage.proxy.rule(limited)
  const history = open()
  // What the endpoint takes is learned, so that further histories are stored in several parts.
  await ensure(history, toWallet(9))

  let heldTo = FINAL
  stage.proxy.reset()
  stage.proxy.rule((request): Fault | undefined => {
    const range = toRange(request)
    const isHeld = range !== undefined && range.fromBlock <= heldTo
    const released = () => waitFor('a release', () => (range?.fromBlock ?? 0) > heldTo, 60_000)
    return limited(request) ?? (isHeld ? { kind: 'meanwhile', done: released } : undefined)
  })
  const said = 'The history of chain 31337 (Devnet 31337) is being read:'
  const [first] = await askInVain(history)
  expect(first?.message).toBe(`${said} 0 % done, ${FINAL} blocks left`)
  // Nothing is known about the pace.
  expect(first?.retryAfterSec).toBe(5)

  // Parts are twelve blocks long: two of six can be stored, and the last one starts when no request waits any more.
  heldTo = 46
  await waitFor('the newer blocks', async () => (await storedBlocks()) === 24)
  skippedMs += 4 * WAIT_MS
  const [second] = await askInVain(history)
  expect(second?.message).toBe(`${said} 34 % done, 46 blocks left`)
  // 24 blocks took 20 seconds and a little, but who comes back later than half a minute finds the work ended.
  expect(second?.retryAfterSec).toBe(15)

  heldTo = 0
  await waitFor('the older blocks, without a waiting request', async () => (await storedBlocks()) === FINAL)
  stage.proxy.reset()
  const { storedTo, tail } = await ensure(history)
  expect(storedTo).toBe(FINAL)
  // Nothing that is stored was asked for again.
  const oldest = Math.min(...stage.proxy.seen.flatMap((request) => toRange(request)?.fromBlock ?? []))
  expect(oldest).toBeGreaterThan(FINAL)
  const stored = await readLendingEvents(stage.database.db, {
    target: PLACE,
    stream: EMITTED.name,
    wallet: WALLET,
    toBlock: FINAL,
    kinds: ['supply'] as const,
    skip: 0,
    max: 1_000,
  })
  expect(describeRows([...(stored?.events ?? []), ...tail])).toEqual(await readTruth(stage.rpc, WALLET, FINAL))
})

test('an endpoint that never answers for logs holds up no caller, and nothing is left behind', async () => {
  stage.proxy.rule(({ method }) => (method === 'eth_getLogs' ? { kind: 'hang' } : undefined))
  const history = open()
  const failures = await askInVain(history, 20)
  for (const { message, retryAfterSec } of failures) {
    expect(message).toEndWith(`is being read: 0 % done, ${FINAL} blocks left`)
    expect(retryAfterSec).toBe(5)
  }
  // All of them wait for the same work.
  expect(logRequests()).toBe(1)
  await history.close()
  await waitFor('no request to be left', () => stage.proxy.waiting() === 0)
  expect(await stage.database.db.run('select from lease where until > now()', [])).toEqual([])
})

test.each([
  { cap: 4, end: HEAD },
  { cap: 3, end: FINAL },
])(
  'an end that takes more than 8 requests is left out: ranges of $cap blocks end at block $end',
  async ({ cap, end }) => {
    stage.proxy.rule(capped(dialect, cap))
    const history = open()
    await ensure(history)
    stage.proxy.reset()
    await ensure(history)
    // The end of the same blocks was just read.
    expect(logRequests()).toBe(0)
    skippedMs += KEPT_MS
    const { storedTo, tail, block } = await ensure(history)
    expect([storedTo, Number(block.number)]).toEqual([FINAL, end])
    const truth = await readTruth(stage.rpc, WALLET, HEAD)
    const expected = truth.filter((word) => Number(word.split(':')[0]) > FINAL)
    expect(expected.length).toBeGreaterThan(3)
    expect(describeRows(tail)).toEqual(end === FINAL ? [] : expected)
    expect(logRequests()).toBe(end === FINAL ? 0 : 8)
  },
)

test('a history that would end at a block that is too old is 503 that names it, unless it is asked for an older one', async () => {
  stage.proxy.rule(capped(dialect, 3))
  const history = open()
  expect(Number((await ensure(history)).block.number)).toBe(FINAL)
  aheadMs = 2e12
  try {
    const failure = await catchFailure(ensure(history))
    expect(failure).toBeInstanceOf(UnavailableError)
    expect(failure.message).toMatch(
      /ends at block 70, which is \d+ s old \(check "final block", at most 1000000000 s\)/,
    )
    expect(history.getIssues().get(CHAIN_ID)).toBe(failure.message)
    const asked = { stream: EMITTED, target: PLACE, subject: WALLET }
    expect((await history.ensure({ ...asked, upTo: BigInt(FINAL) }, never)).storedTo).toBe(FINAL)
    await expect(history.ensure({ ...asked, upTo: BigInt(FINAL + 1) }, never)).rejects.toThrow('which is')
  } finally {
    aheadMs = 0
  }
  await ensure(history)
  expect(history.getIssues().size).toBe(0)
})

test('while the operator has histories switched off, no history is read', async () => {
  const history = open()
  await stage.database.db.run("insert into feature_disabled (feature) values ('history')", [])
  const failure = await catchFailure(ensure(history))
  expect(failure.message).toBe(
    'The history of chain 31337 (Devnet 31337) is not read: the operator has switched histories off',
  )
  expect(logRequests()).toBe(0)
  await stage.database.db.run('delete from feature_disabled', [])
  expect((await ensure(history)).storedTo).toBe(FINAL)
})
