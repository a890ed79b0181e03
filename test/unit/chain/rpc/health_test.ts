import { beforeEach, expect, test } from 'bun:test'
import { createHeadTracker, createHealth, createJitterSequence } from '../../../../src/chain/rpc/endpoint_state.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

let nowMs = 0
const clock = createFixedClock(() => nowMs)

beforeEach(() => {
  nowMs = 10_000
})

test('an endpoint is doubtful after one failure, open after three, ready after one success', () => {
  const health = createHealth({ clock, random: () => 0 })
  const states = [health.state()]
  for (let failure = 0; failure < 3; failure++) {
    health.recordFailure()
    states.push(health.state())
  }
  health.recordSuccess()
  expect([...states, health.state()]).toEqual(['ready', 'doubtful', 'doubtful', 'open', 'ready'])
})

test('an endpoint is probed after a pause that doubles with each failure, up to half a minute', () => {
  const health = createHealth({ clock, random: () => 0.999_9 })
  expect(health.isProbeDue()).toBe(false)
  const pauses: number[] = []
  for (let failure = 0; failure < 9; failure++) {
    health.recordFailure()
    const failedMs = nowMs
    while (!health.isProbeDue()) nowMs += 10
    pauses.push(nowMs - failedMs)
  }
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
})

test('pauses are spread by up to a half', () => {
  const health = createHealth({ clock, random: () => 0 })
  health.recordFailure()
  nowMs += 125
  expect(health.isProbeDue()).toBe(true)
})

test('a rate limit lasts as long as Retry-After says, whatever the endpoint still answers', () => {
  const health = createHealth({ clock, random: () => 0 })
  health.recordRateLimit(5_000)
  nowMs += 2_000
  expect(health.busyMs()).toBe(3_000)
  health.recordRateLimit(undefined)
  health.recordRateLimit(1_000)
  health.recordSuccess()
  expect(health.busyMs()).toBe(3_000)
  nowMs += 3_000
  expect([health.busyMs(), health.state()]).toEqual([0, 'ready'])
})

test('a rate limit without Retry-After doubles each time in a row', () => {
  const health = createHealth({ clock, random: () => 0 })
  const pauseMs = () => {
    for (let refused = 0; refused < 8; refused++) health.recordRateLimit(undefined)
    const busyMs = health.busyMs()
    nowMs += busyMs
    return busyMs
  }
  expect(Array.from({ length: 7 }, pauseMs)).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000])
  health.recordLatency(10)
  expect(pauseMs()).toBe(100)
})

test('latency counts in doublings beyond 100 ms and follows what was measured lately', () => {
  const health = createHealth({ clock, random: () => 0 })
  expect(health.getLatencyClass()).toBe(0)
  health.recordLatency(90)
  expect(health.getLatencyClass()).toBe(0)
  for (let call = 0; call < 50; call++) {
    nowMs += 1_000
    health.recordLatency(350)
  }
  expect(health.getLatencyClass()).toBe(2)
  health.recordLatency(10)
  expect(health.getLatencyClass()).toBe(0)
})

test('an endpoint counts as quick while it answers something quickly, however long the others take', () => {
  const health = createHealth({ clock, random: () => 0 })
  for (let call = 0; call < 1_000; call++) {
    nowMs += 100
    health.recordLatency(call % 50 === 0 ? 40 : 1_600)
  }
  expect(health.getLatencyClass()).toBe(0)
})

test('createJitterSequence() gives numbers in [0, 1) that lie apart', () => {
  const random = createJitterSequence(1_234.5)
  const numbers = Array.from({ length: 100 }, random).sort((a, b) => a - b)
  expect(numbers.every((value) => value >= 0 && value < 1)).toBe(true)
  const gaps = numbers.slice(1).map((value, index) => value - (numbers[index] ?? 0))
  expect(Math.max(...gaps)).toBeLessThan(0.03)
})

/** Heads that endpoints of a chain show; block times follow the clock by default. */
function createHeads(blockTimeMs: number) {
  const heads = createHeadTracker({ clock, blockTimeMs })
  return {
    ...heads,
    shows: (endpoint: number, number: bigint, ageSec = 0) =>
      heads.observe(endpoint, { number, timestampSec: BigInt(Math.floor(nowMs / 1_000) - ageSec) }),
  }
}

