import type { Block } from '../../../chain/block.ts'
import { CodedError, UnavailableError } from '../../../lib/error.ts'
import type { Moment } from '../../past.ts'
import { leavingOut } from '../../place.ts'
import { figuresOf } from '../figures.ts'
import type { MissingPrice } from '../pnl/flow_price.ts'
import type { LifeFlow, PnlSubject } from '../pnl/life.ts'
import { type PnlState, type Profit, profitOf } from '../pnl/profit.ts'
import type { ChainRead, Position } from '../position.ts'
import type { LivesAtHand } from '../read/at_hand.ts'
import type { Life, LifeReader } from '../read/lives.ts'
import type { Place } from '../read/questions.ts'
import type { PositionReader } from '../read/read.ts'
import { ambiguous, onlyPositionIn, placesToAsk } from './places.ts'

/** A position whose history is wanted. */
interface ToldQuestion {
  readonly id: bigint
  readonly chainId: number | undefined
  readonly manager: `0x${string}` | undefined
  readonly moment: Moment
}

/** The life of a position up to the block of an answer. */
export interface Told<Now = Position | undefined> {
  readonly chainId: number
  readonly tokenId: bigint
  readonly flows: readonly LifeFlow[]
  readonly subject: PnlSubject
  /** As it is at the block; undefined once it is burned. */
  readonly position: Now
  readonly block: Block
}

/** What is missing now may be there after this time. */
const RETRY_SEC = { price: 60, contradiction: 5 } as const

/**
 * The life of the one position of an id, burned or not. Throws `CodedError` NOT_FOUND, or MISSING_PARAMETER naming what
 * would settle which one is meant; `UnavailableError` until its history is complete.
 */
export async function readTold(
  { reader, lives }: { readonly reader: PositionReader; readonly lives: LifeReader },
  { id, chainId, manager, moment }: ToldQuestion,
  signal: AbortSignal,
): Promise<Told> {
  const asked = placesToAsk(reader, { chainId, manager })
  const places = await leavingOut(asked, reader.past.at(asked, moment, signal))
  const reads = await leavingOut(places, reader.readOne(id, { places, signal }))
  const position = onlyPositionIn(reads, id)
  if (position !== undefined) return await tellPosition({ reader, lives }, { position, places, reads }, signal)
  if (chainId === undefined) {
    throw new CodedError(
      'NOT_FOUND',
      `There is no position ${id} on any manager asked; one that was burned needs parameter "chain_id"`,
    )
  }
  const burned = await readBurned(lives, { id, places }, signal)
  if (burned === undefined) throw new CodedError('NOT_FOUND', `There never was a position ${id} on any manager asked`)
  return burned
}

/** Profit and loss of a life. Throws `UnavailableError` if a price is missing or a flow must be. */
export function profitOfTold(told: Told): Profit {
  const profit = profitIfPriced(told)
  if (!('token' in profit)) return profit
  const message = `Cannot price token ${profit.token} of ${nameOf(told)} because ${profit.because}`
  throw new UnavailableError(message, { retryAfterSec: RETRY_SEC.price })
}

/** The same, or which price is missing. Throws `UnavailableError` if a flow must be missing. */
export function profitIfPriced(told: Told): Profit | MissingPrice {
  const { flows, subject, position, block } = told
  const profit = profitOf(flows, { subject, state: position && stateOf(position, block.timestampSec) })
  if (!('contradiction' in profit)) return profit
  const message = `The history of ${nameOf(told)} is not complete: ${profit.contradiction}`
  throw new UnavailableError(message, { retryAfterSec: RETRY_SEC.contradiction })
}

function nameOf({ tokenId, chainId }: Told): string {
  return `position ${tokenId} on chain ${chainId}`
}

/**
 * Profit and loss of positions of a list at the block of each, in their order; undefined if it is not at hand. Never
 * throws, and waits for a moment only.
 */
