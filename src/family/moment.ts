import type { Address, Hex } from 'viem'
import type { Block, PinnedBlock } from '../chain/block.ts'
import type { WithExpiry } from '../chain/block_cache.ts'
import { createBlockFinder, NoBlockError } from '../chain/past/block_at.ts'
import { type ChainClient, ContractUnresponsiveError, type ReadOptions } from '../chain/rpc/client.ts'
import { SOLANA_CHAIN_ID } from '../chain/solana/client.ts'
import type { FinanceClient } from '../finance/chain.ts'
import { type FirstBlocks, readStanding } from '../finance/first_blocks.ts'
import { toDatedClient } from '../finance/price/past/dated_client.ts'
import type { SentTime } from '../http/request/input.ts'
import { allOrAbort } from '../lib/async/parallel.ts'
import { noteUnwitnessed, type Work } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'
import { CodedError, PendingError, UnavailableError } from '../lib/error.ts'
import { changedListError, type PinnedRead } from '../lib/pinned_list.ts'

/** Client, deployments and block for reading a chain's positions. */
export interface FamilyTarget<Deployment> {
  readonly client: FinanceClient
  readonly deployments: readonly Deployment[]
  /** The block to read at; absent: the newest. */
  readonly block?: PinnedBlock
  /** @default {'caller'} */
  readonly priority?: 'background'
  /** True if light calls may be bundled with those of other readings. */
  readonly isBundled?: true
}

/** The read options of a target. */
export function toReadOptions(target: FamilyTarget<unknown>): Pick<ReadOptions, 'past' | 'priority' | 'isBundled'> {
  const { block, priority, isBundled } = target
  return {
    ...(block === undefined ? {} : { past: block }),
    ...(priority === undefined ? {} : { priority }),
    ...(isBundled === undefined ? {} : { isBundled }),
  }
}

/** Targets on the configured chains that have the family, by chain id. */
export function createTargets<Deployment>(
  clients: ReadonlyMap<number, FinanceClient>,
  deployments: ReadonlyMap<number, readonly Deployment[]>,
): ReadonlyMap<number, FamilyTarget<Deployment>> {
  const targets = new Map<number, FamilyTarget<Deployment>>()
  for (const [id, client] of clients) {
    const chainDeployments = deployments.get(id) ?? []
    if (chainDeployments.length > 0) targets.set(id, { client, deployments: chainDeployments })
  }
  return targets
}

/**
 * Targets on the named chain, or all if none is named. Throws `CodedError` API_ENDPOINT_NOT_CONFIGURED if no chain has
 * `what`.
 */
export function filterTargets<Target>(
  targets: ReadonlyMap<number, Target>,
  { chainId, what }: { readonly chainId: number | undefined; readonly what: string },
): Target[] {
  if (targets.size === 0) throw notConfiguredError(what)
  return [...targets].filter(([id]) => chainId === undefined || id === chainId).map(([, target]) => target)
}

/** The error if none of the requested chains has `what`: `Aave V3`. */
export function notConfiguredError(what: string): CodedError {
  return new CodedError('API_ENDPOINT_NOT_CONFIGURED', `No chain with ${what} is configured`)
}

/** The moment of a request: at most one of block and time is set; the newest block if nothing is. */
export interface Moment {
  /** A height, on the one requested chain. */
  readonly at_block?: number | undefined
  /** The last block at or before it, on each chain. */
  readonly at_time?: SentTime | undefined
  /** Blocks at which a list began that a cursor continues: each chain is read at its own, if nothing else is set. */
  readonly reads?: readonly PinnedRead[] | undefined
}

/** True if a request is about the newest block. */
export function isNow({ at_block, at_time, reads }: Moment): boolean {
  return at_block === undefined && at_time === undefined && reads === undefined
}

/** Returns the client for a moment: a list that goes on has the heartbeats with which it began. */
export function toClientAt(client: FinanceClient, { at_block, at_time }: Moment): FinanceClient {
  return at_block === undefined && at_time === undefined ? client : toDatedClient(client)
}

