import { expect, test } from 'bun:test'
import { createFairLimiter } from '../../../../src/lib/async/fair_queue.ts'
import { createTestClock, settle } from '../../../support/test_clock.ts'

function scene({ runsMax = 2, queueMax = 100 } = {}) {
  const clock = createTestClock()
  const limiter = createFairLimiter({ clock, runsMax, queueMax, waitMs: 1_000 })
  const begun: string[] = []
  const ends: (() => void)[] = []
  const run = (owner: string) =>
    limiter.run(owner, async () => {
      begun.push(owner)
      await new Promise<void>((resolve) => ends.push(resolve))
      return owner
    })
  const end = async () => {
    ends.shift()?.()
    await settle()
  }
  return { clock, limiter, begun, run, end }
}

test('owners take turns, however much one of them has waiting', async () => {
  const { limiter, begun, run, end } = scene()
  const all = [...Array.from({ length: 50 }, () => run('much')), run('little'), run('other')]
  expect([begun, limiter.size]).toEqual([['much', 'much'], 52])
  for (let count = 0; count < 4; count++) await end()
  expect(begun).toEqual(['much', 'much', 'much', 'little', 'other', 'much'])
  for (let count = 0; count < 60; count++) await end()
  expect((await Promise.all(all)).filter((owner) => owner === 'much')).toHaveLength(50)
  await limiter.idle()
  expect(limiter.size).toBe(0)
})

test('what waits too long, or is too much, is refused and never begun; a failure makes room', async () => {
  const { clock, limiter, begun, run, end } = scene({ runsMax: 1, queueMax: 1 })
  const first = run('a')
  const late = run('b').catch(String)
  await expect(run('c')).rejects.toThrow('Too many requests')
  await clock.advance(1_000)
  expect(await late).toContain('Too many requests')
  await end()
  expect(await first).toBe('a')
  expect(begun).toEqual(['a'])
  const fails = limiter.run('d', async () => {
    throw new Error('no')
  })
  const after = run('e')
  await expect(fails).rejects.toThrow('no')
  await end()
  expect(await after).toBe('e')
})
