import * as v from 'valibot'
import { type Address, isAddressEqual } from 'viem'
import {
  chainIdIn,
  choice,
  evmAddress,
  flag,
  limit,
  moment,
  momentRule,
  page,
  tokenId,
} from '../../http/request/input.ts'
import { pageOf, pagination } from '../../http/request/page.ts'
import { type ReadContext, type Route, route } from '../../http/route.ts'
import { CodedError, UnavailableError } from '../../lib/error.ts'
import { listed } from '../../lib/text/listed.ts'
import { asOf, leavingOut } from '../place.ts'
import type { BriefPosition, ChainRead, Position, SpamPosition } from './position.ts'
import { presentPosition, presentSpam } from './present.ts'
import { ListTooLongError, type Place } from './read/questions.ts'
import type { PositionReader } from './read/read.ts'
import { listOutput, positionOutput } from './schema.ts'

/** Credits of one position: full, active, closed. */
const CREDITS_FULL = 15
const CREDITS_ACTIVE = 2
const CREDITS_INACTIVE = 1
/** Most spam positions that an answer explains; more would not help. */
const SPAMS_SHOWN_MAX = 1_000
/** Most managers that one error message names; enough for all on the default chains. */
const NAMED_MAX = 24
/** What cannot be decoded now will not be decodable in a second. */
const UNREADABLE_RETRY_SEC = 3_600

/** The family's endpoints over a reader; `chainIds` are all configured chains, with this family or without. */
export function createRoutes(options: RoutesOptions): readonly Route[] {
  return [listRoute(options), positionRoute(options)]
}

interface RoutesOptions {
  readonly chainIds: readonly number[]
  readonly reader: () => PositionReader
}

function listRoute({ reader: connected, chainIds }: RoutesOptions): Route {
  const input = v.pipe(
    v.object({
      wallet: evmAddress,
      status: v.optional(choice(['inactive'])),
      full: v.optional(flag, 'false'),
      chain_id: v.optional(chainIdIn(chainIds)),
      ...moment,
      page,
      limit,
    }),
    momentRule(),
    v.check(
      ({ status, full }) => !(full && status === 'inactive'),
      'Cannot read parameter "full": expected it without "status", the detailed payload is of active positions only',
    ),
  )
  return route({
    method: 'GET',
    path: '/v1/positions/uniswap-v3',
    summary: 'Lists the liquidity positions of a wallet, active ones unless told otherwise.',
    input,
    output: listOutput,
    errors: [503],
    price: '2 credits per position on the page; 1 with status=inactive, 15 with full=true.',
    creditsMin: () => 0,
    async read({ wallet, status, chain_id, page, limit, ...at }, { signal }) {
      const reader = connected()
      const asked = placesToAsk(reader, { chainId: chain_id, manager: undefined })
      const places = await leavingOut(asked, reader.past.at(asked, at, signal))
      const reads = await readWallet(reader, { wallet, places, signal })
      const matching = positionsOf(reads).filter(({ liquidity }) => liquidity > 0n === (status === undefined))
      const positions = pageOf(matching, { page, limit })
      const completed = await leavingOut(places, reader.complete(wallet, { reads, positions, signal }))
      return { reads, matching: matching.length, items: completed.positions, unreadable: completed.unreadable.length }
    },
    credits: ({ items }, { status, full }) =>
      items.length * (full ? CREDITS_FULL : status === undefined ? CREDITS_ACTIVE : CREDITS_INACTIVE),
    present: ({ reads, matching, items, unreadable }, { full, page, limit }, { url }) => ({
      data: items.map((position) => presentPosition(position, { full, sqrtPrice: false })),
      pagination: pagination({ page, limit, total: matching, url }),
      counts: countsOf(reads, { filtered: matching, unreadable }),
      asOf: asOf(reads),
    }),
  })
}