/**
 * Reads targets now or at a past moment. If one of several targets cannot be read, the error names the parameter that
 * excludes it; with one target the error is unchanged. A contract that does not answer at a past block never will: that
 * is an error in the request, `CodedError` INVALID_PARAMETER. Throws as `read` and `HistoricalTargets.resolve`.
 */
export async function readAt<Target extends Pick<FamilyTarget<unknown>, 'block'>, Read>(
  options: {
    readonly targets: readonly Target[]
    readonly moment: Moment
    /** Resolves the targets to their blocks at the moment. */
    readonly past: {
      resolve(targets: readonly Target[], moment: Moment, work: Work): Promise<readonly Target[]>
    }
    readonly work: Work
  },
  read: (targets: readonly Target[]) => Promise<Read>,
): Promise<Read> {
  const { moment, past, work } = options
  let { targets } = options
  try {
    targets = await past.resolve(targets, moment, work)
    return await read(targets)
  } catch (error) {
    throw error instanceof UnavailableError ? addLeaveOutHint(error, targets) : error
  }
}

function addLeaveOutHint(
  error: UnavailableError,
  targets: readonly Pick<FamilyTarget<unknown>, 'block'>[],
): CodedError {
  const { message, retryAfterSec, cause } = error
  const isSilent = cause instanceof ContractUnresponsiveError
  if (isSilent && targets.some(({ block }) => block !== undefined)) {
    return new CodedError('INVALID_PARAMETER', `Cannot read that block: ${cause.message} there`, { cause: error })
  }
  const parameters = [isSilent ? cause.exclusionParameter : undefined, targets.length > 1 ? 'chain_id' : undefined]
  const parameterNames = parameters
    .flatMap((parameter) => (parameter === undefined ? [] : `"${parameter}"`))
    .join(' or ')
  if (parameterNames === '') return error
  const advice = `${message}: leave it out with the ${parameterNames} parameter${isSilent ? '' : ' or try again'}`
  if (error instanceof PendingError)
    return new PendingError(advice, { cause: error, retryAfterSec, progress: error.progress })
  return new UnavailableError(advice, { cause: error, retryAfterSec })
}

/** The block of each chain's read, for `X-As-Of`, by chain. */
export function toAsOf(
  reads: readonly { readonly block: Pick<Block, 'chainId' | 'number'> & Partial<Pick<Block, 'timestampSec'>> }[],
) {
  return reads
    .map(({ block: { chainId, number, timestampSec } }) => ({
      chainId,
      blockNumber: number,
      ...(timestampSec !== undefined && { timestampSec }),
    }))
    .sort((a, b) => a.chainId - b.chainId)
}

/** Extra time of a Solana request beyond its reader's budget, milliseconds, so that the reader's error is returned. */
export const SPARE_MS = 500

/** The slot of an answer about Solana, for `X-As-Of`. */
export function toAsOfSlot(slot: bigint) {
  return [{ chainId: SOLANA_CHAIN_ID, blockNumber: slot }]
}

/** The Solana reader, if there is one. Throws `CodedError` API_ENDPOINT_NOT_CONFIGURED naming `name` otherwise. */
export function requireReader<Reader>(reader: Reader | undefined, name: string): Reader {
  if (reader !== undefined) return reader
  throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', `Cannot read ${name}: no Solana endpoint is configured`)
}

