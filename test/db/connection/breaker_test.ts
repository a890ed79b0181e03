import { expect, test } from 'bun:test'
import { createCircuitBreaker } from '../../../src/db/connection/failure.ts'

test('after three failures one statement at a time finds out whether the server is back', () => {
  let nowMs = 0
  const breaker = createCircuitBreaker(() => nowMs)
  for (let failures = 0; failures < 3; failures++) {
    expect(breaker.admits(300)).toBe(true)
    breaker.failed()
  }
  expect(breaker.admits(300)).toBe(false)
  nowMs = 100
  expect(breaker.admits(300)).toBe(true)
  // It is under way until its deadline.
  nowMs = 399
  expect(breaker.admits(300)).toBe(false)
  breaker.failed()
  nowMs = 498
  expect(breaker.admits(300)).toBe(false)
  nowMs = 499
  expect(breaker.admits(300)).toBe(true)
  breaker.succeeded()
  expect([breaker.admits(300), breaker.admits(300)]).toEqual([true, true])
})

test('a statement that may take minutes holds up the next one for less than two seconds', () => {
  let nowMs = 0
  const breaker = createCircuitBreaker(() => nowMs)
  for (let failures = 0; failures < 3; failures++) breaker.failed()
  nowMs = 100
  expect(breaker.admits(600_000)).toBe(true)
  nowMs = 2_000
  expect(breaker.admits(600_000)).toBe(true)
})
