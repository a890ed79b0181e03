import { expect, test } from 'bun:test'
import { forEachLimit } from '../../../../src/lib/async/parallel.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import { settle } from '../../../support/test_clock.ts'

const work = createWork(new AbortController().signal)

test('forEachLimit() starts items in their order, up to the limit at the same time', async () => {
  const begun: number[] = []
  let running = 0
  let most = 0
  const task = async (item: number) => {
    begun.push(item)
    most = Math.max(most, ++running)
    await settle(1 + (item % 3))
    running--
  }
  await forEachLimit([5, 4, 3, 2, 1, 0], 2, task, work)
  expect([begun, most, running]).toEqual([[5, 4, 3, 2, 1, 0], 2, 0])
})

test('forEachLimit() aborts the others when one fails, starts no more, and throws once they have ended', async () => {
  const begun: number[] = []
  const ended: number[] = []
  const task = async (item: number, shared: Work) => {
    begun.push(item)
    if (item === 1) throw new Error('Unlucky')
    // One item ends as soon as it is aborted, the other continues for a while.
    await new Promise((resolve) => shared.signal.addEventListener('abort', resolve))
    if (item === 2) await settle()
    ended.push(item)
  }
  await expect(forEachLimit([0, 2, 1, 3, 4], 3, task, work)).rejects.toThrow('Unlucky')
  expect([begun, ended]).toEqual([
    [0, 2, 1],
    [0, 2],
  ])
})

test('forEachLimit() starts nothing for an aborted caller', async () => {
  const begun: number[] = []
  const left = createWork(AbortSignal.abort())
  await expect(forEachLimit([0, 1], 2, async (item) => begun.push(item), left)).rejects.toThrow()
  expect(begun).toEqual([])
})
