import { expect, test } from 'bun:test'
import type { RawRead } from '../../../../src/family/aave_v4/read/abi.ts'
import { mergePages } from '../../../../src/family/aave_v4/read/read.ts'

const block = { chainId: 1, number: 1n, hash: '0x01', parentHash: '0x00', timestampSec: 1n } as const
const NOTHING = { block, named: [], spokes: [], reserves: [], accounts: [], broken: [] }

/** Pages of five wallets each, by the spokes that answered them. */
function mergeAnswered(...answers: readonly (readonly boolean[])[]): RawRead {
  const [first = [], ...others] = answers.map((answered, index) => ({
    start: 5 * index,
    page: { ...NOTHING, answered, taken: 5 },
  }))
  return mergePages([first, ...others] as Parameters<typeof mergePages>[0])
}

test('a spoke answered if it answered every page, whichever comes first', () => {
  expect(mergeAnswered([true, true, true], [true, false, true], [false, true, true])).toMatchObject({
    answered: [false, false, true],
    taken: 15,
  })
  expect(mergeAnswered([false, true])).toMatchObject({ answered: [false, true], taken: 5 })
})
