import type { Address } from 'viem'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import { VAULTS } from '../../../../src/family/vaults/mod.ts'
import type { PresentedRow } from '../../../../src/family/vaults/present/schema.ts'
import type { VaultEntry } from '../../../../src/family/vaults/table.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { placeReplay, type RecordedCall } from '../../../devnet/aave_v4/replay.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { BLOCK_AGE_SEC_MAX } from '../../../devnet/chain.ts'
import { createRpc, type Rpc } from '../../../devnet/rpc.ts'
import { REGISTRIES, recordWorld, toUsdFeed } from '../../../devnet/vaults/record.ts'
import { WORLDS, type World } from '../../../devnet/vaults/vectors.ts'
import { callRoute } from '../../../support/call_route.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { createHurriedClock } from '../../../support/test_clock.ts'

export const CHAIN_ID = 1
/** Dollars of a whole asset, 8 decimals. */
export const USD8 = 99_900_000n

/** A chain on which the contracts of the vectors answer as they did. */
export interface ReplayedChain {
  readonly anvil: Anvil
  readonly rpc: Rpc
  readonly client: FinanceClient
  place(calls: readonly RecordedCall[]): Promise<void>
  /** Makes the block of a time, later than that of the newest, and returns its number. */
  mineAt(timestampSec: bigint): Promise<number>
}

/** Starts it, without a world; the assets of the worlds and `assets` have feeds. */
export async function startReplayedChain(assets: readonly Address[] = []): Promise<ReplayedChain> {
  const anvil = await startAnvil({ chainId: CHAIN_ID, hardfork: 'cancun' })
  const rpc = createRpc(anvil.rpcUrl)
  const priced = new Set([...WORLDS.map(({ asset }) => asset), ...assets])
  const client = createChainClient({
    chain: {
      id: CHAIN_ID,
      name: 'Devnet',
      rpcUrls: [anvil.rpcUrl],
      reuseMs: 0,
      maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
      finality: { depth: 0 },
      prices: {
        // Answers of a world are as old as its block.
        usdFeeds: Object.fromEntries(
          [...priced].map((token) => [token, { feed: toUsdFeed(token), heartbeatSec: BLOCK_AGE_SEC_MAX }]),
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
    place: (calls) => placeReplay(rpc, calls),
    async mineAt(timestampSec) {
      await rpc.call('evm_setNextBlockTimestamp', Number(timestampSec))
      await rpc.call('evm_mine')
      return Number(await rpc.call<string>('eth_blockNumber'))
    },
  }
}

/** A world's vaults and Morpho's registries, as `CHAINS_FILE` names them. */
export function toEntries(world: World): readonly VaultEntry[] {
  return [
    ...world.vaults.map(({ vault: address }) => ({ address, kind: 'erc4626' as const })),
    ...Object.entries(REGISTRIES).map(([kind, address]) => ({ address, kind: kind as keyof typeof REGISTRIES })),
  ]
}

/** Puts a world in its place. */
export function placeWorld(chain: ReplayedChain, world: World): Promise<void> {
  return chain.place(recordWorld(world, USD8))
}

/** The routes of the family over a chain. */
export function createCaller({ client }: Pick<ReplayedChain, 'client'>, entries: readonly VaultEntry[]) {
  const routes = createFamilyRoutes(VAULTS, { rows: [[CHAIN_ID, { vaults: entries }]], clients: [client] })
  const [list, batch] = routes
  if (list === undefined || batch === undefined) throw new Error('Expected a list and a batch')
  return {
    list: async (query: string) => {
      const { reply, credits } = await callRoute(list, { query })
      return { data: reply.data as readonly PresentedRow[], credits }
    },
    batch: async (body: unknown, query = 'limit=25') => {
      const { reply, credits } = await callRoute(batch, { query, body })
      return { data: reply.data as readonly PresentedRow[], credits }
    },
  }
}
