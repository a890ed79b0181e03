import type { ChainClient } from '../chain/client.ts'
import type { ReadBlock } from '../chain/read_block.ts'

/** Where a chain's positions are read. */
export interface Place<Deployment> {
  readonly client: ChainClient
  readonly deployments: readonly Deployment[]
}

/** Chains that are configured and have the family, by id. */
export function placesOf<Deployment>(
  clients: ReadonlyMap<number, ChainClient>,
  deployments: ReadonlyMap<number, readonly Deployment[]>,
): ReadonlyMap<number, Place<Deployment>> {
  const places = new Map<number, Place<Deployment>>()
  for (const [id, client] of clients) {
    const here = deployments.get(id) ?? []
    if (here.length > 0) places.set(id, { client, deployments: here })
  }
  return places
}

/** The block of each chain's read, for `X-As-Of`, by chain. */
export function asOf(
  reads: readonly { readonly block: ReadBlock }[],
): { readonly chainId: number; readonly blockNumber: bigint }[] {
  return reads
    .map(({ block }) => ({ chainId: block.chainId, blockNumber: block.number }))
    .sort((a, b) => a.chainId - b.chainId)
}