/** Earliest expiry of these reads, monotonic milliseconds; 0 if empty. */
export function getEarliestExpiryMs(reads: readonly WithExpiry<unknown>[]): number {
  return reads.length === 0 ? 0 : Math.min(...reads.map(({ untilMs }) => untilMs))
}

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

  /**
   * The deployments of a target that exist at its block; all of them at the newest block. Notes if the word of one
   * endpoint leaves one out.
   */
  async function filterDeployed(
    { client, deployments, block }: FamilyTarget<Deployment>,
    work: Work,
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
    const { standing, isAgreed } = await readStanding({ client, probes: doubtful, block, clock }, work)
    if (!isAgreed && standing.size < doubtful.length) noteUnwitnessed(work, [client.chain.id])
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
    work: Work,
  ): Promise<FamilyTarget<Deployment> | string> {
    const block = await blockResolver.resolveBlock(client, moment, work)
    if (typeof block === 'string') return block
    const dated = { client: toClientAt(client, moment), block }
    if (canReadBeforeDeployment && block.number > 0n) return { ...dated, deployments }
    const deployed = await filterDeployed({ ...dated, deployments }, work)
    if (deployed.length > 0) return { ...dated, deployments: deployed }
    const firstBlock = Math.min(...deployments.map(({ startBlock }) => startBlock))
    const hint = firstBlock > 0 ? `, expected ${firstBlock} or later` : ''
    return `${name} was not deployed on chain ${client.chain.id} (${client.chain.name}) at block ${block.number}${hint}`
  }

  return {
    filterDeployed,
    /**
     * Reads a target. Where a contract does not answer at a past block, its first block may be that of an older part,
     * so endpoints are asked which deployments stand: those that do not take nothing else away, and `read` is called
     * again with the others, if there are any. Throws as `read`; `ChainUnavailableError` (disputed) if endpoints
     * contradict each other.
     */
    async readDeployed<Target extends FamilyTarget<Deployment>, Read>(
      target: Target,
      read: (target: Target) => Promise<Read>,
      work: Work,
    ): Promise<Read> {
      try {
        return await read(target)
      } catch (error) {
        const { client, deployments, block } = target
        if (block === undefined || !(error instanceof ContractUnresponsiveError)) throw error
        const probes = deployments.map(toProbe)
        const { standing, isAgreed } = await readStanding({ client, probes, block, clock }, work)
        const deployed = deployments.filter((each) => standing.has(getContract(each)))
        // Where nothing stands, the answer would rest on absence alone.
        if (deployed.length === deployments.length || deployed.length === 0) throw error
        if (!isAgreed) noteUnwitnessed(work, [client.chain.id])
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
      work: Work,
    ): Promise<FamilyTarget<Deployment>[]> {
      if (isNow(moment)) return [...targets]
      const results = await allOrAbort(
        targets.map((target) => (shared: Work) => resolveTarget(target, moment, shared)),
        work,
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
      { at_block, at_time, reads }: Moment,
      work: Work,
    ): Promise<PinnedBlock | string> {
      const atSec = at_time?.sec ?? 0
      const chain = `chain ${client.chain.id} (${client.chain.name})`
      const began = reads?.find(({ chainId }) => chainId === client.chain.id)
      const number = at_block ?? (at_time === undefined ? began?.number : undefined)
      if (number === undefined && at_time === undefined) return `the list began without ${chain}`
      try {
        const block = await (number === undefined
          ? blocks.findByTime(client, BigInt(atSec), work)
          : blocks.findByNumber(client, BigInt(number), work))
        if (began !== undefined && !matchesBegin(began, block)) throw changedListError()
        return block
      } catch (error) {
        if (!(error instanceof NoBlockError)) throw error
        const { nearest } = error
        if (number !== undefined) return `expected at most ${nearest.number}, the newest block of ${chain}`
        if (nearest.timestampSec < atSec) return 'expected no time in the future'
        return `expected a time from ${nearest.timestampSec} on, when ${chain} began`
      }
    },
  }
}

/** False if the block at which a list began was replaced. */
function matchesBegin({ number, timestampSec }: PinnedRead, block: PinnedBlock): boolean {
  return Number(block.number) === number && (timestampSec ?? Number(block.timestampSec)) === Number(block.timestampSec)
}

/** The error for an invalid moment in a request, with the reason. */
export function momentError({ at_block, at_time, reads }: Moment, reason: string): CodedError {
  if (reads !== undefined && at_block === undefined && at_time === undefined) return changedListError()
  const [parameter, sent] = at_block === undefined ? ['at_time', at_time?.sent] : ['at_block', at_block]
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "${parameter}": ${reason}, got "${sent}"`)
}
