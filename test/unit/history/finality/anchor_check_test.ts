import { expect, test } from 'bun:test'
import { type Hex, numberToHex } from 'viem'
import type { Chain } from '../../../../src/chain/chain.ts'
import type { BackgroundEndpoint, ChainClient } from '../../../../src/chain/rpc/client.ts'
import { checkFinalBlock } from '../../../../src/history/finality.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { toHash } from '../../../support/history/simulation/chain.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

const never = createWork(new AbortController().signal)
const MARK = { number: 10_000, hash: toHash(10_000) }

/** What an endpoint has at the mark: a hash, nothing with its head, or silence. */
type Has = Hex | number | 'silent'

function createEndpoint(has: Has, index: number): BackgroundEndpoint {
  return {
    index,
    usable: true,
    async request({ params: [at], parse }) {
      if (has === 'silent') throw new UpstreamError('No answer')
      const number = at === 'latest' && typeof has === 'number' ? has : MARK.number
      const hash = typeof has === 'number' ? toHash(number) : has
      const header = { number: numberToHex(number), timestamp: '0x1', hash, parentHash: toHash(number - 1) }
      return parse(at !== 'latest' && typeof has === 'number' ? null : header)
    },
  }
}

/** What endpoints say together; those that are not usable are not asked. */
async function readVerdict(all: readonly Has[], row: Partial<Chain> = {}, unusable: readonly Has[] = []) {
  const background = [
    ...all.map(createEndpoint),
    ...unusable.map((has, index) => ({ ...createEndpoint(has, all.length + index), usable: false })),
  ]
  const chain: Partial<Chain> = { id: 5, name: 'Test', ...row }
  return await checkFinalBlock(
    { chain, background, clock: createFixedClock() } as Partial<ChainClient> as ChainClient,
    MARK,
    never,
  )
}

const OTHER = toHash(10_000, 1)
/** Heads that are so far below the mark that no young node is, and just not so far. */
const [FAR, NEAR] = [8_999, 9_000]

test.each([
  [[MARK.hash], 'same'],
  [[MARK.hash, MARK.hash], 'same'],
  [[OTHER, OTHER], 'replaced'],
  [[FAR, FAR], 'beyond'],
  [[OTHER, FAR], 'replaced'],
  [[FAR, OTHER], 'replaced'],
  [[NEAR], 'open'],
  [['silent'], 'open'],
  [[MARK.hash, OTHER], 'open'],
  [[MARK.hash, 'silent'], 'open'],
  [[MARK.hash, FAR], 'open'],
  [[OTHER, NEAR], 'open'],
  [[OTHER, 'silent'], 'open'],
  [[], 'open'],
] as const)('endpoints that have %j say together: %s', async (all, verdict) => {
  expect(await readVerdict(all)).toBe(verdict)
})

test('one that is not usable says nothing', async () => {
  expect(await readVerdict([MARK.hash], {}, [OTHER])).toBe('same')
})

test('how far a node may lag follows from the age of blocks that the chain allows', async () => {
  // 600 s at 2 s a block.
  const row = { blockTimeMs: 2_000, maxBlockAgeSec: 600 }
  expect(await readVerdict([9_700], row)).toBe('open')
  expect(await readVerdict([9_699], row)).toBe('beyond')
  // A part of a block counts as one.
  const odd = { blockTimeMs: 7_000, maxBlockAgeSec: 600 }
  expect(await readVerdict([9_914], odd)).toBe('open')
  expect(await readVerdict([9_913], odd)).toBe('beyond')
})
