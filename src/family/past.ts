import type { Address } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import { parseBytes } from '../chain/rpc/value.ts'
import { together } from '../lib/async/together.ts'
import type { Clock } from '../lib/clock.ts'
import { createMoments, momentRefused } from './moment.ts'
import { type FamilyPlace, isNow, type Moment } from './place.ts'

/** A contract that was deployed at some block. */
interface Deployed {
  /** No events before it; 0 if nobody knows. */
  readonly startBlock: number
}

/** Finds the block of each chain at a moment, and what stood there already. */
export interface PastPlaces<Deployment extends Deployed> {
  /**
   * The same places at the moment, each with its block and the deployments that stood there by then; chains without any
   * are left out. Unchanged without a moment. Throws `CodedError` INVALID_PARAMETER if the moment is beyond the newest
   * block or before everything.
   */
  at(
    places: readonly FamilyPlace<Deployment>[],
    moment: Moment,
    signal: AbortSignal,
  ): Promise<FamilyPlace<Deployment>[]>
  /** The deployments of a place that stood at its block; all of them at the newest. */
  standing(place: FamilyPlace<Deployment>, signal: AbortSignal): Promise<readonly Deployment[]>
}

/** Makes it for one family; `name` names it in errors, and `contractOf` gives the contract that shows a deployment. */
export function createPastPlaces<Deployment extends Deployed>(options: {
  readonly name: string
  readonly clock: Clock
  readonly contractOf: (deployment: Deployment) => Address
}): PastPlaces<Deployment> {
  const { name, clock, contractOf } = options
  const moments = createMoments(clock)
  /** The lowest block at which code was seen at a contract whose first block nobody knows. */
  const seen = new Map<string, bigint>()

  async function stood(
    deployment: Deployment,
    { client, block }: { readonly client: ChainClient; readonly block: PinnedBlock },
    signal: AbortSignal,
  ): Promise<boolean> {
    // The lens asks for the block before.
    if (block.number === 0n) return false
    if (deployment.startBlock > 0) return BigInt(deployment.startBlock) <= block.number
    const contract = contractOf(deployment)
    const key = `${client.chain.id}:${contract}`
    const known = seen.get(key)
    if (known !== undefined && known <= block.number) return true
    const params = [contract, { blockHash: block.hash }]
    const code = await client.read(
      (endpoint, within) => endpoint.request({ method: 'eth_getCode', params, parse: parseBytes }, within),
      { signal, past: block },
    )
    if (code === '0x') return false
    seen.set(key, block.number)
    return true
  }

  async function standing(
    { client, deployments, block }: FamilyPlace<Deployment>,
    signal: AbortSignal,
  ): Promise<readonly Deployment[]> {
    if (block === undefined) return deployments
    const known = await Promise.all(deployments.map((each) => stood(each, { client, block }, signal)))
    return deployments.filter((_, index) => known[index])
  }

  async function placeAt(
    { client, deployments }: FamilyPlace<Deployment>,
    moment: Moment,
    signal: AbortSignal,
  ): Promise<FamilyPlace<Deployment> | string> {
    const block = await moments.blockAt(client, moment, signal)
    if (typeof block === 'string') return block
    const here = await standing({ client, deployments, block }, signal)
    if (here.length > 0) return { client, deployments: here, block }
    const known = Math.min(...deployments.map(({ startBlock }) => startBlock))
    const first = known > 0 ? `, expected ${known} or later` : ''
    return `${name} did not stand on chain ${client.chain.id} (${client.chain.name}) at block ${block.number}${first}`
  }

  return {
    standing,
    async at(places, moment, signal) {
      if (isNow(moment)) return [...places]
      const found = await together(
        places.map((place) => (shared: AbortSignal) => placeAt(place, moment, shared)),
        signal,
      )
      const standing = found.filter((each) => typeof each !== 'string')
      const [reason] = found.filter((each) => typeof each === 'string')
      if (standing.length === 0 && reason !== undefined) throw momentRefused(moment, reason)
      return standing
    },
  }
}
