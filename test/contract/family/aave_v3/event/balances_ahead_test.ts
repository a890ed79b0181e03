import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { createChainClient, type EvmClient } from '../../../../../src/chain/evm/evm_client.ts'
import { readBlock } from '../../../../../src/chain/evm/read_block.ts'
import type { Endpoint } from '../../../../../src/chain/rpc/client.ts'
import { type LendingTarget, TOPICS } from '../../../../../src/family/aave_v3/event/log.ts'
import { createBalanceReader } from '../../../../../src/family/aave_v3/read/stream.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { sharedAave } from '../../../../devnet/aave_v3/shared.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import { readLogs, toTarget } from '../../../../support/family/aave_v3/event/support.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../../../support/test_clock.ts'
import { waitFor } from '../../../../support/wait_for.ts'

const BUILD_LIMIT_MS = 120_000
const never = createWork(new AbortController().signal)

let upstream: FaultyRpc
let client: EvmClient
let target: LendingTarget
let wallet: Hex
/** A block that changes what the wallet has. */
let changed = 0

beforeAll(async () => {
  const { devnet, aave } = await sharedAave()
  upstream = await startFaultyRpc(devnet.rpcUrl)
  client = createChainClient({
    chain: createDevnetChain(devnet, { rpcUrls: [upstream.url] }),
    clock: createHurriedClock(),
    log: silentLog,
  })
  target = toTarget(aave, 'main')
  const [supply] = await readLogs(devnet, [{ addresses: [target.contract], topics: [[TOPICS.supply]] }])
  if (supply === undefined) throw new Error('Expected a supply')
  wallet = `0x${supply.topics[2]?.slice(26) ?? ''}`
  changed = supply.blockNumber
}, BUILD_LIMIT_MS)
afterAll(async () => {
  client?.close()
  await upstream?.stop()
})

/** Balances of a new reader, which may have begun to read those of some block. */
async function readAt(block: number, begun?: number) {
  const reader = createBalanceReader(slowClock)
  upstream.reset()
  if (begun !== undefined) {
    const read = (endpoint: Endpoint) => readBlock(endpoint, { chainId: target.chainId, number: BigInt(begun) }, never)
    reader.prefetch(client, { target, wallet, block: await client.read(read, { work: never }) }, never)
    await waitFor(
      'a question',
      () => upstream.seen.some(({ method }) => method === 'eth_call') && upstream.waiting() === 0,
    )
  }
  const before = upstream.seen.length
  const balances = await reader.read(client, { target, wallet, block }, never)
  return { balances, asked: upstream.seen.length - before }
}

test('balances prefetched for a block are used for that block alone: those of the next one are read', async () => {
  const [before, after] = [await readAt(changed - 1), await readAt(changed)]
  expect(before.balances).not.toEqual(after.balances)
  expect(await readAt(changed, changed - 1)).toEqual(after)
  expect(await readAt(changed, changed)).toEqual({ balances: after.balances, asked: 0 })
})
