import { expect, test } from 'bun:test'
import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '../../../src/lib/log.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { diskMetricsJob, readFreeBytes } from '../../../src/service/disk.ts'

test('readFreeBytes() takes the disk on which a directory will be', async () => {
  const { blocks, bsize } = statfsSync(tmpdir())
  const free = await readFreeBytes(join(tmpdir(), 'not', 'made', 'yet'))
  // Others write to it meanwhile.
  expect(free).toBeGreaterThan(0)
  expect(free).toBeLessThanOrEqual(blocks * bsize)
})

test('the metric is what the last round read, and absent if it failed', async () => {
  const metrics = createMetrics()
  const answers = [7e9, new Error('gone'), 5]
  const job = diskMetricsJob(metrics, {
    dataDir: '/data',
    log: silentLog,
    async readFree() {
      const answer = answers.shift()
      if (typeof answer !== 'number') throw answer
      return answer
    },
  })
  const read = () => metrics.render().match(/^walletscope_data_free_bytes.*$/m)?.[0]
  const round = () => job.round(new AbortController().signal)
  expect(read()).toBeUndefined()
  await round()
  expect(read()).toBe('walletscope_data_free_bytes 7000000000')
  await expect(round()).rejects.toThrow('gone')
  expect(read()).toBeUndefined()
  await round()
  expect(read()).toBe('walletscope_data_free_bytes 5')
})
