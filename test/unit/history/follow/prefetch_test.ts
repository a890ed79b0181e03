import { expect, test } from 'bun:test'
import { numberToHex } from 'viem'
import type { BackgroundEndpoint } from '../../../../src/chain/rpc/client.ts'
import type { Follower } from '../../../../src/history/follow/follower.ts'
import type { StreamTarget } from '../../../../src/history/stream.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { EMITTER, POOL_TOPIC, TOKEN_TOPIC, toTopic, toWallet } from '../../../support/history/scene.ts'
import { toHash, word } from '../../../support/history/simulation/chain.ts'
import { simulateStore } from '../simulation/store.ts'
import { complete, type FilterJson, follow, never, PLACE, quietEndpoint } from './quiet.ts'

const BLOCKS = 1_000
const WALLET = toWallet(0)

function foresee(follower: Follower<StreamTarget>, number = BLOCKS, work = never): void {
  const finalized = { number: BigInt(number), timestampSec: 0n }
  follower.prefetch({ subject: WALLET, finalized, coverageBySubject: new Map() }, PLACE, work)
}

/** Of another chain, on which the wallet did something in block 5. */
function forked(endpoint: BackgroundEndpoint): BackgroundEndpoint {
  const logs = [POOL_TOPIC, TOKEN_TOPIC].map((topic, logIndex) => ({
    address: EMITTER,
    topics: [topic, toTopic(WALLET)],
    data: word(7),
    blockNumber: '0x5',
    blockHash: toHash(5, 1),
    transactionHash: word(666),
    transactionIndex: '0x0',
    logIndex: numberToHex(logIndex),
    removed: false,
  }))
  return {
    ...endpoint,
    async request({ method, params, parse }) {
      if (method === 'eth_getBlockByNumber') {
        const number = Number(params[0])
        const header = { hash: toHash(number, 1), parentHash: toHash(number - 1, 1), timestamp: '0x1' }
        return parse({ ...header, number: params[0] })
      }
      const { fromBlock, toBlock } = params[0] as FilterJson
      return parse(Number(fromBlock) <= 5 && Number(toBlock) >= 5 ? logs : [])
    },
  }
}

test('what was read ahead is not read again', async () => {
  const { endpoint, answered } = quietEndpoint(1_000_000)
  const follower = follow([endpoint, { ...endpoint, index: 1 }])
  foresee(follower)
  expect(await complete(follower, BLOCKS, WALLET)).toBe(true)
  // Once by each endpoint.
  expect(answered).toHaveLength(2)
  await follower.close()
})

test('a prefetched part is read again if another block is final, or if its request was aborted', async () => {
  const { endpoint, answered } = quietEndpoint(1_000_000)
  const follower = follow([endpoint, { ...endpoint, index: 1 }])
  foresee(follower, BLOCKS - 1)
  foresee(follower, BLOCKS, createWork(AbortSignal.abort()))
  const over = new AbortController()
  foresee(follower, BLOCKS, createWork(over.signal))
  over.abort()
  expect(await complete(follower, BLOCKS, WALLET)).toBe(true)
  expect(answered.filter(({ toBlock }) => toBlock === BLOCKS)).toHaveLength(4)
  await follower.close()
})

test('what was read ahead from endpoints that turn out to be on a fork is read again elsewhere', async () => {
  const { endpoint, answered } = quietEndpoint(1_000_000)
  const store = simulateStore(() => 0)
  let isUsable = false
  const others = [2, 3, 4].map((index) => ({
    ...endpoint,
    index,
    get usable() {
      return isUsable
    },
  }))
  const follower = follow([forked(endpoint), forked({ ...endpoint, index: 1 }), ...others], { store })
  // The other endpoints are not usable now.
  foresee(follower)
  isUsable = true
  expect(await complete(follower, BLOCKS, WALLET)).toBe(true)
  expect(store.rowsOf(WALLET)).toEqual([])
  expect(answered).toHaveLength(2)
  await follower.close()
})
