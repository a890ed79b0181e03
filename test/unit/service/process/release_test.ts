import { expect, test } from 'bun:test'
import { releaseOnceIdle } from '../../../../src/service/process/release.ts'
import { createTestClock } from '../../../support/test_clock.ts'

test('memory is released once, when a process has been idle for five seconds', async () => {
  const clock = createTestClock()
  let [cpuMs, released] = [400, 0]
  releaseOnceIdle(() => released++, { clock, readCpuMs: () => cpuMs })
  for (let time = 0; time < 4; time++) {
    cpuMs += 100
    await clock.advance(5_000)
    expect(released).toBe(0)
  }
  cpuMs += 99
  await clock.advance(5_000)
  expect(released).toBe(1)
  await clock.advance(60_000)
  expect(released).toBe(1)
})

test('a process that stops before releases nothing', async () => {
  const clock = createTestClock()
  let released = 0
  const end = releaseOnceIdle(() => released++, { clock, readCpuMs: () => 0 })
  end()
  await clock.advance(60_000)
  expect(released).toBe(0)
})
