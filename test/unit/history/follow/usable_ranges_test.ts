import { expect, test } from 'bun:test'
import { getUsableRanges } from '../../../../src/history/follow/usable_ranges.ts'
import { createAdaptiveLogSource } from '../../../../src/history/logs/reader.ts'
import { createLogSource } from '../../../../src/history/logs/source.ts'
import { quietEndpoint, simulateTime } from './quiet.ts'

const COVERED = {
  ranges: [{ fromBlock: 1, toBlock: 100 }],
  agreed: [{ fromBlock: 1, toBlock: 60 }],
  checkedTo: -1,
  isLeased: false,
}

test.each([
  [0, true],
  [1, true],
  [2, false],
  [3, false],
])('with %d endpoints, what one of them gave counts as stored: %p', (endpoints, isCounted) => {
  const sources = Array.from({ length: endpoints }, (_, index) =>
    createAdaptiveLogSource({
      source: createLogSource({ ...quietEndpoint(1_000).endpoint, index }, 5),
      ...simulateTime(),
    }),
  )
  const doubted = isCounted ? [{ fromBlock: 61, toBlock: 100 }] : []
  expect(getUsableRanges(COVERED, sources)).toEqual([...COVERED.agreed, ...doubted])
})
