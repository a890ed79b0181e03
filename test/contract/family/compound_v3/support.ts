import type { Address } from 'viem'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import { COMPOUND_V3 } from '../../../../src/family/compound_v3/mod.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { placeReplay, type RecordedCall } from '../../../devnet/aave_v4/replay.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { BLOCK_AGE_SEC_MAX } from '../../../devnet/chain.ts'
import { recordMarket, recordTokens, toUsdFeed } from '../../../devnet/compound_v3/record.ts'
import { WORLDS, type World } from '../../../devnet/compound_v3/vectors.ts'
import { createRpc, type Rpc } from '../../../devnet/rpc.ts'
import { callRoute } from '../../../support/call_route.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { createHurriedClock } from '../../../support/test_clock.ts'

export const CHAIN_ID = 1
/** Dollars of a unit in which the market's own feeds answer, as of a market whose feeds answer in a base token. */
export const UNIT_USD = 3_000n

/** A chain on which the contracts of the vectors answer as they did. */
export interface ReplayedChain {
  readonly anvil: Anvil
  readonly rpc: Rpc
  readonly client: FinanceClient
  /** Puts a world in its place; its tokens are worth `UNIT_USD` times what the market's own feeds say. */
  place(world: World, more?: readonly RecordedCall[]): Promise<void>
  /** Makes the block of a time, later than that of the newest, and returns its number. */
  mineAt(timestampSec: bigint): Promise<number>
}

/** Starts it, without a world. */
export async function startReplayedChain(): Promise<ReplayedChain> {
  const anvil = await startAnvil({ chainId: CHAIN_ID, hardfork: 'cancun' })
  const rpc = createRpc(anvil.rpcUrl)
  const tokens = new Set(
    WORLDS.flatMap(({ base, rewardToken, collaterals }) => [
      base,
      rewardToken,
      ...collaterals.map(({ asset }) => asset),
    ]),
  )
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
          [...tokens].map((token) => [token, { feed: toUsdFeed(token), heartbeatSec: BLOCK_AGE_SEC_MAX }]),
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
    place: (world, more = []) =>
      placeReplay(rpc, [...recordMarket(world), ...recordTokens(world, toUsdPrices(world)), ...more]),
    async mineAt(timestampSec) {
      await rpc.call('evm_setNextBlockTimestamp', Number(timestampSec))
      await rpc.call('evm_mine')
      return Number(await rpc.call<string>('eth_blockNumber'))
    },
  }
}

/** What the feeds of the chain say of a world's tokens, 8 decimals. */
export function toUsdPrices({ base, basePrice8, rewardToken, collaterals }: World): ReadonlyMap<Address, bigint> {
  return new Map<Address, bigint>([
    [rewardToken, 50n * 10n ** 8n],
    [base, BigInt(basePrice8) * UNIT_USD],
    ...collaterals.map(({ asset, price8 }): [Address, bigint] => [asset, BigInt(price8) * UNIT_USD]),
  ])
}

/** A world's market as `CHAINS_FILE` names it. */
export function toDeployment({ comet, rewards }: World) {
  return { market: 'usdc', comet, rewards, startBlock: 0 }
}

/** Entry of a list, as far as the tests read it. */
export interface WireEntry {
  readonly chain_id: number
  readonly wallet: Address
  readonly positions: readonly WirePosition[]
  readonly calculations: readonly (Readonly<Record<string, unknown>> | null)[]
}

export interface WirePosition extends Readonly<Record<string, unknown>> {
  readonly suppliedAssets: readonly WireAsset[]
  readonly borrowedAssets: readonly WireAsset[]
  readonly rewards: readonly { readonly raw: string; readonly usd: string | null }[] | null
}

export interface WireAsset extends Readonly<Record<string, unknown>> {
  readonly address: Address
  readonly amount: string
  readonly withdrawable?: { readonly raw: string } | null
}

/** The routes of the family over a chain. */
export function createCaller({ client }: Pick<ReplayedChain, 'client'>, world: World) {
  const rows = [[CHAIN_ID, { compoundV3: [toDeployment(world)] }]] as const
  const routes = createFamilyRoutes(COMPOUND_V3, { rows, clients: [client] })
  const find = (method: string) => {
    const route = routes.find((each) => each.method === method)
    if (route === undefined) throw new Error(`Cannot find a route with method ${method}`)
    return route
  }
  return {
    list: async (query: string) => {
      const { reply, credits } = await callRoute(find('GET'), { query })
      return { data: reply.data as readonly WireEntry[], credits }
    },
    batch: async (body: unknown, query = 'limit=25') => {
      const { reply, credits } = await callRoute(find('POST'), { query, body })
      return { data: reply.data as readonly WireEntry[], credits }
    },
  }
}
