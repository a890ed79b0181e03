import type { Block, PinnedBlock } from '../chain/block.ts'
import type { Fresh } from '../chain/block_cache.ts'
import { type ReadOptions, SilentError } from '../chain/rpc/client.ts'
import type { FinanceClient } from '../finance/chain.ts'
import { CodedError, UnavailableError } from '../lib/error.ts'

/** Where a chain's positions are read. */
export interface FamilyPlace<Deployment> {
  readonly client: FinanceClient
  readonly deployments: readonly Deployment[]
  /** The block to read at; absent: the newest. */
  readonly block?: PinnedBlock
  /** @default {'caller'} */
  readonly priority?: 'background'
}

/** What a place says about the reading itself. */
export function readingOf({ block, priority }: FamilyPlace<unknown>): Pick<ReadOptions, 'past' | 'priority'> {
  return {
    ...(block === undefined ? {} : { past: block }),
    ...(priority === undefined ? {} : { priority }),
  }
}

/** Chains that are configured and have the family, by id. */
export function placesOf<Deployment>(
  clients: ReadonlyMap<number, FinanceClient>,
  deployments: ReadonlyMap<number, readonly Deployment[]>,
): ReadonlyMap<number, FamilyPlace<Deployment>> {
  const places = new Map<number, FamilyPlace<Deployment>>()
  for (const [id, client] of clients) {
    const here = deployments.get(id) ?? []
    if (here.length > 0) places.set(id, { client, deployments: here })
  }
  return places
}

/**
 * The result of reading chains. If one of several cannot be read, the error names the parameter that leaves it out. If
 * only one chain was asked, the error stays as it is. What does not answer at a past block never will: that is a mistake
 * in the request, `CodedError` INVALID_PARAMETER.
 */
export async function leavingOut<Read>(
  places: readonly Pick<FamilyPlace<unknown>, 'block'>[],
  reading: Promise<Read>,
): Promise<Read> {
  try {
    return await reading
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    const { message, retryAfterSec, cause } = error
    const isSilent = cause instanceof SilentError
    if (isSilent && places.some(({ block }) => block !== undefined)) {
      throw new CodedError('INVALID_PARAMETER', `Cannot read that block: ${cause.message} there`, { cause: error })
    }
    const parameters = [isSilent ? cause.leftOutBy : undefined, places.length > 1 ? 'chain_id' : undefined]
    const named = parameters.flatMap((parameter) => (parameter === undefined ? [] : `"${parameter}"`)).join(' or ')
    if (named === '') throw error
    throw new UnavailableError(
      `${message}: leave it out with the ${named} parameter${isSilent ? '' : ' or try again'}`,
      { cause: error, retryAfterSec },
    )
  }
}

/** The block of each chain's read, for `X-As-Of`, by chain. */
export function asOf(reads: readonly { readonly block: Block }[]) {
  return reads
    .map(({ block }) => ({ chainId: block.chainId, blockNumber: block.number }))
    .sort((a, b) => a.chainId - b.chainId)
}

/** Until when all these readings are of the newest blocks, milliseconds of the monotonic clock; 0 without any. */
export function untilNext(reads: readonly Fresh<unknown>[]): number {
  return reads.length === 0 ? 0 : Math.min(...reads.map(({ untilMs }) => untilMs))
}
