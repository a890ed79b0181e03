import type { Address } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'
import { createBlockFinder, NoBlockError } from '../chain/past/block_at.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import { parseBytes } from '../chain/rpc/value.ts'
import { allOrAbort } from '../lib/async/all_or_abort.ts'
import type { Clock } from '../lib/clock.ts'
import { CodedError } from '../lib/error.ts'
import { type FamilyTarget, isNow, type Moment } from './target.ts'

/** A contract that was deployed at some block. */
interface DeployedContract {
  /** No events before it; 0 if nobody knows. */
  readonly startBlock: number
}

/** Finds the block of each chain at a moment, and what stood there already. */
export type HistoricalTargets<Deployment extends DeployedContract> = ReturnType<
  typeof createHistoricalTargets<Deployment>
>

/** Makes it for one family; `name` names it in errors, and `contractOf` gives the contract that shows a deployment. */
export function createHistoricalTargets<Deployment extends DeployedContract>(options: {
  readonly name: string
  readonly clock: Clock
  readonly contractOf: (deployment: Deployment) => Address
  /** True if readers find nothing if a deployment did not stand yet: then they are asked. @default {false} */
  readonly isAskedEarly?: boolean
}) {
  const { name, clock, contractOf, isAskedEarly = false } = options
  const moments = createBlockResolver(clock)
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

  /** The deployments of a place that stood at its block; all of them at the newest. */
  async function standing(
    { client, deployments, block }: FamilyTarget<Deployment>,
    signal: AbortSignal,
  ): Promise<readonly Deployment[]> {
    if (block === undefined) return deployments
    const known = await Promise.all(deployments.map((each) => stood(each, { client, block }, signal)))
    return deployments.filter((_, index) => known[index])
  }

  async function placeAt(
    { client, deployments }: FamilyTarget<Deployment>,
    moment: Moment,
    signal: AbortSignal,
  ): Promise<FamilyTarget<Deployment> | string> {
    const block = await moments.blockAt(client, moment, signal)
    if (typeof block === 'string') return block
    if (isAskedEarly && block.number > 0n) return { client, deployments, block }
    const here = await standing({ client, deployments, block }, signal)
    if (here.length > 0) return { client, deployments: here, block }
    const known = Math.min(...deployments.map(({ startBlock }) => startBlock))
    const first = known > 0 ? `, expected ${known} or later` : ''
    return `${name} did not stand on chain ${client.chain.id} (${client.chain.name}) at block ${block.number}${first}`
  }

  return {
    standing,
    /**
     * The same places at the moment, each with its block and the deployments that stood there by then; chains without
     * any are left out. Unchanged without a moment. Throws `CodedError` INVALID_PARAMETER if the moment is beyond the
     * newest block or before everything, unless its readers are asked about that too.
     */
    async at(
      places: readonly FamilyTarget<Deployment>[],
      moment: Moment,
      signal: AbortSignal,
    ): Promise<FamilyTarget<Deployment>[]> {
      if (isNow(moment)) return [...places]
      const found = await allOrAbort(
        places.map((place) => (shared: AbortSignal) => placeAt(place, moment, shared)),
        signal,
      )
      const standing = found.filter((each) => typeof each !== 'string')
      const [reason] = found.filter((each) => typeof each === 'string')
      if (standing.length === 0 && reason !== undefined) throw momentError(moment, reason)
      return standing
    },
  }
}

/** Makes what finds the blocks of moments, with an empty memory. */
export function createBlockResolver(clock: Clock) {
  const blocks = createBlockFinder(clock)
  return {
    /**
     * The block of a chain at a moment, which is one; or what is wrong with the moment there, for `momentError`. Throws
     * as `BlockFinder`.
     */
    async blockAt(
      client: ChainClient,
      { at_block, at_time }: Moment,
      signal: AbortSignal,
    ): Promise<PinnedBlock | string> {
      const atSec = at_time?.sec ?? 0
      const chain = `chain ${client.chain.id} (${client.chain.name})`
      try {
        return await (at_block === undefined
          ? blocks.byTime(client, BigInt(atSec), signal)
          : blocks.byNumber(client, BigInt(at_block), signal))
      } catch (error) {
        if (!(error instanceof NoBlockError)) throw error
        const { number, timestampSec } = error.nearest
        if (at_block !== undefined) return `expected at most ${number}, the newest block of ${chain}`
        if (timestampSec < atSec) return 'expected no time in the future'
        return `expected a time from ${timestampSec} on, when ${chain} began`
      }
    },
  }
}

/** A mistake in a request: the moment that it is about, with the reason. */
export function momentError({ at_block, at_time }: Moment, reason: string): CodedError {
  const [parameter, sent] = at_block === undefined ? ['at_time', at_time?.sent] : ['at_block', at_block]
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${parameter}": ${reason}, got "${sent}"`)
}
