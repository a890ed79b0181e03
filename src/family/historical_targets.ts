import type { Address, Hex } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'
import { createBlockFinder, NoBlockError } from '../chain/past/block_at.ts'
import { type ChainClient, ContractUnresponsiveError } from '../chain/rpc/client.ts'
import type { FirstBlocks } from '../finance/first_blocks.ts'
import { toDatedClient } from '../finance/price/past/dated_client.ts'
import { readStanding } from '../finance/standing.ts'
import { allOrAbort } from '../lib/async/all_or_abort.ts'
import type { Clock } from '../lib/clock.ts'
import { CodedError } from '../lib/error.ts'
import { type FamilyTarget, isNow, type Moment } from './target.ts'

/** How long the word of a single endpoint is remembered: it may be mended. */
const ALONE_MS = 10 * 60_000

/** A block at which a deployment stands. */
interface StandingBlock {
  readonly block: bigint
  /** Monotonic milliseconds; without end if two endpoints agree. */
  readonly untilMs: number
}

/** A contract that was deployed at some block. */
interface DeployedContract {
  /** No events before it; 0 if unknown. */
  readonly startBlock: number
}

/** Finds the block of each chain at a moment, and the deployments that exist at it. */
export type HistoricalTargets<Deployment extends DeployedContract> = ReturnType<
  typeof createHistoricalTargets<Deployment>
>

/**
 * Creates it for a family; errors contain `name`. A deployment exists once `getContract()` has code and its `getters`,
 * call data, return addresses: some contracts are made first and get their parts later.
 */