test('a head may be half a minute of blocks behind, and at least three', () => {
  const ethereum = createHeads(12_000)
  ethereum.shows(0, 1_000n)
  expect([ethereum.shows(1, 997n), ethereum.isDoubted(1)]).toEqual(['believed', false])
  expect([ethereum.shows(1, 996n), ethereum.isDoubted(1), ethereum.isDoubted(0)]).toEqual(['behind', true, false])
  const arbitrum = createHeads(250)
  arbitrum.shows(0, 1_000n)
  expect([arbitrum.shows(1, 880n), arbitrum.shows(1, 879n)]).toEqual(['believed', 'behind'])
})

test('an endpoint is not behind only because it was not asked for a while', () => {
  const heads = createHeads(12_000)
  heads.shows(1, 1_000n)
  nowMs += 59_000
  expect(heads.shows(0, 1_005n)).toBe('believed')
  expect(heads.isDoubted(1)).toBe(false)
})

test('an endpoint that stands still is behind, whichever of the two was seen first', () => {
  const heads = createHeads(12_000)
  heads.shows(0, 1_000n, 96)
  expect([heads.shows(1, 1_008n), heads.shows(0, 1_000n, 96)]).toEqual(['believed', 'behind'])
  for (const ageSec of [108, 120]) {
    nowMs += 12_000
    expect(heads.shows(0, 1_000n, ageSec)).toBe('behind')
  }
})

test('one endpoint alone cannot make two others look late, and a false head is forgotten after a minute', () => {
  const heads = createHeads(12_000)
  heads.shows(0, 1_000n)
  heads.shows(1, 1_000n)
  expect(heads.shows(2, 10n ** 12n)).toBe('ahead')
  expect([heads.shows(0, 1_001n), heads.shows(1, 1_001n)]).toEqual(['believed', 'believed'])
  // Not high enough to be seen as absurd by itself.
  expect(heads.shows(2, 1_004n)).toBe('believed')
  expect([heads.shows(0, 1_000n), heads.shows(1, 1_000n)]).toEqual(['believed', 'believed'])
  const two = createHeads(12_000)
  two.shows(0, 10n ** 12n)
  expect(two.shows(1, 1_000n)).toBe('behind')
  nowMs += 60_000
  expect([two.isDoubted(1), two.shows(1, 1_005n)]).toEqual([false, 'believed'])
})

test('a head may leap by twice the blocks of the time between, and half a minute of them', () => {
  const after = (ms: number, number: bigint) => {
    const heads = createHeads(2_000)
    heads.shows(0, 1_000n)
    heads.shows(1, 1_000n)
    nowMs += ms
    return heads.shows(1, number)
  }
  expect([after(0, 1_015n), after(0, 1_016n)]).toEqual(['believed', 'ahead'])
  expect([after(20_000, 1_035n), after(20_000, 1_036n)]).toEqual(['believed', 'ahead'])
  expect(after(60_000, 10n ** 12n)).toBe('believed')
})

test('an absurd head of one of two endpoints makes that one doubted, not the other', () => {
  for (const blockTimeMs of [12_000, 250, 0]) {
    const heads = createHeads(blockTimeMs)
    heads.shows(0, 1_000n)
    heads.shows(1, 1_000n)
    expect([heads.shows(0, 1_001_000n, -60), heads.isDoubted(0)]).toEqual(['ahead', true])
    expect([heads.shows(1, 1_001n), heads.isDoubted(1)]).toEqual(['believed', false])
    expect(heads.shows(0, 1_001_001n)).toBe('ahead')
    expect([heads.shows(0, 1_002n), heads.isDoubted(0)]).toEqual(['believed', false])
  }
})

test('a leap that two endpoints show is accepted', () => {
  const heads = createHeads(12_000)
  heads.shows(0, 1_000n)
  heads.shows(1, 1_000n)
  expect([heads.shows(0, 1_300n), heads.shows(1, 1_301n), heads.shows(0, 1_301n)]).toEqual([
    'ahead',
    'believed',
    'believed',
  ])
})

test('a single endpoint may leap and go back, and the head of a forgotten one is ignored', () => {
  const heads = createHeads(12_000)
  expect([heads.shows(0, 1_000n), heads.shows(0, 10n ** 9n), heads.shows(0, 5n)]).toEqual(Array(3).fill('believed'))
  heads.shows(1, 1_000n)
  heads.forget(1)
  expect(heads.shows(0, 6n)).toBe('believed')
})
