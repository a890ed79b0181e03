import { expect, test } from 'bun:test'
import { createLog, logThrottled, resetThrottled } from '../../src/lib/log.ts'
import { waitFor } from '../support/wait_for.ts'

function open() {
  const lines: Record<string, unknown>[] = []
  const log = createLog({
    level: 'info',
    write: (line) => {
      const { time: _, ...fields } = JSON.parse(line)
      lines.push(fields)
    },
  })
  const write = (kind: string, n: number, everyMs = 60_000) =>
    logThrottled(log, { level: 'warn', kind, everyMs }, { msg: kind, n })
  return { log, lines, write }
}

test('logThrottled() writes the first line of a kind at once and counts the following ones', async () => {
  const { lines, write } = open()
  for (const n of [1, 2, 3, 4]) write('a', n, 50)
  write('b', 1)
  expect(lines).toEqual([
    { level: 'warn', msg: 'a', n: 1 },
    { level: 'warn', msg: 'b', n: 1 },
  ])
  await waitFor('those that were counted are written', () => lines.length === 3)
  expect(lines[2]).toEqual({ level: 'warn', msg: 'a', n: 4, times: 3 })
  write('a', 5, 50)
  expect(lines).toHaveLength(3)
  await waitFor('the next one is written', () => lines.length === 4)
  expect(lines[3]).toEqual({ level: 'warn', msg: 'a', n: 5, times: 1 })
})

test('logThrottled() writes the next line at once after a pause', async () => {
  const { lines, write } = open()
  write('a', 1, 10)
  await waitFor('it is forgotten', () => {
    write('a', 2, 10)
    return lines.some(({ n, times }) => n === 2 && times === undefined) || Bun.sleep(30).then(() => false)
  })
})

test('resetThrottled() drops counted lines', async () => {
  const { log, lines, write } = open()
  for (const n of [1, 2, 3]) write('a', n, 50)
  resetThrottled(log, 'a')
  write('a', 4, 50)
  await waitFor('the last one is written', () => lines.length === 2)
  expect(lines[1]).toMatchObject({ n: 4, times: 1 })
})
