import { expect, test } from 'bun:test'
import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startJob } from '../../../src/lib/job.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { diskMetricsJob, readFreeBytes } from '../../../src/service/disk.ts'
import { createTestClock } from '../../support/test_clock.ts'

test('readFreeBytes() takes the disk on which a directory will be', async () => {
  const { blocks, bsize } = statfsSync(tmpdir())
  const free = await readFreeBytes(join(tmpdir(), 'not', 'made', 'yet'))
  // Others write to it meanwhile.
  expect(free).toBeGreaterThan(0)
  expect(free).toBeLessThanOrEqual(blocks * bsize)
})

function createScene(readFree: () => Promise<number>) {
  const metrics = createMetrics()
  const clock = createTestClock()
  const warnings: object[] = []
  const log = { ...silentLog, warn: (fields: object) => void warnings.push(fields) }
  const job = diskMetricsJob(metrics, { dataDir: '/data', log, clock, readFree })
  return {
    clock,
    warnings,
    round: () => job.round(new AbortController().signal),
    start: () => startJob(job, { clock }),
    read: () => metrics.render().match(/^walletscope_data_free_bytes.*$/m)?.[0],
  }
}

test('the metric is what the last round read, also during the next, and absent if it failed', async () => {
  let { promise, resolve, reject } = Promise.withResolvers<number>()
  const { round, read } = createScene(() => {
    ;({ promise, resolve, reject } = Promise.withResolvers<number>())
    return promise
  })
  expect(read()).toBeUndefined()
  const first = round()
  resolve(7e9)
  await first
  const failing = round()
  expect(read()).toBe('walletscope_data_free_bytes 7000000000')
  reject(new Error('gone'))
  await expect(failing).rejects.toThrow('gone')
  expect(read()).toBeUndefined()
  const last = round()
  resolve(5)
  await last
  expect(read()).toBe('walletscope_data_free_bytes 5')
})

test('a disk that hangs is given up after 5 seconds, and not asked again until it answers', async () => {
  const { promise, resolve } = Promise.withResolvers<number>()
  const answers = [Promise.resolve(7), promise]
  const { clock, warnings, read, start } = createScene(() => answers.shift() ?? Promise.resolve(9))
  const job = start()
  await clock.advance(0)
  expect(read()).toBe('walletscope_data_free_bytes 7')
  await clock.advance(34_999)
  expect([read(), warnings]).toEqual(['walletscope_data_free_bytes 7', []])
  await clock.advance(1)
  const warning = { msg: 'Cannot read how much room the disk of DATA_DIR has', error: 'it does not answer' }
  expect([read(), warnings]).toEqual([undefined, [warning]])
  await clock.advance(30_000)
  resolve(8)
  await clock.advance(0)
  expect(read()).toBe('walletscope_data_free_bytes 8')
  await clock.advance(30_000)
  expect(read()).toBe('walletscope_data_free_bytes 9')
  job.stop()
})
