import { expect, test } from 'bun:test'
import { createBlockFinder } from '../../../src/chain/past/block_at.ts'
import type { ChainClient, Endpoint } from '../../../src/chain/rpc/client.ts'
import type { Clock } from '../../../src/lib/clock.ts'

const GENESIS_SEC = 1_600_000_000
const BLOCK_SEC = 12
const NEWEST = 5_000_000
/** So late that every block is final. */
const NOW_MS = (GENESIS_SEC + NEWEST * BLOCK_SEC + 30 * 86_400) * 1_000
const clock: Clock = { now: () => NOW_MS, monotonicMs: () => 0 }
const patient = new AbortController().signal

/** A client of a chain with a block every twelve seconds, which counts the headers that it reads. */
function startChain() {
  let headers = 0
  const request = async ({ params: [name], parse }: Parameters<Endpoint['request']>[0]): Promise<unknown> => {
    headers++
    const height = name === 'latest' ? NEWEST : Number(name)
    const hex = (value: number) => `0x${value.toString(16)}`
    const hash = (value: number) => `0x${value.toString(16).padStart(64, '0')}`
    const header = { number: hex(height), timestamp: hex(GENESIS_SEC + height * BLOCK_SEC) }
    return parse({ ...header, hash: hash(height), parentHash: hash(height - 1) })
  }
  const endpoint = { request, observeBlock: () => {} } as unknown as Endpoint
  const client = {
    chain: { id: 1, name: 'Chain', rpcUrls: ['one'], blockTimeMs: BLOCK_SEC * 1_000 },
    read: (attempt: (endpoint: Endpoint, signal: AbortSignal) => Promise<unknown>) => attempt(endpoint, patient),
  } as unknown as ChainClient
  const finder = createBlockFinder(clock)
  return {
    async heightAt(second: number) {
      const before = headers
      const { number } = await finder.byTime(client, BigInt(GENESIS_SEC + second), patient)
      return { number: Number(number), headers: headers - before }
    },
  }
}

test('what a search found starts the next ones, however many have gone before', async () => {
  const { heightAt } = startChain()
  let seed = 7
  let forgotten = 0
  for (let turn = 0; turn < 2_500; turn++) {
    seed = (seed * 48_271) % 2_147_483_647
    const height = 1 + (seed % (NEWEST - 2))
    const found = await heightAt(height * BLOCK_SEC + 3)
    // Another second of the same block: both it and the next one are known.
    const again = await heightAt(height * BLOCK_SEC + 4)
    expect([found.number, again.number]).toEqual([height, height])
    if (again.headers > 0) forgotten++
  }
  // One of two thousand blocks makes room, and that may be one of these two.
  expect(forgotten).toBeLessThan(10)
})