export function createHistoricalTargets<Deployment extends DeployedContract>(options: {
  readonly name: string
  readonly clock: Clock
  readonly getContract: (deployment: Deployment) => Address
  /** @default none */
  readonly getters?: readonly Hex[]
  /** Absent where an answer must hold all that it rests on. */
  readonly firstBlocks?: FirstBlocks | undefined
  /** True if reading before a deployment exists finds nothing instead of failing. @default {false} */
  readonly canReadBeforeDeployment?: boolean
}) {
  const { name, clock, getContract, getters = [], firstBlocks, canReadBeforeDeployment = false } = options
  const blockResolver = createBlockResolver(clock)
  /**
   * Lowest known block with a deployment, by contract whose first block is unknown. A client that records its reads has
   * a memory of its own, so that its record holds what an answer rests on.
   */
  const lowestBlocks = new WeakMap<ChainClient, Map<Address, StandingBlock>>()

  /** The deployments of a target that exist at its block; all of them at the newest block. */
  async function filterDeployed(
    { client, deployments, block, onAlone }: FamilyTarget<Deployment>,
    signal: AbortSignal,
  ): Promise<readonly Deployment[]> {
    if (block === undefined) return deployments
    // The lens reads the parent block.
    if (block.number === 0n) return []
    const standingBlocks = lowestBlocks.get(client) ?? new Map<Address, StandingBlock>()
    lowestBlocks.set(client, standingBlocks)
    const getStart = (deployment: Deployment): bigint | undefined => {
      if (deployment.startBlock > 0) return BigInt(deployment.startBlock)
      const first = firstBlocks?.get(client.chain.id, toProbe(deployment))
      if (first !== undefined) return first
      const known = standingBlocks.get(getContract(deployment))
      return known !== undefined && known.untilMs > clock.monotonicMs() ? known.block : undefined
    }
    const doubtful = deployments
      .filter((each) => each.startBlock === 0 && !isAtMost(getStart(each), block.number))
      .map(toProbe)
      .filter((each) => firstBlocks?.get(client.chain.id, each) === undefined)
    for (const each of doubtful) firstBlocks?.want(client, each)
    const { standing, isAgreed } = await readStanding({ client, probes: doubtful, block, clock }, signal)
    if (!isAgreed && standing.size < doubtful.length) onAlone?.()
    const untilMs = isAgreed ? Number.POSITIVE_INFINITY : clock.monotonicMs() + ALONE_MS
    for (const each of standing) standingBlocks.set(each, { block: block.number, untilMs })
    return deployments.filter((each) => isAtMost(getStart(each), block.number) || standing.has(getContract(each)))
  }

  function toProbe(deployment: Deployment) {
    return { contract: getContract(deployment), getters }
  }

  async function resolveTarget(
    { client, deployments }: FamilyTarget<Deployment>,
    moment: Moment,
    signal: AbortSignal,
  ): Promise<FamilyTarget<Deployment> | string> {
    const block = await blockResolver.resolveBlock(client, moment, signal)
    if (typeof block === 'string') return block
    const dated = { client: toDatedClient(client), block }
    if (canReadBeforeDeployment && block.number > 0n) return { ...dated, deployments }
    const deployed = await filterDeployed({ ...dated, deployments }, signal)
    if (deployed.length > 0) return { ...dated, deployments: deployed }
    const firstBlock = Math.min(...deployments.map(({ startBlock }) => startBlock))
    const hint = firstBlock > 0 ? `, expected ${firstBlock} or later` : ''
    return `${name} was not deployed on chain ${client.chain.id} (${client.chain.name}) at block ${block.number}${hint}`
  }

  return {
    filterDeployed,
    /**
     * Reads a target. Where a contract does not answer at a past block, its first block may be that of an older part, so
     * endpoints are asked which deployments stand: those that do not take nothing else away, and `read` is called again
     * with the others, if there are any. Throws as `read`; `DisputeError` if endpoints contradict each other.
     */
    async readDeployed<Target extends FamilyTarget<Deployment>, Read>(
      target: Target,
      read: (target: Target) => Promise<Read>,
      signal: AbortSignal,
    ): Promise<Read> {
      try {
        return await read(target)
      } catch (error) {
        const { client, deployments, block, onAlone } = target
        if (block === undefined || !(error instanceof ContractUnresponsiveError)) throw error
        const probes = deployments.map(toProbe)
        const { standing, isAgreed } = await readStanding({ client, probes, block, clock }, signal)
        const deployed = deployments.filter((each) => standing.has(getContract(each)))
        // Where nothing stands, the answer would rest on absence alone.
        if (deployed.length === deployments.length || deployed.length === 0) throw error
        if (!isAgreed) onAlone?.()
        return await read({ ...target, deployments: deployed })
      }
    },
    /**
     * The same targets at the moment, each with its block and the deployments that exist at it; chains without any are
     * left out. Unchanged without a moment. Throws `CodedError` INVALID_PARAMETER if the moment is after the newest
     * block, or before all deployments unless `canReadBeforeDeployment`.
     */
    async resolve(
      targets: readonly FamilyTarget<Deployment>[],
      moment: Moment,
      signal: AbortSignal,
    ): Promise<FamilyTarget<Deployment>[]> {
      if (isNow(moment)) return [...targets]
      const results = await allOrAbort(
        targets.map((target) => (shared: AbortSignal) => resolveTarget(target, moment, shared)),
        signal,
      )
      const resolved = results.filter((each) => typeof each !== 'string')
      const [reason] = results.filter((each) => typeof each === 'string')
      if (resolved.length === 0 && reason !== undefined) throw momentError(moment, reason)
      return resolved
    },
  }
}

function isAtMost(start: bigint | undefined, block: bigint): boolean {
  return start !== undefined && start <= block
}

/** Creates a resolver of moments to blocks, with an empty cache. */
export function createBlockResolver(clock: Clock) {
  const blocks = createBlockFinder(clock)
  return {
    /**
     * The block of a chain at a moment, which must have `at_block` or `at_time`; or the reason why there is none, for
     * `momentError`. Throws as `BlockFinder`.
     */
    async resolveBlock(
      client: ChainClient,
      { at_block, at_time }: Moment,
      signal: AbortSignal,
    ): Promise<PinnedBlock | string> {
      const atSec = at_time?.sec ?? 0
      const chain = `chain ${client.chain.id} (${client.chain.name})`
      try {
        return await (at_block === undefined
          ? blocks.findByTime(client, BigInt(atSec), signal)
          : blocks.findByNumber(client, BigInt(at_block), signal))
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

/** The error for an invalid moment in a request, with the reason. */
export function momentError({ at_block, at_time }: Moment, reason: string): CodedError {
  const [parameter, sent] = at_block === undefined ? ['at_time', at_time?.sent] : ['at_block', at_block]
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${parameter}": ${reason}, got "${sent}"`)
}
