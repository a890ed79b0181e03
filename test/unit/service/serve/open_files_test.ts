import { expect, test } from 'bun:test'
import { createLog } from '../../../../src/lib/log.ts'
import { freeFilesWhenFull } from '../../../../src/service/serve/serve.ts'
import { createTestClock } from '../../../support/test_clock.ts'

test('idle connections of every port are closed while no file can be opened, with one line of the log', async () => {
  const clock = createTestClock()
  const lines: string[] = []
  const log = createLog({ level: 'info', write: (line) => lines.push(line), clock })
  const closed = [0, 0]
  const servers = closed.map((_, index) => ({
    closeIdle: () => {
      closed[index] = (closed[index] ?? 0) + 1
    },
  }))
  let isFull = false
  const end = freeFilesWhenFull(servers, { clock, log, canOpen: () => !isFull })
  await clock.advance(5_000)
  expect([closed, lines]).toEqual([[0, 0], []])
  isFull = true
  await clock.advance(1_000)
  expect(closed).toEqual([2, 2])
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    'Closed idle connections: the limit of open files is reached; raise it (ulimit -n)',
  ])
  isFull = false
  await clock.advance(1_000)
  end()
  isFull = true
  await clock.advance(5_000)
  expect(closed).toEqual([2, 2])
})
