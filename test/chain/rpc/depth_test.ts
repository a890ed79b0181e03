import { expect, test } from 'bun:test'
import { createEndpointDepths } from '../../../src/chain/rpc/endpoint_state/depths.ts'

function depthsAt(): { depths: ReturnType<typeof createEndpointDepths>; later(ms: number): void } {
  let nowMs = 0
  const depths = createEndpointDepths({ now: () => nowMs, monotonicMs: () => nowMs })
  return {
    depths,
    later(ms) {
      nowMs += ms
    },
  }
}

test('what an endpoint reached holds for later blocks, what it lacks for earlier ones', () => {
  const { depths } = depthsAt()
  expect([depths.rankOf(0, 5n), depths.floorOf(0)]).toEqual([1, undefined])
  depths.reached(0, 50n)
  depths.reached(0, 70n)
  depths.missed(0, 20n)
  depths.missed(0, 10n)
  expect([70n, 50n, 49n, 21n, 20n, 1n].map((block) => depths.rankOf(0, block))).toEqual([
    0,
    0,
    1,
    1,
    undefined,
    undefined,
  ])
  expect(depths.floorOf(0)).toBe(50n)
  expect(depths.rankOf(1, 70n)).toBe(1)
})

test('a later answer replaces an earlier one that contradicts it', () => {
  const { depths } = depthsAt()
  depths.reached(0, 50n)
  depths.missed(0, 60n)
  expect([depths.rankOf(0, 55n), depths.rankOf(0, 61n)]).toEqual([undefined, 1])
  depths.reached(0, 40n)
  expect([depths.rankOf(0, 40n), depths.rankOf(0, 39n)]).toEqual([0, 1])
})

test('a refusal is forgotten after ten minutes', () => {
  const { depths, later } = depthsAt()
  depths.missed(0, 60n)
  later(599_999)
  expect(depths.rankOf(0, 60n)).toBeUndefined()
  later(1)
  expect(depths.rankOf(0, 60n)).toBe(1)
})
