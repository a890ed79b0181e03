import { afterAll, beforeAll, expect, test } from 'bun:test'
import { keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createChainClient, type EvmClient } from '../../../../src/chain/evm/evm_client.ts'
import { readStateDepth } from '../../../../src/chain/past/state_canary.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { createRpc } from '../../../devnet/rpc.ts'
import { type LyingRpc, type StateLie, startLyingRpc } from '../../../support/lying_rpc.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

const HEAD = 1_500
/** The only block with a transaction; its sender shows that a later state is not empty. */
const SENT = 31

let anvil: Anvil
let rpc: LyingRpc
let client: EvmClient

beforeAll(async () => {
  anvil = await startAnvil()
  const node = createRpc(anvil.rpcUrl)
  const account = privateKeyToAccount(keccak256('0x5e2de2'))
  await node.call('anvil_setBalance', account.address, '0xffff')
  await node.call('evm_setAutomine', false)
  await node.call('anvil_mine', `0x${(SENT - 1).toString(16)}`)
  const transfer = { chainId: 1, nonce: 0, gas: 21_000n, gasPrice: 0n, to: account.address } as const
  await node.call('eth_sendRawTransaction', await account.signTransaction(transfer))
  await node.call('evm_mine')
  await node.call('anvil_mine', `0x${(HEAD - SENT).toString(16)}`)
  rpc = await startLyingRpc(anvil.rpcUrl, [account.address])
  const chain = { id: 1, name: 'Ethereum', rpcUrls: [rpc.url], reuseMs: 0, finality: { depth: 0 } }
  client = createChainClient({ chain, clock: createFixedClock(), log: silentLog })
}, 60_000)
afterAll(async () => {
  client?.close()
  await rpc?.stop()
  await anvil?.stop()
}, 60_000)

test.each<[lies: readonly StateLie[], depth: bigint | 'all']>([
  [[], 'all'],
  [['ringless'], 'all'],
  [['empty'], 100n],
  [['later'], 100n],
])('an endpoint with the lies %p about all but 128 blocks has states of %p blocks', async (lies, depth) => {
  rpc.lie(lies, HEAD - 128)
  const [endpoint] = client.background
  if (endpoint === undefined) throw new Error('The chain has no endpoint')
  expect(await readStateDepth(endpoint, BigInt(HEAD), createWork(new AbortController().signal))).toBe(depth)
})
