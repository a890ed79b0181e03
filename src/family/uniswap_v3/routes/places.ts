import { type Address, isAddressEqual } from 'viem'
import { CodedError, UnavailableError } from '../../../lib/error.ts'
import { listed } from '../../../lib/text/listed.ts'
import type { BriefPosition, ChainRead, Position } from '../position.ts'
import type { LivesAtHand } from '../read/at_hand.ts'
import type { LifeReader } from '../read/lives.ts'
import type { Place } from '../read/questions.ts'
import type { PositionReader } from '../read/read.ts'

/** Most managers that one error message names; enough for all on the default chains. */
const NAMED_MAX = 24
/** What cannot be decoded now will not be decodable in a second. */
const UNREADABLE_RETRY_SEC = 3_600

/** What the family's endpoints are made from; `chainIds` are all configured chains, with this family or without. */
export interface RoutesOptions {
  readonly chainIds: readonly number[]
  readonly reader: () => PositionReader
  readonly lives: () => LifeReader
  readonly livesAtHand: () => LivesAtHand
}

/** The chains to ask, with only one manager if the caller named it. */
export function placesToAsk(
  { places }: PositionReader,
  { chainId, manager }: { readonly chainId: number | undefined; readonly manager: Address | undefined },
): Place[] {
  if (places.size === 0) {
    throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'No chain with Uniswap V3 positions is configured')
  }
  const chosen = [...places].filter(([id]) => chainId === undefined || id === chainId).map(([, place]) => place)
  if (manager === undefined) return chosen
  const narrowed = chosen
    .map((place) => ({
      ...place,
      deployments: place.deployments.filter((each) => isAddressEqual(each.manager, manager)),
    }))
    .filter(({ deployments }) => deployments.length > 0)
  if (narrowed.length > 0) return narrowed
  const known = chosen.flatMap(({ client, deployments }) =>
    deployments.map((each) => `${each.manager} on chain ${client.chain.id}`),
  )
  const expected =
    known.length === 0 ? 'there is none on that chain' : `expected a configured one (${listed(known, NAMED_MAX)})`
  throw new CodedError('INVALID_PARAMETER', `Cannot read parameter "manager_address": ${expected}, got "${manager}"`)
}

/** Positions of all chains by chain, manager and id, ascending. */
export function positionsOf<Listed extends BriefPosition>(reads: readonly ChainRead<Listed>[]): Listed[] {
  return [...reads].sort((a, b) => a.block.chainId - b.block.chainId).flatMap(({ positions }) => positions)
}

/** The one position of an id. Throws NOT_FOUND without any; for several, the error names the parameter that decides. */
export function onlyPosition(reads: readonly ChainRead[], id: bigint): Position {
  const position = onlyPositionIn(reads, id)
  if (position === undefined) throw new CodedError('NOT_FOUND', `There is no position ${id} on any manager asked`)
  return position
}

/** The same; undefined without any. */
export function onlyPositionIn(reads: readonly ChainRead[], id: bigint): Position | undefined {
  const positions = positionsOf(reads)
  const unreadable = reads.flatMap((read) => read.unreadable)
  const found = [
    ...positions.map(({ chainId, deployment }) => ({ chainId, manager: deployment.manager })),
    ...unreadable,
  ]
  if (found.length > 1) throw ambiguous(found, id)
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
export function ambiguous(
  found: readonly { readonly chainId: number; readonly manager: Address }[],
  id: bigint,
): CodedError {
  const chains = new Set(found.map(({ chainId }) => chainId)).size
  const settles = [...(chains > 1 ? ['"chain_id"'] : []), ...(chains < found.length ? ['"manager_address"'] : [])].join(
    ' and ',
  )
  const places = found.map(({ chainId, manager }) => `chain ${chainId} manager ${manager}`)
  const where = listed(places, NAMED_MAX)
  return new CodedError('MISSING_PARAMETER', `Position ${id} needs parameter ${settles}: it was found on ${where}`)
}
