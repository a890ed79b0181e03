import { expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createLog } from '../../../../src/lib/log.ts'
import { createMetrics } from '../../../../src/lib/metrics.ts'
import type { WorkerAssignment } from '../../../../src/service/process/channel.ts'
import { createWorkerPool } from '../../../../src/service/process/worker_pool.ts'
import { createTestClock } from '../../../support/test_clock.ts'

/** A worker that listens, reports whenever it is asked, and ends when it is told. */
const WORKER = `
  process.send({ kind: 'listens', port: 1 })
  process.on('message', (message) => {
    if (message.kind === 'count') process.send({ kind: 'figures', figures: [], id: message.id })
    if (message.kind === 'scraped') process.send({ kind: 'figures', figures: [] })
    if (message.kind === 'stop') process.exit(0)
  })`

/** Starts a pool of real processes on a clock of the test. */
async function startPool(workers: number) {
  const clock = createTestClock()
  const lines: string[] = []
  /** Starts that the system refuses. */
  const refuses = { starts: 0 }
  const children: { readonly child: ChildProcess; readonly workerNumber: number }[] = []
  const pool = createWorkerPool({
    fork: {
      start(environment) {
        if (refuses.starts-- > 0) throw new Error('EAGAIN')
        const { workerNumber }: WorkerAssignment = JSON.parse(environment['WALLETSCOPE_WORKER'] ?? '')
        const child = spawn(process.execPath, ['-e', WORKER], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
        children.push({ child, workerNumber })
        return child
      },
      sharesListener: false,
    },
    environment: {},
    workers,
    databaseUrl: undefined,
    metrics: createMetrics(),
    stopMs: 5_000,
    clock,
    log: createLog({ level: 'info', write: (line) => lines.push(line), clock }),
  })
  await pool.start()
  /** Waits until a worker has reported, which keeps it from being silent. */
  const report = async ({ child }: { readonly child: ChildProcess }) => {
    const reported = once(child, 'message')
    child.send({ kind: 'scraped', id: 0, text: '' })
    await reported
  }
  return { clock, pool, children, lines, report, refuses }
}

test('a worker that reports nothing for 15 seconds is killed and replaced, one that reports is not', async () => {
  const { clock, pool, children, lines, report } = await startPool(2)
  const [first, second] = children
  if (first === undefined || second === undefined) throw new Error('Expected two workers')
  await report(second)
  for (let seconds = 0; seconds < 14; seconds += 2) {
    await clock.advance(2_000)
    await report(second)
  }
  expect([first.child.killed, second.child.killed]).toEqual([false, false])
  const exited = once(first.child, 'exit')
  await clock.advance(2_000)
  expect(await exited).toEqual([null, 'SIGKILL'])
  expect(lines.join()).toContain('Killing a worker that hangs')
  await clock.advance(50)
  expect(children.map(({ workerNumber }) => workerNumber)).toEqual([1, 2, 1])
  expect(second.child.killed).toBe(false)
  await pool.stop('test')
})

test('a supervisor that stood still itself kills nothing before its workers could report', async () => {
  const { clock, pool, children, report } = await startPool(1)
  const [only] = children
  if (only === undefined) throw new Error('Expected a worker')
  await report(only)
  // One late tick of the timers, as after a pause of the machine.
  clock.jump(120_000)
  await clock.advance(2_000)
  expect(only.child.killed).toBe(false)
  await pool.stop('test')
})

test('a worker that the system does not start is started later, and the others go on', async () => {
  const { clock, pool, children, lines, refuses } = await startPool(2)
  const [first, second] = children
  if (first === undefined || second === undefined) throw new Error('Expected two workers')
  const exited = once(first.child, 'exit')
  first.child.kill('SIGKILL')
  await exited
  refuses.starts = 2
  await clock.advance(50)
  await clock.advance(100)
  expect(children).toHaveLength(2)
  expect(lines.filter((line) => line.includes('Failed to restart a worker'))).toHaveLength(2)
  await clock.advance(200)
  expect(children.map(({ workerNumber }) => workerNumber)).toEqual([1, 2, 1])
  expect(second.child.killed).toBe(false)
  await pool.stop('test')
})

test('a worker that ends at once is restarted after longer and longer pauses, until one goes on', async () => {
  const { clock, pool, children, report } = await startPool(1)
  const endLast = async () => {
    const last = children.at(-1)
    if (last === undefined) throw new Error('Expected a worker')
    const exited = once(last.child, 'exit')
    last.child.kill('SIGKILL')
    await exited
  }
  await endLast()
  await clock.advance(50)
  expect(children).toHaveLength(2)
  await endLast()
  await clock.advance(99)
  expect(children).toHaveLength(2)
  await clock.advance(1)
  expect(children).toHaveLength(3)
  const [, , third] = children
  if (third === undefined) throw new Error('Expected a third worker')
  await report(third)
  await clock.advance(10_001)
  await endLast()
  await clock.advance(50)
  expect(children).toHaveLength(4)
  await pool.stop('test')
})
