import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { CodedError, UnavailableError } from '../../../lib/error.ts'
import { formatList } from '../../../lib/text/format_list.ts'
import type { FinanceChain } from '../../chain.ts'
import type { ClassifiedPositions } from './classify.ts'

/** Most places that one error message names; enough for all managers on the default chains. */
const NAMED_MAX = 24
/** What cannot be decoded now will not be decodable in a second. */
const UNREADABLE_RETRY_SEC = 3_600

/** What was read of each chain. */
type Reads<Listed> = readonly (ClassifiedPositions<Listed> & { readonly block: Pick<Block, 'chainId'> })[]

/** Where a position of an id was found. */
interface FoundPlace {
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

  constructor(count: number | bigint, { id, name }: FinanceChain, most: number) {
    super(`Cannot list ${count} positions on chain ${id} (${name}): at most ${most} can be listed`)
  }
}

/** Positions of all chains by chain, and of each as they were read. */
export function flattenPositions<Listed>(reads: Reads<Listed>): Listed[] {
  return [...reads].sort((a, b) => a.block.chainId - b.block.chainId).flatMap(({ positions }) => positions)
}

/**
 * The one position of an id; undefined without any. Throws `CodedError` MISSING_PARAMETER for several, naming the
 * parameter that decides, and `UnavailableError` for one that cannot be decoded.
 */
export function selectOnlyPosition<Deployment, Listed extends ManagedPosition<Deployment>>(
  reads: Reads<Listed>,
  { id, managerOf }: { readonly id: bigint; readonly managerOf: (deployment: Deployment) => Address },
): Listed | undefined {
  const positions = flattenPositions(reads)
  const unreadable = reads.flatMap((read) => read.unreadable)
  const places = positions.map(({ chainId, deployment }) => ({ chainId, manager: managerOf(deployment) }))
  const found = [...places, ...unreadable]
  if (found.length > 1) throw ambiguousPositionError(found, id)
  const [position] = positions
  if (position !== undefined) return position
  const [broken] = unreadable
  if (broken === undefined) return undefined
  throw new UnavailableError(
    `Cannot decode position ${id} of manager ${broken.manager} on chain ${broken.chainId} because ${broken.because}`,
    { retryAfterSec: UNREADABLE_RETRY_SEC },
  )
}

/** Several positions of an id; the error names the parameter that decides. */
export function ambiguousPositionError(found: readonly FoundPlace[], id: bigint): CodedError {
  const chains = new Set(found.map(({ chainId }) => chainId)).size
  const needed = [chains > 1 && '"chain_id"', chains < found.length && '"manager_address"']
    .filter(Boolean)
    .join(' and ')
  const places = found.map(({ chainId, manager }) => `chain ${chainId} manager ${manager}`)
  const where = formatList(places, NAMED_MAX)
  return new CodedError('MISSING_PARAMETER', `Position ${id} needs parameter ${needed}: it was found on ${where}`)
}

/** A manager that is none of those configured, as an error that names them. */
export function unknownManagerError(manager: Address, known: readonly FoundPlace[]): CodedError {
  const names = known.map((each) => `${each.manager} on chain ${each.chainId}`)
  const expected =
    names.length === 0 ? 'there is none on that chain' : `expected a configured one (${formatList(names, NAMED_MAX)})`
  return new CodedError('INVALID_PARAMETER', `Cannot read parameter "manager_address": ${expected}, got "${manager}"`)
}
