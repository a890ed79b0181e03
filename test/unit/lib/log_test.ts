import { expect, test } from 'bun:test'
import { createLog, logThrottled, resetThrottled } from '../../../src/lib/log.ts'
import { createTestClock } from '../../support/test_clock.ts'

const MINUTE_MS = 60_000

function open() {
  const clock = createTestClock({ nowMs: Date.UTC(2026, 0, 1) })
  const lines: Record<string, unknown>[] = []
  const times: string[] = []
  const log = createLog({
    level: 'info',
    clock,
    write: (line) => {
      const { time, ...fields } = JSON.parse(line)
      times.push(time)
      lines.push(fields)
    },
  })
  const write = (kind: string, n: number) => logThrottled(log, { level: 'warn', kind, clock }, { msg: kind, n })
  return { clock, log, lines, times, write }
}

test('a line has the time of the clock, and lines below the level are not written', async () => {
  const { clock, log, lines, times } = open()
  await clock.advance(1_500)
  log.debug({ msg: 'Not written' })
  log.info({ msg: 'Written' })
  expect([lines, times]).toEqual([[{ level: 'info', msg: 'Written' }], ['2026-01-01T00:00:01.500Z']])
})

test('logThrottled() writes the first line of a kind at once and counts the following ones', async () => {
  const { clock, lines, write } = open()
  for (const n of [1, 2, 3, 4]) write('a', n)
  write('b', 1)
  expect(lines).toEqual([
    { level: 'warn', msg: 'a', n: 1 },
    { level: 'warn', msg: 'b', n: 1 },
  ])
  await clock.advance(MINUTE_MS - 1)
  expect(lines).toHaveLength(2)
  await clock.advance(1)
  expect(lines.slice(2)).toEqual([{ level: 'warn', msg: 'a', n: 4, times: 3 }])
  write('a', 5)
  expect(lines).toHaveLength(3)
  await clock.advance(MINUTE_MS)
  expect(lines.slice(3)).toEqual([{ level: 'warn', msg: 'a', n: 5, times: 1 }])
})

test('logThrottled() writes the next line at once after a pause', async () => {
  const { clock, lines, write } = open()
  write('a', 1)
  await clock.advance(MINUTE_MS)
  expect(clock.pending).toBe(0)
  write('a', 2)
  expect(lines[1]).toEqual({ level: 'warn', msg: 'a', n: 2 })
})

test('resetThrottled() drops counted lines', async () => {
  const { clock, log, lines, write } = open()
  for (const n of [1, 2, 3]) write('a', n)
  resetThrottled(log, 'a')
  write('a', 4)
  await clock.advance(MINUTE_MS)
  expect(lines.slice(1)).toEqual([{ level: 'warn', msg: 'a', n: 4, times: 1 }])
})
