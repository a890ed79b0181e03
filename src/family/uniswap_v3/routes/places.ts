import { type Address, isAddressEqual } from 'viem'
import type { TimedLives } from '../../../finance/liquidity/lives/timed_lives.ts'
import { CodedError, UnavailableError } from '../../../lib/error.ts'
import { listed } from '../../../lib/text/listed.ts'
import { type Moment, readAt } from '../../place.ts'
import type { UniswapV3LifeQuestion, UniswapV3LifeReader } from '../read/life/lives.ts'
import type { BriefPosition, ChainRead, Position } from '../read/position.ts'
import type { UniswapV3Place } from '../read/questions.ts'
import type { PositionReader } from '../read/read.ts'

/** Most managers that one error message names; enough for all on the default chains. */
const NAMED_MAX = 24
/** What cannot be decoded now will not be decodable in a second. */
const UNREADABLE_RETRY_SEC = 3_600

/** What the family's endpoints are made from; `chainIds` are all configured chains, with this family or without. */
export interface RoutesOptions {
  readonly chainIds: readonly number[]
  readonly reader: () => PositionReader
  readonly lives: () => UniswapV3LifeReader
  readonly timedLives: () => TimedLives<UniswapV3LifeQuestion>
}

/** What a request says about where its positions are, and when. */
export interface AskedPlaces extends Moment {
  readonly chain_id?: number | undefined
  readonly manager_address?: Address | undefined
}

/** The positions of an id at a moment, and the places at it. Throws as `PositionReader.readOne` and `readAt`. */
export async function readOneAt(
  reader: PositionReader,
  asked: { readonly id: bigint; readonly places: readonly UniswapV3Place[]; readonly moment: Moment },
  signal: AbortSignal,
) {
  return await readAt({ ...asked, past: reader.past, signal }, async (places) => ({
    places,
    reads: await reader.readOne(asked.id, { places, signal }),
  }))
}

/** The chains to ask, with only one manager if the caller named it. */
export function placesToAsk(
  { places }: PositionReader,
  { chain_id: chainId, manager_address: manager }: AskedPlaces,
): UniswapV3Place[] {
  if (places.size === 0) {
    throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'No chain with Uniswap V3 positions is configured')
  }
  const chosen = [...places].filter(([id]) => chainId === undefined || id === chainId).map(([, place]) => place)
  if (manager === undefined) return chosen
  const narrowed = chosen.flatMap((place) => {
    const deployments = place.deployments.filter((each) => isAddressEqual(each.manager, manager))
    return deployments.length > 0 ? [{ ...place, deployments }] : []
  })
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

/** The one position of an id; undefined without any. For several, the error names the parameter that decides. */
export function onlyPosition(reads: readonly ChainRead[], id: bigint): Position | undefined {
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
  const needed = [chains > 1 && '"chain_id"', chains < found.length && '"manager_address"']
    .filter(Boolean)
    .join(' and ')
  const places = found.map(({ chainId, manager }) => `chain ${chainId} manager ${manager}`)
  const where = listed(places, NAMED_MAX)
  return new CodedError('MISSING_PARAMETER', `Position ${id} needs parameter ${needed}: it was found on ${where}`)
}
