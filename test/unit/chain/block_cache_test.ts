import { beforeEach, expect, test } from 'bun:test'
import { createBlockCache } from '../../../src/chain/block_cache.ts'
import type { Chain } from '../../../src/chain/chain.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { createFixedClock } from '../../support/test_clock.ts'

const never = createWork(new AbortController().signal)
const BLOCK_SEC = 1_700_000_000

let nowMs = 0
let monotonicMs = 0
const clock = createFixedClock(
  () => nowMs,
  () => monotonicMs,
)

beforeEach(() => {
  nowMs = BLOCK_SEC * 1_000 + 3_000
  monotonicMs = 50
})

function pass(ms: number): void {
  nowMs += ms
  monotonicMs += ms
}

function createChain(reuseMs: number, id = 1): Chain {
  return { id, name: 'Chain', rpcUrls: [], reuseMs, finality: { depth: 0 } }
}

function counted(timestampSec = BLOCK_SEC) {
  const cache = createBlockCache<{ block: { number: bigint; hash: '0x'; timestampSec: bigint }; read: number }>({
    clock,
    entriesMax: 10,
  })
  let reads = 0
  const read = async () => ({
    block: { number: 1n, hash: '0x' as const, timestampSec: BigInt(timestampSec) },
    read: ++reads,
  })
  return (chain: Chain, key = 'wallet') => cache.reuse({ chain, key, read }, never).then((value) => value.read)
}

test('reuse() reads once per block time', async () => {
  const read = counted()
  const chain = createChain(12_000)
  expect(await read(chain)).toBe(1)
  pass(8_999)
  expect(await read(chain)).toBe(1)
  pass(1)
  expect(await read(chain)).toBe(2)
})

test("reuse() caches nothing longer than one block time, even if the clock or the chain's time is wrong", async () => {
  const read = counted(BLOCK_SEC + 1_000_000)
  const chain = createChain(12_000)
  expect(await read(chain)).toBe(1)
  // The wall clock stepping back changes nothing.
  nowMs -= 3_600_000
  monotonicMs += 11_999
  expect(await read(chain)).toBe(1)
  monotonicMs += 1
  expect(await read(chain)).toBe(2)
})

test('reuse() reads again if the block is late, and always if the block time is 0', async () => {
  const late = counted(BLOCK_SEC - 60)
  expect([await late(createChain(12_000)), await late(createChain(12_000))]).toEqual([1, 2])
  const never0 = counted(BLOCK_SEC + 1_000_000)
  expect([await never0(createChain(0)), await never0(createChain(0))]).toEqual([1, 2])
  const together = counted()
  expect(await Promise.all([together(createChain(0)), together(createChain(0))])).toEqual([1, 2])
})

test('reuse() shares one read among concurrent callers, per chain and key', async () => {
  const read = counted()
  const chain = createChain(12_000)
  expect(await Promise.all([read(chain), read(chain), read(createChain(12_000, 10)), read(chain, 'other')])).toEqual([
    1, 1, 2, 3,
  ])
})
