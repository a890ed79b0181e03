import type { Address } from 'viem'
import { COMPOUND_V3 } from '../../../../src/family/compound_v3/mod.ts'
import { placeReplay, type RecordedCall } from '../../../devnet/aave_v4/replay.ts'
import { recordMarket, recordTokens, toUsdFeed } from '../../../devnet/compound_v3/record.ts'
import { WORLDS, type World } from '../../../devnet/compound_v3/vectors.ts'
import { callRoute } from '../../../support/call_route.ts'
import { CHAIN_ID, type ReplayNode, startReplayNode } from '../../../support/family/replay_node.ts'
import { createFamilyRoutes } from '../../../support/family.ts'

/** Dollars of a unit in which the market's own feeds answer, as of a market whose feeds answer in a base token. */
export const UNIT_USD = 3_000n

/** A chain on which the contracts of the vectors answer as they did. */
export interface ReplayedChain extends ReplayNode {
  /** Puts a world in its place; its tokens are worth `UNIT_USD` times what the market's own feeds say. */
  place(world: World, more?: readonly RecordedCall[]): Promise<void>
}

/** Starts it, without a world. */
export async function startReplayedChain(): Promise<ReplayedChain> {
  const tokens = WORLDS.flatMap(({ base, rewardToken, collaterals }) => [
    base,
    rewardToken,
    ...collaterals.map(({ asset }) => asset),
  ])
  const node = await startReplayNode({ feeds: new Map(tokens.map((token) => [token, toUsdFeed(token)])) })
  return {
    ...node,
    place: (world, more = []) =>
      placeReplay(node.rpc, [...recordMarket(world), ...recordTokens(world, toUsdPrices(world)), ...more]),
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
