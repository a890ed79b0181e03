import { expect, test } from 'bun:test'
import { numberToHex } from 'viem'
import type { PinnedBlock } from '../../../../src/chain/block.ts'
import type { ChainClient, Endpoint } from '../../../../src/chain/rpc/client.ts'
import { readNewestHashes } from '../../../../src/history/proof/tail.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { toHash } from '../../../support/history/simulation/chain.ts'

const LAST = 100
const CLIENT = { chain: { id: 5 } } as Partial<ChainClient> as ChainClient

/** The newest blocks from this one on, and how many headers were asked for. */
async function newest(fromBlock: number, isGrandparentKnown: boolean) {
  let asked = 0
  const endpoint: Pick<Endpoint, 'request'> = {
    async request({ params: [hash], parse }) {
      asked++
      const number = [LAST - 1, LAST - 2].find((each) => toHash(each) === hash) ?? 0
      return parse({
        number: numberToHex(number),
        timestamp: '0x1',
        hash: toHash(number),
        parentHash: toHash(number - 1),
      })
    },
  }
  const block: PinnedBlock = {
    chainId: 5,
    number: BigInt(LAST),
    timestampSec: 1n,
    hash: toHash(LAST),
    parentHash: toHash(LAST - 1),
  }
  const grandparent = isGrandparentKnown ? toHash(LAST - 2) : undefined
  const never = createWork(new AbortController().signal)
  const hashes = await readNewestHashes(
    endpoint as Endpoint,
    { client: CLIENT, tip: { block }, grandparent, fromBlock },
    never,
  )
  return { hashes, asked }
}

const named = (...numbers: readonly number[]) => numbers.map((number) => ({ blockHash: toHash(number), number }))

test.each([
  [100, false, 0],
  [99, false, 1],
  [98, false, 1],
  [99, true, 0],
  [98, true, 0],
])('the newest blocks from %d on, with the grandparent known: %p, take %d headers', async (from, isKnown, headers) => {
  const blocks = [98, 99, 100].filter((number) => number >= from)
  expect(await newest(from, isKnown)).toEqual({ hashes: named(...blocks), asked: headers })
})
