import type { Address } from 'viem'
import { AAVE_V4 } from '../../../../src/family/aave_v4/mod.ts'
import { ACCESS_MANAGER, recordSnapshot } from '../../../devnet/aave_v4/record.ts'
import { placeReplay } from '../../../devnet/aave_v4/replay.ts'
import type { Snapshot } from '../../../devnet/aave_v4/vectors.ts'
import type { AnvilOptions } from '../../../devnet/anvil.ts'
import { callRoute } from '../../../support/call_route.ts'
import { CHAIN_ID, type ReplayNode, startReplayNode } from '../../../support/family/replay_node.ts'
import { createFamilyRoutes } from '../../../support/family.ts'

/** A chain on which the contracts of the vectors answer as they did. */
export interface ReplayedChain extends ReplayNode {
  /** Puts a snapshot in place of the one before; returns the block at which it is there. */
  place(snapshot: Snapshot): Promise<number>
}

/** Starts it, without a snapshot. */
export async function startReplayedChain(options: Pick<AnvilOptions, 'timestampSec'> = {}): Promise<ReplayedChain> {
  const node = await startReplayNode(options)
  const { rpc } = node
  return {
    ...node,
    async place(snapshot) {
      await placeReplay(rpc, recordSnapshot(snapshot))
      await rpc.call('evm_mine')
      const block = Number(await rpc.call<string>('eth_blockNumber'))
      // Anvil keeps a block's state when the next one comes.
      await rpc.call('evm_mine')
      return block
    },
  }
}

/** The deployment of a snapshot as a row of `CHAINS_FILE`. */
export function toRow({ world: { spokes } }: Snapshot) {
  return {
    aaveV4: {
      accessManager: ACCESS_MANAGER,
      spokes: Object.entries(spokes).map(([address, { name }]) => ({ address, name: toMarketId(name) })),
    },
  }
}

/** Name of a spoke in parameters and answers. */
export function toMarketId(name: string): string {
  return name
    .replace(/_E?SPOKE$/, '')
    .toLowerCase()
    .replaceAll('_', '-')
}

/** Wallets of a snapshot. */
export function listWallets({ world: { spokes } }: Snapshot): Address[] {
  return [...new Set(Object.values(spokes).flatMap(({ users }) => Object.keys(users)))] as Address[]
}

/** Entry of a list, as far as the tests read it. */
export interface WireEntry {
  readonly chain_id: number
  readonly wallet: Address
  readonly positions: readonly WirePosition[]
  readonly calculations: readonly Readonly<Record<string, unknown>>[]
}

interface WirePosition extends Readonly<Record<string, unknown>> {
  readonly marketId: string
  readonly suppliedAssets: readonly WireAsset[]
  readonly borrowedAssets: readonly WireAsset[]
}

export interface WireAsset extends Readonly<Record<string, unknown>> {
  readonly reserveId: number
  readonly amount: string
  readonly withdrawable?: { readonly raw: string } | null
}

/** The routes of the family over a chain. */
export function createCaller({ client }: Pick<ReplayedChain, 'client'>, snapshot: Snapshot) {
  const routes = createFamilyRoutes(AAVE_V4, { rows: [[CHAIN_ID, toRow(snapshot)]], clients: [client] })
  const find = (method: string) => {
    const route = routes.find((each) => each.method === method && each.path.startsWith('/v1/lending/aave-v4'))
    if (route === undefined) throw new Error(`Cannot find a route with method ${method}`)
    return route
  }
  return {
    list: async (query: string) => {
      const { reply, credits } = await callRoute(find('GET'), { query })
      return { data: reply.data as readonly WireEntry[], credits }
    },
    batch: async (body: unknown) => {
      const { reply, credits } = await callRoute(find('POST'), { query: 'limit=25', body })
      return { data: reply.data as readonly WireEntry[], credits }
    },
  }
}
