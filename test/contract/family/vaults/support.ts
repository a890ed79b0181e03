import type { Address } from 'viem'
import { VAULTS } from '../../../../src/family/vaults/mod.ts'
import type { PresentedRow } from '../../../../src/family/vaults/present/schema.ts'
import type { VaultEntry } from '../../../../src/family/vaults/table.ts'
import { placeReplay, type RecordedCall } from '../../../devnet/aave_v4/replay.ts'
import { REGISTRIES, recordWorld, toUsdFeed } from '../../../devnet/vaults/record.ts'
import { WORLDS, type World } from '../../../devnet/vaults/vectors.ts'
import { callRoute } from '../../../support/call_route.ts'
import { CHAIN_ID, type ReplayNode, startReplayNode } from '../../../support/family/replay_node.ts'
import { createFamilyRoutes } from '../../../support/family.ts'

/** Dollars of a whole asset, 8 decimals. */
export const USD8 = 99_900_000n

/** A chain on which the contracts of the vectors answer as they did. */
export interface ReplayedChain extends ReplayNode {
  place(calls: readonly RecordedCall[]): Promise<void>
}

/** Starts it, without a world; the assets of the worlds and `assets` have feeds. */
export async function startReplayedChain(assets: readonly Address[] = []): Promise<ReplayedChain> {
  const priced = [...WORLDS.map(({ asset }) => asset), ...assets]
  const node = await startReplayNode({ feeds: new Map(priced.map((token) => [token, toUsdFeed(token)])) })
  return { ...node, place: (calls) => placeReplay(node.rpc, calls) }
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