export async function profitsAtHand(
  lives: LivesAtHand,
  list: {
    readonly items: readonly Position[]
    readonly places: readonly Place[]
    readonly reads: readonly { readonly block: Block }[]
  },
): Promise<(Profit | undefined)[]> {
  const { items, places, reads } = list
  const questions = items.map((position) => {
    const { chainId, tokenId, deployment } = position
    const place = places.find(({ client }) => client.chain.id === chainId)
    const block = reads.find((read) => read.block.chainId === chainId)?.block
    if (place === undefined || block === undefined) throw new Error('Cannot tell a life without its place')
    return { client: place.client, deployment, tokenId, position, block }
  })
  const told = await lives.read(questions.map(({ block, ...question }) => ({ ...question, block: block.number })))
  return told.map((life, index) => {
    const question = questions[index]
    if (life === undefined || question === undefined) return undefined
    const { position, block } = question
    const profit = profitOf(life.flows, { subject: life.subject, state: stateOf(position, block.timestampSec) })
    return 'figures' in profit ? profit : undefined
  })
}

/**
 * The life of a position that was read, and the position as of where its history ends. Throws `UnavailableError` until
 * the history is complete.
 */
export async function tellPosition(
  { reader, lives }: { readonly reader: PositionReader; readonly lives: LifeReader },
  found: { readonly position: Position; readonly places: readonly Place[]; readonly reads: readonly ChainRead[] },
  signal: AbortSignal,
): Promise<Told<Position>> {
  const { position, places, reads } = found
  const { chainId, tokenId, deployment } = position
  const place = places.find(({ client }) => client.chain.id === chainId)
  const block = reads.find((read) => read.block.chainId === chainId)?.block
  if (place === undefined || block === undefined) throw new Error('Cannot tell a life without its place')
  const { client } = place
  const life = await lives.read({ client, deployment, tokenId, position, block: block.number }, signal)
  if (life === undefined) throw new UnavailableError(`The mint of position ${tokenId} was not found`)
  const told = { chainId, tokenId, flows: life.flows, subject: life.subject }
  if (life.end.number >= block.number) return { ...told, position, block }
  // History ends before the newest block: everything is answered as of there.
  const earlier = { ...place, deployments: [deployment], block: life.end }
  const atEnd = onlyPositionIn(await reader.readOne(tokenId, { places: [earlier], signal }), tokenId)
  if (atEnd === undefined) throw new UnavailableError(`Position ${tokenId} is too new: try again in a minute`)
  return { ...told, position: atEnd, block: life.end }
}

async function readBurned(
  lives: LifeReader,
  { id, places }: { readonly id: bigint; readonly places: readonly Place[] },
  signal: AbortSignal,
): Promise<Told | undefined> {
  const found: { readonly chainId: number; readonly manager: `0x${string}`; readonly life: Life }[] = []
  for (const { client, deployments, block } of places) {
    for (const deployment of deployments) {
      const question = { client, deployment, tokenId: id, position: undefined, block: block?.number }
      const life = await lives.read(question, signal)
      if (life !== undefined) found.push({ chainId: client.chain.id, manager: deployment.manager, life })
    }
  }
  if (found.length > 1) throw ambiguous(found, id)
  const [only] = found
  if (only === undefined) return undefined
  const { chainId, life } = only
  const asked = places[0]?.block
  return {
    ...{ chainId, tokenId: id, flows: life.flows, subject: life.subject, position: undefined },
    block: asked !== undefined && asked.number < life.end.number ? asked : life.end,
  }
}

/** A position as profit and loss counts it. */
function stateOf(position: Position, timestampSec: bigint): PnlState {
  const { amounts, fees } = figuresOf(position)
  const { token0, token1, liquidity, pool } = position
  const nobody = { because: 'no source of its price is configured or answers' }
  return {
    ...{ liquidity, timestampSec, sqrtPriceX96: pool.sqrtPriceX96 },
    principal: [amounts.amount0, amounts.amount1],
    owed: [fees.amount0, fees.amount1],
    own: [token0.price ?? nobody, token1.price ?? nobody],
  }
}