function positionRoute({ reader: connected, chainIds }: RoutesOptions): Route {
  const input = v.pipe(
    v.object({
      id: tokenId,
      chain_id: v.optional(chainIdIn(chainIds)),
      manager_address: v.optional(evmAddress),
      full: v.optional(flag, 'false'),
      ...moment,
    }),
    momentRule(),
  )
  return route({
    method: 'GET',
    path: '/v1/positions/uniswap-v3/:id',
    summary: 'Reads the on-chain state of one liquidity position.',
    input,
    output: positionOutput,
    errors: [404, 503],
    price: '2 credits; 15 with full=true.',
    creditsMin: ({ full }) => (full ? CREDITS_FULL : CREDITS_ACTIVE),
    async read({ id, chain_id, manager_address, ...at }, { signal }) {
      const reader = connected()
      const asked = placesToAsk(reader, { chainId: chain_id, manager: manager_address })
      const places = await leavingOut(asked, reader.past.at(asked, at, signal))
      const reads = await leavingOut(places, reader.readOne(id, { places, signal }))
      return { position: onlyPosition(reads, id), reads }
    },
    credits: (_, { full }) => (full ? CREDITS_FULL : CREDITS_ACTIVE),
    present: ({ position, reads }, { full }) => ({
      data: presentPosition(position, { full, sqrtPrice: true }),
      asOf: asOf(reads.filter(({ block }) => block.chainId === position.chainId)),
    }),
  })
}

async function readWallet(
  reader: PositionReader,
  request: { readonly wallet: Address; readonly places: readonly Place[]; readonly signal: ReadContext['signal'] },
): Promise<ChainRead<BriefPosition>[]> {
  const { wallet, places, signal } = request
  try {
    return await leavingOut(places, reader.readWallet(wallet, { places, signal }))
  } catch (error) {
    if (!(error instanceof ListTooLongError)) throw error
    const advice = places.length > 1 ? ': leave the chain out with the "chain_id" parameter' : ''
    throw new CodedError('INVALID_PARAMETER', `${error.message}${advice}`, { cause: error })
  }
}

/** The chains to ask, with only one manager if the caller named it. */
function placesToAsk(
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

/** By chain, manager and id, ascending. */
function positionsOf<Listed extends BriefPosition>(reads: readonly ChainRead<Listed>[]): Listed[] {
  return [...reads].sort((a, b) => a.block.chainId - b.block.chainId).flatMap(({ positions }) => positions)
}

/** `unreadable` are further positions that could not be decoded when they were read whole. */
function countsOf(
  reads: readonly ChainRead<BriefPosition>[],
  { filtered, unreadable }: { readonly filtered: number; readonly unreadable: number },
) {
  const positions = reads.flatMap((read) => read.positions)
  const spams: SpamPosition[] = reads.flatMap((read) => read.spams)
  const totalActive = positions.filter(({ liquidity }) => liquidity > 0n).length
  return {
    totalActive,
    totalInactive: positions.length - totalActive,
    total: positions.length,
    filtered,
    errors: reads.reduce((sum, read) => sum + read.unreadable.length, unreadable),
    spams: spams.slice(0, SPAMS_SHOWN_MAX).map(presentSpam),
  }
}

/** The one position of an id. If there are several, the error names the parameter that decides. */
function onlyPosition(reads: readonly ChainRead[], id: bigint): Position {
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
  if (broken === undefined) throw new CodedError('NOT_FOUND', `There is no position ${id} on any manager asked`)
  throw new UnavailableError(
    `Cannot decode position ${id} of manager ${broken.manager} on chain ${broken.chainId} because ${broken.because}`,
    { retryAfterSec: UNREADABLE_RETRY_SEC },
  )
}

function ambiguous(found: readonly { readonly chainId: number; readonly manager: Address }[], id: bigint): CodedError {
  const chains = new Set(found.map(({ chainId }) => chainId)).size
  const settles = [...(chains > 1 ? ['"chain_id"'] : []), ...(chains < found.length ? ['"manager_address"'] : [])].join(
    ' and ',
  )
  const places = found.map(({ chainId, manager }) => `chain ${chainId} manager ${manager}`)
  const where = listed(places, NAMED_MAX)
  return new CodedError('MISSING_PARAMETER', `Position ${id} needs parameter ${settles}: it was found on ${where}`)
}
