import type { Block, PinnedBlock } from '../chain/block.ts'
import type { WithExpiry } from '../chain/block_cache.ts'
import { ContractUnresponsiveError, type ReadOptions } from '../chain/rpc/client.ts'
import { SOLANA_CHAIN_ID } from '../chain/solana/client.ts'
import type { FinanceClient } from '../finance/chain.ts'
import type { SentTime } from '../http/request/input.ts'
import { CodedError, PendingError, UnavailableError } from '../lib/error.ts'

/** Where a chain's positions are read. */
export interface FamilyTarget<Deployment> {
  readonly client: FinanceClient
  readonly deployments: readonly Deployment[]
  /** The block to read at; absent: the newest. */
  readonly block?: PinnedBlock
  /** @default {'caller'} */
  readonly priority?: 'background'
  /** True if light questions may leave with those of other readings. */
  readonly together?: true
}

/** What a place says about the reading itself. */
export function toReadOptions(place: FamilyTarget<unknown>): Pick<ReadOptions, 'past' | 'priority' | 'together'> {
  const { block, priority, together } = place
  return {
    ...(block === undefined ? {} : { past: block }),
    ...(priority === undefined ? {} : { priority }),
    ...(together === undefined ? {} : { together }),
  }
}

/** Chains that are configured and have the family, by id. */
export function createTargets<Deployment>(
  clients: ReadonlyMap<number, FinanceClient>,
  deployments: ReadonlyMap<number, readonly Deployment[]>,
): ReadonlyMap<number, FamilyTarget<Deployment>> {
  const places = new Map<number, FamilyTarget<Deployment>>()
  for (const [id, client] of clients) {
    const here = deployments.get(id) ?? []
    if (here.length > 0) places.set(id, { client, deployments: here })
  }
  return places
}

/**
 * The places to ask, on the chain that was named or on all. Throws `CodedError` API_ENDPOINT_NOT_CONFIGURED if no chain
 * has what is read.
 */
export function filterTargets<Place>(
  places: ReadonlyMap<number, Place>,
  { chainId, what }: { readonly chainId: number | undefined; readonly what: string },
): Place[] {
  if (places.size === 0) throw notConfiguredError(what)
  return [...places].filter(([id]) => chainId === undefined || id === chainId).map(([, place]) => place)
}

/** The error if none of the chains that are asked has what is read: `Aave V3`. */
export function notConfiguredError(what: string): CodedError {
  return new CodedError('API_ENDPOINT_NOT_CONFIGURED', `No chain with ${what} is configured`)
}

/** The moment that an answer is about; without either the newest block. Never both. */
export interface Moment {
  /** A height, on the one chain that is asked. */
  readonly at_block?: number | undefined
  /** The last block at or before it, on each chain. */
  readonly at_time?: SentTime | undefined
}

/** True if a question is about the newest block. */
export function isNow({ at_block, at_time }: Moment): boolean {
  return at_block === undefined && at_time === undefined
}

/**
 * Reads places as they are now or were at a past moment. If one of several cannot be read, the error names the parameter
 * that leaves it out. If only one chain was asked, the error stays as it is. What does not answer at a past block never
 * will: that is a mistake in the request, `CodedError` INVALID_PARAMETER. Throws as `read` and `PastPlaces.at`.
 */
export async function readAt<Place extends Pick<FamilyTarget<unknown>, 'block'>, Read>(
  asked: {
    readonly places: readonly Place[]
    readonly moment: Moment
    /** Finds the places at the moment. */
    readonly past: {
      at(places: readonly Place[], moment: Moment, signal: AbortSignal): Promise<readonly Place[]>
    }
    readonly signal: AbortSignal
  },
  read: (places: readonly Place[]) => Promise<Read>,
): Promise<Read> {
  const { moment, past, signal } = asked
  let { places } = asked
  try {
    places = await past.at(places, moment, signal)
    return await read(places)
  } catch (error) {
    throw error instanceof UnavailableError ? leavingOut(error, places) : error
  }
}

function leavingOut(error: UnavailableError, places: readonly Pick<FamilyTarget<unknown>, 'block'>[]): CodedError {
  const { message, retryAfterSec, cause } = error
  const isSilent = cause instanceof ContractUnresponsiveError
  if (isSilent && places.some(({ block }) => block !== undefined)) {
    return new CodedError('INVALID_PARAMETER', `Cannot read that block: ${cause.message} there`, { cause: error })
  }
  const parameters = [isSilent ? cause.leftOutBy : undefined, places.length > 1 ? 'chain_id' : undefined]
  const named = parameters.flatMap((parameter) => (parameter === undefined ? [] : `"${parameter}"`)).join(' or ')
  if (named === '') return error
  const said = `${message}: leave it out with the ${named} parameter${isSilent ? '' : ' or try again'}`
  if (error instanceof PendingError)
    return new PendingError(said, { cause: error, retryAfterSec, progress: error.progress })
  return new UnavailableError(said, { cause: error, retryAfterSec })
}

/** The block of each chain's read, for `X-As-Of`, by chain. */
export function toAsOf(reads: readonly { readonly block: Pick<Block, 'chainId' | 'number'> }[]) {
  return reads
    .map(({ block }) => ({ chainId: block.chainId, blockNumber: block.number }))
    .sort((a, b) => a.chainId - b.chainId)
}

/** How much longer than its reader a request about Solana may take, milliseconds, so that the reader's error is told. */
export const SPARE_MS = 500

/** The slot of an answer about Solana, for `X-As-Of`. */
export function toAsOfSlot(slot: bigint) {
  return [{ chainId: SOLANA_CHAIN_ID, blockNumber: slot }]
}

/** What reads Solana, for `name`. Throws `CodedError` API_ENDPOINT_NOT_CONFIGURED without it. */
export function requireReader<Reader>(reader: Reader | undefined, name: string): Reader {
  if (reader !== undefined) return reader
  throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', `Cannot read ${name}: no Solana endpoint is configured`)
}

/** Until when all these readings are of the newest blocks, milliseconds of the monotonic clock; 0 without any. */
export function getEarliestExpiryMs(reads: readonly WithExpiry<unknown>[]): number {
  return reads.length === 0 ? 0 : Math.min(...reads.map(({ untilMs }) => untilMs))
}
