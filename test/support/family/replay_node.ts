import type { Address } from 'viem'
import { createChainClient } from '../../../src/chain/evm/evm_client.ts'
import type { FinanceClient } from '../../../src/finance/chain.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { type Anvil, type AnvilOptions, startAnvil } from '../../devnet/anvil.ts'
import { BLOCK_AGE_SEC_MAX } from '../../devnet/chain.ts'
import { createRpc, type Rpc } from '../../devnet/rpc.ts'
import { createHurriedClock } from '../test_clock.ts'

/** Chain id of a replay node. */
export const CHAIN_ID = 1

/** A node on which recorded contracts are to be placed, and a client of it. */
export interface ReplayNode {
  readonly anvil: Anvil
  readonly rpc: Rpc
  readonly client: FinanceClient
  /** Makes the block of a time, later than that of the newest, and returns its number. */
  mineAt(timestampSec: bigint): Promise<number>
}

/** Starts it. `feeds`: feed by token; what they say is as old as the newest block. */
export async function startReplayNode({
  feeds = new Map(),
  ...options
}: Pick<AnvilOptions, 'timestampSec'> & { readonly feeds?: ReadonlyMap<Address, Address> } = {}): Promise<ReplayNode> {
  const anvil = await startAnvil({ chainId: CHAIN_ID, hardfork: 'cancun', ...options })
  const rpc = createRpc(anvil.rpcUrl)
  const client = createChainClient({
    chain: {
      id: CHAIN_ID,
      name: 'Devnet',
      rpcUrls: [anvil.rpcUrl],
      reuseMs: 0,
      maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
      finality: { depth: 0 },
      prices: {
        usdFeeds: Object.fromEntries(
          [...feeds].map(([token, feed]) => [token, { feed, heartbeatSec: BLOCK_AGE_SEC_MAX }]),
        ),
        stablecoins: [],
      },
      tokens: { addresses: [], names: [], added: [] },
      spamTokens: [],
    },
    clock: createHurriedClock(),
    log: silentLog,
  })
  return {
    anvil,
    rpc,
    client,
    async mineAt(timestampSec) {
      await rpc.call('evm_setNextBlockTimestamp', Number(timestampSec))
      await rpc.call('evm_mine')
      return Number(await rpc.call<string>('eth_blockNumber'))
    },
  }
}
