import { expect, test } from 'bun:test'
import { createLog, silentLog } from '../../../../src/lib/log.ts'
import { createLifecycle } from '../../../../src/service/process/lifecycle.ts'
import { createTestClock } from '../../../support/test_clock.ts'

test('parts are stopped one after the other, the latest first, with what their start made', async () => {
  const clock = createTestClock()
  const life = createLifecycle({ clock, log: silentLog })
  const events: string[] = []
  for (const name of ['database', 'gate', 'server']) {
    await life.start({
      name,
      limitMs: 10_000,
      start: async () => `started ${name}`,
      async stop(made) {
        events.push(made)
        await clock.sleep(1_000)
        events.push(`stopped ${name}`)
      },
    })
  }
  const stopped = Promise.all([life.stop(), life.stop()])
  await clock.advance(3_000)
  await stopped
  expect(events).toEqual([
    ...['started server', 'stopped server'],
    ...['started gate', 'stopped gate'],
    ...['started database', 'stopped database'],
  ])
})

test('a part that hangs or fails while it stops is logged by name, and the parts before it are stopped', async () => {
  const lines: string[] = []
  const clock = createTestClock()
  const log = createLog({ level: 'debug', write: (line) => lines.push(line), clock })
  const life = createLifecycle({ clock, log })
  let stopped = false
  await life.start({ name: 'first', limitMs: 10_000, start: () => 0, stop: () => (stopped = true) })
  await life.start({ name: 'hangs', limitMs: 1_000, start: () => 0, stop: () => new Promise(() => {}) })
  await life.start({
    name: 'fails',
    limitMs: 10_000,
    start: () => 0,
    stop() {
      throw new Error('broken')
    },
  })
  const ended = life.stop()
  await clock.advance(999)
  expect(stopped).toBe(false)
  await clock.advance(1)
  await ended
  expect(stopped).toBe(true)
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'error', part: 'fails' },
    { level: 'warn', part: 'hangs' },
  ])
})

test('a part that fails to start is not stopped, and those that started before it are', async () => {
  const life = createLifecycle({ clock: createTestClock(), log: silentLog })
  const stopped: string[] = []
  await life.start({ name: 'database', limitMs: 10_000, start: () => 0, stop: () => stopped.push('database') })
  const failed = life.start({
    name: 'gate',
    limitMs: 10_000,
    start: () => Promise.reject(new Error('no disk')),
    stop: () => stopped.push('gate'),
  })
  await expect(failed).rejects.toThrow('no disk')
  await life.stop()
  expect(stopped).toEqual(['database'])
})
