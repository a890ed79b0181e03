import { expect, test } from 'bun:test'
import { numberToHex, padHex, toHex } from 'viem'
import { wordOf } from '../../../../src/chain/call/words.ts'
import type { Endpoint } from '../../../../src/chain/rpc/client.ts'
import { NO_PRICE_SOURCES } from '../../../../src/finance/price/price_sources.ts'
import { cpuSeconds } from '../../../support/cpu.ts'
import type { Ask } from '../../../support/staged/multicall.ts'
import { DEPLOYMENT, patient } from '../support.ts'
import { type Entry, readEntries } from './entries.ts'
import { SELECTOR } from './words.ts'

const ENDPOINT: Endpoint = {
  index: 0,
  priority: 'caller',
  together: false,
  call: () => Promise.reject(new Error('Nobody is asked')),
  request: () => Promise.reject(new Error('Nobody is asked')),
  observeBlock: () => {},
  learned: new Map(),
}
const BLOCK = { hash: padHex('0x', { size: 32 }) }

/** A closed position in a pool of its own, of two tokens of its own. */
function entry(index: number): Entry {
  const words = [0, 0, 2 * index + 1, 2 * index + 2, 500, 0, 0, 0, 0, 0, 0, 0]
  const position = `0x${words.map((word) => numberToHex(word, { size: 32 }).slice(2)).join('')}` as const
  return { manager: 0, tokenId: BigInt(index), owner: DEPLOYMENT.manager, position }
}

/** Answers about pools as a factory would that has one for every pair; about anything else, a word. */
const ask: Ask = async (calls) =>
  calls.map(({ data }) => {
    const isFactory = data.startsWith(SELECTOR.getPool)
    const token = isFactory ? wordOf(`0x${data.slice(10)}`, 0) : 1n
    return { ok: true, data: `0x${toHex(token, { size: 32 }).slice(2).repeat(2)}` }
  })

/** Seconds of CPU that putting together `count` positions takes. */
async function secondsFor(count: number): Promise<number> {
  const entries = Array.from({ length: count }, (_, index) => entry(index))
  const subject = { deployments: [DEPLOYMENT], prices: NO_PRICE_SOURCES }
  const source = { endpoint: ENDPOINT, chainId: 1, multicall3: DEPLOYMENT.manager, subject }
  return cpuSeconds(async () => {
    const reading = readEntries({ source, ask, entries, broken: new Map(), block: BLOCK }, patient)
    // What tokens say is asked of the endpoint itself, once all is put together.
    await expect(reading).rejects.toThrow('Nobody is asked')
  })
}

test('putting a list together takes linear time in the number of its tokens', async () => {
  await secondsFor(500)
  // Both have more addresses than the memory for their checksums holds.
  const [short, long] = [await secondsFor(3_000), await secondsFor(12_000)]
  // Linear time gives 4, quadratic time 16.
  expect(long / short).toBeLessThan(9)
}, 60_000)
