import type { Block, PinnedBlock } from '../chain/block.ts'
import type { WithExpiry } from '../chain/block_cache.ts'
import { ContractUnresponsiveError, type ReadOptions } from '../chain/rpc/client.ts'
import { SOLANA_CHAIN_ID } from '../chain/solana/client.ts'
import type { FinanceClient } from '../finance/chain.ts'
import type { SentTime } from '../http/request/input.ts'
import { CodedError, PendingError, UnavailableError } from '../lib/error.ts'

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
  /** Called if the word of one endpoint alone leaves a deployment out, for what is stored with its witnesses. */
  readonly onAlone?: (() => void) | undefined
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

/** The moment of a request: at most one field is set; the newest block if neither is. */
export interface Moment {
  /** A height, on the one requested chain. */
  readonly at_block?: number | undefined
  /** The last block at or before it, on each chain. */
  readonly at_time?: SentTime | undefined
}

/** True if a request is about the newest block. */
export function isNow({ at_block, at_time }: Moment): boolean {
  return at_block === undefined && at_time === undefined
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
      resolve(targets: readonly Target[], moment: Moment, signal: AbortSignal): Promise<readonly Target[]>
    }
    readonly signal: AbortSignal
  },
  read: (targets: readonly Target[]) => Promise<Read>,
): Promise<Read> {
  const { moment, past, signal } = options
  let { targets } = options
  try {
    targets = await past.resolve(targets, moment, signal)
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
export function toAsOf(reads: readonly { readonly block: Pick<Block, 'chainId' | 'number'> }[]) {
  return reads
    .map(({ block }) => ({ chainId: block.chainId, blockNumber: block.number }))
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
