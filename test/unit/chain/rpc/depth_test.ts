import { expect, test } from 'bun:test'
import { createEndpointDepths } from '../../../../src/chain/rpc/endpoint_state.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

function depthsAt(): { depths: ReturnType<typeof createEndpointDepths>; later(ms: number): void } {
  let nowMs = 0
  const depths = createEndpointDepths(createFixedClock(() => nowMs))
  return {
    depths,
    later(ms) {
      nowMs += ms
    },
  }
}

test('a reached block implies all later ones, a missing block all earlier ones', () => {
  const { depths } = depthsAt()
  expect([depths.getRank(0, 5n), depths.getFloor(0)]).toEqual([1, undefined])
  depths.noteReached(0, 50n)
  depths.noteReached(0, 70n)
  depths.noteMissing(0, 20n)
  depths.noteMissing(0, 10n)
  expect([70n, 50n, 49n, 21n, 20n, 1n].map((block) => depths.getRank(0, block))).toEqual([
    0,
    0,
    1,
    1,
    undefined,
    undefined,
  ])
  expect(depths.getFloor(0)).toBe(50n)
  expect(depths.getRank(1, 70n)).toBe(1)
})

test('a later answer replaces an earlier one that contradicts it', () => {
  const { depths } = depthsAt()
  depths.noteReached(0, 50n)
  depths.noteMissing(0, 60n)
  expect([depths.getRank(0, 55n), depths.getRank(0, 61n)]).toEqual([undefined, 1])
  depths.noteReached(0, 40n)
  expect([depths.getRank(0, 40n), depths.getRank(0, 39n)]).toEqual([0, 1])
})

test('a refusal is forgotten after ten minutes', () => {
  const { depths, later } = depthsAt()
  depths.noteMissing(0, 60n)
  later(599_999)
  expect(depths.getRank(0, 60n)).toBeUndefined()
  later(1)
  expect(depths.getRank(0, 60n)).toBe(1)
})
