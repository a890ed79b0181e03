import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import { CodedError, UnavailableError } from '../../../lib/error.ts'
import { formatList } from '../../../lib/text/text_format.ts'
import type { ClassifiedPositions } from './classify.ts'

/** Most managers that one error message names; enough for all on the default chains. */
const NAMED_MAX = 24
/** Decoding does not start to work within seconds, so retry rarely. */
const UNREADABLE_RETRY_SEC = 3_600

/** The read of each chain. */
type Reads<Listed> = readonly (ClassifiedPositions<Listed> & { readonly block: Pick<Block, 'chainId'> })[]

/** The chain and manager of a position. */
interface PositionLocation {
  readonly chainId: number
  readonly manager: Address
}

/** A position that is a token of a manager. */
interface ManagedPosition<Deployment> {
  readonly chainId: number
  readonly deployment: Deployment
}

/** A wallet has more positions on one chain than a list may hold. */
export class ListTooLongError extends Error {
  override readonly name = 'ListTooLongError'

  constructor(count: number | bigint, { id, name }: FinanceChain, limit: number) {
    super(`Cannot list ${count} positions on chain ${id} (${name}): at most ${limit} can be listed`)
  }
}

/** Flattens the positions of all chains, sorted by chain, each in the order of its read. */
export function flattenPositions<Listed>(reads: Reads<Listed>): Listed[] {
  return [...reads].sort((a, b) => a.block.chainId - b.block.chainId).flatMap(({ positions }) => positions)
}

/**
 * Selects the one position of an id; undefined if there is none. Throws `CodedError` MISSING_PARAMETER for several,
 * naming the parameter that decides, and `UnavailableError` for one that cannot be decoded.
 */
export function selectOnlyPosition<Deployment, Listed extends ManagedPosition<Deployment>>(
  reads: Reads<Listed>,
  { id, getManager }: { readonly id: bigint; readonly getManager: (deployment: Deployment) => Address },
): Listed | undefined {
  const positions = flattenPositions(reads)
  const unreadable = reads.flatMap((read) => read.unreadable)
  const locations = positions.map(({ chainId, deployment }) => ({ chainId, manager: getManager(deployment) }))
  const matches = [...locations, ...unreadable]
  if (matches.length > 1) throw ambiguousPositionError(matches, id)
  const [position] = positions
  if (position !== undefined) return position
  const [broken] = unreadable
  if (broken === undefined) return undefined
  throw new UnavailableError(
    `Cannot decode position ${id} of manager ${broken.manager} on chain ${broken.chainId} because ${broken.reason}`,
    { retryAfterSec: UNREADABLE_RETRY_SEC },
  )
}

/** The error for several positions of an id; it names the parameter that decides. */
export function ambiguousPositionError(matches: readonly PositionLocation[], id: bigint): CodedError {
  const chains = new Set(matches.map(({ chainId }) => chainId)).size
  const needed = [chains > 1 && '"chain_id"', chains < matches.length && '"manager_address"']
    .filter(Boolean)
    .join(' and ')
  const names = matches.map(({ chainId, manager }) => `chain ${chainId} manager ${manager}`)
  const where = formatList(names, NAMED_MAX)
  return new CodedError('MISSING_PARAMETER', `Position ${id} needs parameter ${needed}: it was found on ${where}`)
}

/** The error for a manager that is not configured; it names the configured ones. */
export function unknownManagerError(manager: Address, configured: readonly PositionLocation[]): CodedError {
  const names = configured.map((each) => `${each.manager} on chain ${each.chainId}`)
  const expected =
    names.length === 0 ? 'there is none on that chain' : `expected a configured one (${formatList(names, NAMED_MAX)})`
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "manager_address": ${expected}, got "${manager}"`)
}
