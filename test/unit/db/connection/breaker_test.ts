import { expect, test } from 'bun:test'
import { createCircuitBreaker } from '../../../../src/db/connection/failure.ts'

test('after three failures only one statement at a time probes the server', () => {
  let nowMs = 0
  const breaker = createCircuitBreaker(() => nowMs)
  for (let failures = 0; failures < 3; failures++) {
    expect(breaker.admits(300)).toBe(true)
    breaker.recordFailure()
  }
  expect(breaker.admits(300)).toBe(false)
  nowMs = 100
  expect(breaker.admits(300)).toBe(true)
  // It is under way until its deadline.
  nowMs = 399
  expect(breaker.admits(300)).toBe(false)
  breaker.recordFailure()
  nowMs = 498
  expect(breaker.admits(300)).toBe(false)
  nowMs = 499
  expect(breaker.admits(300)).toBe(true)
  breaker.recordSuccess()
  expect([breaker.admits(300), breaker.admits(300)]).toEqual([true, true])
})

test('a probe that may take minutes delays the next probe by less than two seconds', () => {
  let nowMs = 0
  const breaker = createCircuitBreaker(() => nowMs)
  for (let failures = 0; failures < 3; failures++) breaker.recordFailure()
  nowMs = 100
  expect(breaker.admits(600_000)).toBe(true)
  nowMs = 2_000
  expect(breaker.admits(600_000)).toBe(true)
})
