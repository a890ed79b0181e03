import { describe, expect, test } from 'bun:test'
import type { AdaptiveLogSource } from '../../../../src/history/logs/reader.ts'
import { findSourcesWithBlock, rankSources } from '../../../../src/history/proof/proof.ts'
import { toHash } from '../../../support/history/simulation/chain.ts'
import { never } from './logs.ts'

/** What of an endpoint decides whether it is asked. */
interface Trait {
  readonly cap?: number
  readonly serves?: boolean
  readonly mayServe?: boolean
  readonly follows?: boolean | undefined
}

function createSources(traits: readonly Trait[]): readonly AdaptiveLogSource[] {
  return traits.map(({ cap, serves = true, mayServe = true, follows }, index) => {
    const source: Partial<AdaptiveLogSource> = {
      source: { index } as AdaptiveLogSource['source'],
      cap,
      serves: () => serves,
      mayServe: () => mayServe,
      hasFinalBlock: async () => follows,
    }
    return source as AdaptiveLogSource
  })
}

const listIndexes = (sources: readonly AdaptiveLogSource[]) => sources.map(({ source }) => source.index)

describe('rankedSources()', () => {
  const ranked = (blocks: number, ...traits: readonly Trait[]) =>
    listIndexes(rankSources(createSources(traits), { fromBlock: 11, toBlock: 10 + blocks }))

  test('puts the widest first, and of those that are as wide the first of the configuration', () => {
    expect(ranked(100, { cap: 50 }, { cap: 80 }, { cap: 50 }, {}, { cap: 80 }, {})).toEqual([3, 5, 1, 4, 0, 2])
    const shuffled = createSources([{ cap: 9 }, { cap: 9 }, {}, {}]).toReversed()
    expect(listIndexes(rankSources(shuffled, { fromBlock: 1, toBlock: 9 }))).toEqual([2, 3, 0, 1])
  })

  test('leaves out what is sixteen times narrower than the widest, or than the range if that is shorter', () => {
    expect(ranked(10_000, { cap: 1_600 }, { cap: 100 }, { cap: 99 })).toEqual([0, 1])
    expect(ranked(160, {}, { cap: 10 }, { cap: 9 })).toEqual([0, 1])
    expect(ranked(161, {}, { cap: 11 }, { cap: 10 })).toEqual([0, 1])
    expect(ranked(10, { cap: 1_600 }, { cap: 1 })).toEqual([0, 1])
    expect(ranked(10_000, { cap: 1 }, { cap: 2 })).toEqual([1, 0])
  })

  test('takes those that can be asked now, or after a pause', () => {
    const sources = createSources([{ serves: false }, {}, { serves: false, mayServe: false }])
    const range = { fromBlock: 1, toBlock: 9 }
    expect(listIndexes(rankSources(sources, range))).toEqual([1])
    expect(listIndexes(rankSources(sources, range, 'mayServe'))).toEqual([0, 1])
    // One that cannot be asked makes no other one too narrow.
    expect(ranked(10_000, { serves: false }, { cap: 1 })).toEqual([1])
  })
})

describe('followersOf()', () => {
  const following = async (...verdicts: readonly (boolean | undefined)[]) => {
    const sources = createSources(verdicts.map((follows) => ({ follows })))
    const final = { number: 9, hash: toHash(9), epoch: 0 }
    return await findSourcesWithBlock(sources, final, never).then(listIndexes, (error: Error) => error.message)
  }
  const DIFFERENT = 'The endpoints have different final blocks 9'
  const NOBODY = 'No endpoint has the final block'
  const SILENT = 'A second endpoint does not answer now'

  test.each([
    [[true], [0]],
    [
      [true, true],
      [0, 1],
    ],
    [[true, false], DIFFERENT],
    [
      [true, false, true],
      [0, 2],
    ],
    [[true, false, false], DIFFERENT],
    [[true, true, false, false], DIFFERENT],
    [[true, undefined], SILENT],
    [[true, undefined, false], SILENT],
    [
      [true, undefined, true],
      [0, 2],
    ],
    [[true, undefined, true, false, false], DIFFERENT],
    [[false], NOBODY],
    [[undefined], NOBODY],
    [[false, undefined], NOBODY],
    [[], NOBODY],
  ] as const)('of endpoints that have the final block so %j', async (verdicts, expected) => {
    expect(await following(...verdicts)).toEqual(expected as never)
  })

  test('asks none that may not be asked', async () => {
    const sources = createSources([{ follows: true }, { follows: false, mayServe: false }])
    expect(listIndexes(await findSourcesWithBlock(sources, { number: 9, hash: toHash(9), epoch: 0 }, never))).toEqual([
      0,
    ])
  })
})
