import { expect, test } from 'bun:test'
import type { ChainClient } from '../../../../../src/chain/rpc/client.ts'
import { createWork, type Work } from '../../../../../src/lib/async/work.ts'
import { type HeadQuery, readNextBlocks } from '../../../../../src/trigger/evaluate/block_loop.ts'

const never = createWork(new AbortController().signal)

/** The hash of a block on a branch, `a` or `b`. */
function toHash(branch: string, number: number): `0x${string}` {
  return `0x${branch}${number.toString(16).padStart(63, '0')}`
}

/** A chain whose blocks are of branch `a` below `fork`, and of `b` from there on. */
function createChain({ newest, fork = Number.POSITIVE_INFINITY }: { readonly newest: number; readonly fork?: number }) {
  const asked: number[] = []
  const hashAt = (number: number) => toHash(number < fork ? 'a' : 'b', number)
  const endpoint = {
    index: 0,
    observeBlock() {},
    async request({ params: [at], parse }: { params: readonly unknown[]; parse: (result: unknown) => unknown }) {
      const number = at === 'latest' || at === 'finalized' ? newest : Number(at)
      asked.push(number)
      const hex = (value: number) => `0x${value.toString(16)}`
      return parse({
        number: hex(number),
        timestamp: hex(1_000_000 + 12 * number),
        hash: hashAt(number),
        parentHash: hashAt(number - 1),
      })
    },
  }
  const client = {
    chain: { id: 1, finality: { tag: 'finalized' } },
    read: (attempt: (endpoint: unknown, work: Work) => unknown) => attempt(endpoint, never),
  } as unknown as ChainClient
  const read = async (at: number, query: Partial<HeadQuery> = {}) => {
    const mark = { number: BigInt(at), hash: toHash('a', at), timestampSec: BigInt(1_000_000 + 12 * at) }
    const base = {
      level: 'latest',
      at: mark,
      hashes: new Map(),
      pendingBefore: undefined,
      lagMaxSec: 240,
      skips: false,
    } as const
    const next = await readNextBlocks(client, { ...base, ...query }, never)
    return { ...next, blocks: next?.blocks.map(({ number }) => Number(number)) }
  }
  return { asked, read }
}

const toHashes = (numbers: readonly number[]) => new Map(numbers.map((number) => [BigInt(number), toHash('a', number)]))
const countUp = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, index) => first + index)

test('the next block alone takes one request', async () => {
  const chain = createChain({ newest: 101 })
  expect(await chain.read(100)).toMatchObject({ blocks: [101], fork: null, skippedFrom: undefined })
  expect(chain.asked).toEqual([101])
})

test('pending blocks come in order, sixteen at a time, of final ones too', async () => {
  const chain = createChain({ newest: 132 })
  expect(await chain.read(100)).toMatchObject({ blocks: countUp(101, 116), fork: null, skippedFrom: undefined })
  expect((await chain.read(116)).blocks).toEqual(countUp(117, 132))
  expect((await chain.read(100, { level: 'finalized' })).blocks).toEqual(countUp(101, 116))
})

test('all but the newest are left out if their state is gone, they are too many, or more and more', async () => {
  const skipped = (newest: number) => ({ blocks: [newest], skippedFrom: 101n })
  expect(await createChain({ newest: 110 }).read(100, { skips: true })).toMatchObject(skipped(110))
  expect((await createChain({ newest: 101 }).read(100, { skips: true })).skippedFrom).toBeUndefined()
  expect((await createChain({ newest: 612 }).read(100)).blocks).toHaveLength(16)
  expect(await createChain({ newest: 613 }).read(100)).toMatchObject(skipped(613))
  expect((await createChain({ newest: 4_196 }).read(100, { level: 'finalized' })).blocks).toHaveLength(16)
  expect(await createChain({ newest: 121 }).read(100, { pendingBefore: 20n })).toMatchObject(skipped(121))
  expect((await createChain({ newest: 121 }).read(100, { pendingBefore: 21n })).blocks).toHaveLength(16)
  expect((await createChain({ newest: 120 }).read(100, { pendingBefore: 1n })).blocks).toHaveLength(16)
})

test('a reorganization begins after the last evaluated block that the branch has, also behind a gap', async () => {
  const chain = createChain({ newest: 112, fork: 105 })
  const known = toHashes(countUp(100, 111))
  expect(await chain.read(111, { hashes: known })).toMatchObject({ fork: 105n, blocks: countUp(105, 112) })
  // 101 to 109 were left out.
  const holed = toHashes([100, 110, 111])
  expect(await chain.read(111, { hashes: holed })).toMatchObject({ fork: 101n, blocks: countUp(101, 112) })
  expect((await chain.read(111, { hashes: toHashes([110, 111]) })).fork).toBe(110n)
  expect((await chain.read(111)).fork).toBe(111n)
  // No deeper than 64 blocks.
  const deep = createChain({ newest: 201, fork: 105 })
  expect((await deep.read(200, { hashes: toHashes(countUp(100, 200)) })).fork).toBe(136n)
})
