import { beforeEach, expect, test } from 'bun:test'
import { createHeads } from '../../src/chain/heads.ts'
import { createHealth, createSpread } from '../../src/chain/health.ts'

let nowMs = 0
const clock = { now: () => nowMs, monotonicMs: () => nowMs }

beforeEach(() => {
  nowMs = 10_000
})

test('an endpoint is doubtful after one failure, open after three, ready after one success', () => {
  const health = createHealth({ clock, random: () => 0 })
  const states = [health.state()]
  for (let failure = 0; failure < 3; failure++) {
    health.failed()
    states.push(health.state())
  }
  health.succeeded()
  expect([...states, health.state()]).toEqual(['ready', 'doubtful', 'doubtful', 'open', 'ready'])
})

test('an endpoint is probed after a pause that doubles with each failure, up to half a minute', () => {
  const health = createHealth({ clock, random: () => 0.999_9 })
  expect(health.probeDue()).toBe(false)
  const pauses: number[] = []
  for (let failure = 0; failure < 9; failure++) {
    health.failed()
    const failedMs = nowMs
    while (!health.probeDue()) nowMs += 10
    pauses.push(nowMs - failedMs)
  }
  expect(pauses).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
})

test('pauses are spread by up to a half', () => {
  const health = createHealth({ clock, random: () => 0 })
  health.failed()
  nowMs += 125
  expect(health.probeDue()).toBe(true)
})

test('a rate limit lasts as long as the endpoint says, or a second', () => {
  const health = createHealth({ clock, random: () => 0 })
  health.limited(5_000)
  nowMs += 2_000
  expect(health.busyMs()).toBe(3_000)
  health.limited(undefined)
  expect(health.busyMs()).toBe(1_000)
  nowMs += 1_000
  expect([health.busyMs(), health.state()]).toEqual([0, 'ready'])
})

test('latency counts in doublings beyond 100 ms and follows what was measured lately', () => {
  const health = createHealth({ clock, random: () => 0 })
  expect(health.latencyClass()).toBe(0)
  health.measured(90)
  expect(health.latencyClass()).toBe(0)
  for (let call = 0; call < 50; call++) health.measured(350)
  expect(health.latencyClass()).toBe(2)
  for (let call = 0; call < 50; call++) health.measured(10)
  expect(health.latencyClass()).toBe(0)
})

test('createSpread() gives numbers in [0, 1) that lie apart', () => {
  const random = createSpread(1_234.5)
  const numbers = Array.from({ length: 100 }, random).sort((a, b) => a - b)
  expect(numbers.every((value) => value >= 0 && value < 1)).toBe(true)
  const gaps = numbers.slice(1).map((value, index) => value - (numbers[index] ?? 0))
  expect(Math.max(...gaps)).toBeLessThan(0.03)
})

test('a head may be half a minute of blocks behind, and at least three', () => {
  const ethereum = createHeads({ clock, blockTimeMs: 12_000 })
  ethereum.observe(0, 1_000n)
  expect([ethereum.observe(1, 997n), ethereum.observe(1, 996n), ethereum.isBehind(1), ethereum.isBehind(0)]).toEqual([
    true,
    false,
    true,
    false,
  ])
  const arbitrum = createHeads({ clock, blockTimeMs: 250 })
  arbitrum.observe(0, 1_000n)
  expect([arbitrum.observe(1, 880n), arbitrum.observe(1, 879n)]).toEqual([true, false])
})

test('an endpoint that was not asked for a while is not behind for that', () => {
  const heads = createHeads({ clock, blockTimeMs: 12_000 })
  heads.observe(1, 1_000n)
  heads.observe(0, 1_030n)
  expect(heads.isBehind(1)).toBe(false)
})

test('one endpoint alone cannot make two others look late, and a lie is forgotten after a minute', () => {
  const heads = createHeads({ clock, blockTimeMs: 12_000 })
  heads.observe(0, 1_000n)
  heads.observe(1, 1_000n)
  expect(heads.observe(2, 10n ** 12n)).toBe(true)
  expect([heads.observe(0, 1_001n), heads.observe(1, 1_001n)]).toEqual([true, true])
  const two = createHeads({ clock, blockTimeMs: 12_000 })
  two.observe(0, 10n ** 12n)
  expect(two.observe(1, 1_000n)).toBe(false)
  nowMs += 60_000
  expect([two.isBehind(1), two.observe(1, 1_005n)]).toEqual([false, true])
})
