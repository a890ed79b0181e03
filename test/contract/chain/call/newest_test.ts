import { beforeAll, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { readMulticall } from '../../../../src/chain/call/many/multicall.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { createRpc } from '../../../devnet/rpc.ts'
import { useFaultyChain } from '../../../support/endpoint.ts'
import { slowClock } from '../../../support/test_clock.ts'

const never = createWork(new AbortController().signal)
const chain = useFaultyChain()

beforeAll(async () => {
  await createRpc(chain.anvil.rpcUrl).call('anvil_mine', '0x5')
})

async function readNewestNumber(): Promise<bigint> {
  return BigInt(await createRpc(chain.anvil.rpcUrl).call<Hex>('eth_blockNumber'))
}

/** An address without code. */
const NOWHERE = '0x00000000000000000000000000000000000ec402'

test.each([
  [10, 1],
  [151, 3],
])('%i contract calls at the newest block are %i requests, all of one block', async (count, requests) => {
  const calls = Array.from({ length: count }, () => ({ to: NOWHERE, data: '0x' }) as const)
  const block = { chainId: 1 }
  const { results, block: seen } = await readMulticall(chain.endpoint, { calls, block, clock: slowClock }, never)
  expect(results).toEqual(calls.map(() => '0x'))
  expect(seen.number).toBe(await readNewestNumber())
  expect(chain.rpc.seen.map(({ method }) => method)).toHaveLength(requests)
})
