import { expect, test } from 'bun:test'
import { createBackoff } from '../../../../src/history/logs/reader.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

/** Rests on a clock of its own, and how often the endpoint began to count as unable. */
function open() {
  const time = { nowMs: 1_000 }
  let unable = 0
  const rests = createBackoff(
    createFixedClock(() => time.nowMs),
    () => unable++,
  )
  const fail = (times: number) => {
    for (let count = 0; count < times; count++) rests.start('failed')
  }
  return { rests, time, fail, unable: () => unable }
}

test.each([
  ['failed', 'isResting', 5_000],
  ['behind', 'isResting', 2_000],
  ['silent', 'isOut', 20_000],
  ['false', 'isOut', 20_000],
  ['unable', 'isOut', 20_000],
] as const)('one that is %s is left alone for its time: %s for %i ms', (why, how, ms) => {
  const { rests, time, unable } = open()
  expect([rests.isResting, rests.isExcluded]).toEqual([false, false])
  rests.start(why)
  time.nowMs += ms - 1
  expect([rests.isResting, rests.isExcluded]).toEqual([how === 'isResting', how === 'isOut'])
  time.nowMs += 1
  expect([rests.isResting, rests.isExcluded]).toEqual([false, false])
  expect(unable()).toBe(why === 'unable' ? 1 : 0)
})

test('a shorter rest does not end a longer one', () => {
  const { rests, time } = open()
  for (const why of ['failed', 'behind', 'unable', 'silent'] as const) rests.start(why)
  time.nowMs += 4_999
  expect(rests.isResting).toBe(true)
  time.nowMs += 15_000
  expect(rests.isExcluded).toBe(true)
})

test('no exclusion lasts longer for following another one', () => {
  const { rests, time } = open()
  const exclude = () => {
    const startedMs = time.nowMs
    rests.start('false')
    rests.start('silent')
    while (rests.isExcluded) time.nowMs += 1_000
    return (time.nowMs - startedMs) / 1_000
  }
  expect(Array.from({ length: 7 }, exclude)).toEqual([20, 20, 20, 20, 20, 20, 20])
})

test('twenty failures in a row make it unable, and one success between them counts from the beginning', () => {
  const { rests, fail, unable } = open()
  fail(19)
  rests.recordSuccess()
  fail(19)
  expect([rests.isExcluded, unable()]).toEqual([false, 0])
  fail(1)
  expect([rests.isExcluded, unable()]).toEqual([true, 1])
})
