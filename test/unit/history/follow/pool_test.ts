import { expect, test } from 'bun:test'
import type { Follower } from '../../../../src/history/follow/follower.ts'
import { createFollowerPool } from '../../../../src/history/follow/pool.ts'
import type { StreamTarget } from '../../../../src/history/stream.ts'
import { toWallet } from '../../../support/history/scene.ts'
import { settle } from '../../../support/test_clock.ts'
import { complete, follow, quietEndpoint } from './quiet.ts'

test('beyond its limit a pool drops the idle follower that was used least recently, and none at work', async () => {
  const { endpoint } = quietEndpoint(1_000)
  const pool = createFollowerPool(2)
  const closers: Follower<StreamTarget>[] = []
  const use = (contract: number): Follower<StreamTarget> =>
    pool.use({ chainId: 1, stream: 'test', contract: toWallet(contract) }, () => {
      const follower = follow([endpoint])
      closers.push(follower)
      return follower
    })
  const listKept = () => pool.list().map(({ name }) => Number(name.contract))
  const toNumber = (contract: number) => Number(toWallet(contract))

  const first = use(1)
  const isDone = complete(first, 2_000, toWallet(9))
  expect(first.isIdle).toBeFalse()
  const second = use(2)
  expect(second.isIdle).toBeTrue()
  use(3)
  expect(listKept()).toEqual([1, 3].map(toNumber))
  expect([use(1) === first, use(2) === second]).toEqual([true, false])
  expect(listKept()).toEqual([1, 2].map(toNumber))
  await isDone
  while (!first.isIdle) await settle(1)
  use(4)
  expect(listKept()).toEqual([2, 4].map(toNumber))
  await Promise.all(closers.map((each) => each.close()))
})
