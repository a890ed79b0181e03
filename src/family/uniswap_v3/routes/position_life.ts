import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import {
  contradictionOf,
  type Outcome,
  outcomeOf,
  type PnlState,
  type Profit,
  profitOf,
  type Unpriced,
} from '../../../finance/liquidity/profit.ts'
import { ifDirect } from '../../../finance/price/price.ts'
import type { BegunTip } from '../../../history/final/finality.ts'
import { turn } from '../../../lib/async/turns.ts'
import { CodedError, UnavailableError } from '../../../lib/error.ts'
import { figuresOf } from '../math/figures.ts'
import type { Life, LifeReader } from '../read/life/lives.ts'
import type { Position } from '../read/position.ts'
import type { UniswapV3Place } from '../read/questions.ts'
import type { PositionReader } from '../read/read.ts'
import type { Patience, TimedLives } from '../read/timed_lives.ts'
import { type AskedPlaces, ambiguous, onlyPosition, placesToAsk, readOneAt } from './places.ts'

/** The life of a position up to the block of an answer. */
export interface PositionLife<Now = Position | undefined> {
  readonly chainId: number
  readonly tokenId: bigint
  readonly life: Life
  /** As it is at the block; undefined once it is burned. */
  readonly position: Now
  readonly block: Block
}

/** Where and when positions were read. */
interface Reading {
  readonly places: readonly UniswapV3Place[]
  readonly reads: readonly { readonly block: Block }[]
}

/** What is missing now may be there after this time. */
const RETRY_SEC = { price: 60, contradiction: 5 } as const

/**
 * The life of the one position of an id, burned or not. Throws `CodedError` NOT_FOUND, or MISSING_PARAMETER naming what
 * would settle which one is meant; `UnavailableError` until its history is complete.
 */
export async function readPositionLife(
  { reader, lives }: { readonly reader: PositionReader; readonly lives: LifeReader },
  asked: AskedPlaces & { readonly id: bigint },
  signal: AbortSignal,
): Promise<PositionLife> {
  const { id } = asked
  const known = placesToAsk(reader, asked)
  const [only] = known
  const begun = only === undefined || known.length > 1 ? undefined : lives.prepare(only.client, signal)
  const { places, reads } = await readOneAt(reader, { id, places: known, moment: asked }, signal)
  const position = onlyPosition(reads, id)
  if (position !== undefined) return await lifeOfPosition({ reader, lives }, { position, places, reads, begun }, signal)
  if (asked.chain_id === undefined) {
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
export async function profitOfLife(positionLife: PositionLife): Promise<Profit> {
  const profit = await profitIfPriced(positionLife)
  if (!('missing' in profit)) return profit
  const { token, because } = profit.missing
  const message = `Cannot price token ${token} of ${nameOf(positionLife)} because ${because}`
  throw new UnavailableError(message, { retryAfterSec: RETRY_SEC.price })
}

/** The same, or which price is missing. Throws `UnavailableError` if a flow must be missing. */
export async function profitIfPriced(positionLife: PositionLife): Promise<Profit | Unpriced> {
  const { life, position, block } = positionLife
  const profit = await profitOf(life, position && stateOf(position, block.timestampSec))
  if ('contradiction' in profit) throw incomplete(positionLife, profit.contradiction)
  return profit
}

/** Throws `UnavailableError` if a flow must be missing: a list with a hole is no list either. */
export function checkLife(positionLife: PositionLife): void {
  const { life, position, block } = positionLife
  const contradiction = contradictionOf(life, position && stateOf(position, block.timestampSec))
  if (contradiction !== undefined) throw incomplete(positionLife, contradiction)
}

function incomplete(positionLife: PositionLife, contradiction: string): UnavailableError {
  const message = `The history of ${nameOf(positionLife)} is not complete: ${contradiction}`
  return new UnavailableError(message, { retryAfterSec: RETRY_SEC.contradiction })
}

function nameOf({ tokenId, chainId }: PositionLife): string {
  return `position ${tokenId} on chain ${chainId}`
}

/** Profit and loss of positions of a list at the block of each, in their order. Waits and throws as `TimedLives`. */
export async function timedOutcomes(
  lives: TimedLives,
  list: Reading & { readonly items: readonly Position[] },
  within: Patience,
): Promise<Outcome[]> {
  const asked = list.items.map((position) => askAbout(position, list))
  const lived = await lives.read(
    asked.map(({ question }) => question),
    within,
  )
  const outcomes: Outcome[] = []
  for (const [index, { block, question }] of asked.entries()) {
    const life = lived[index] ?? 'failed'
    outcomes.push(typeof life === 'string' ? { status: life } : await outcomeIn(life, question.position, block))
    await turn()
  }
  return outcomes
}

async function outcomeIn(life: Life, position: Position, block: Block): Promise<Outcome> {
  const counted = await profitOf(life, stateOf(position, block.timestampSec))
  return 'contradiction' in counted ? { status: 'failed' } : outcomeOf(counted)
}

/** The question for the life of a position that was read, and where and when it was read. */
function askAbout(position: Position, { places, reads }: Reading) {
  const { chainId, tokenId, deployment } = position
  const place = places.find(({ client }) => client.chain.id === chainId)
  const block = reads.find((read) => read.block.chainId === chainId)?.block
  if (place === undefined || block === undefined) throw new Error('Cannot tell a life without its place')
  return { place, block, question: { client: place.client, deployment, tokenId, position, block: block.number } }
}

/**
 * The life of a position that was read, and the position as of where its history ends. Throws `UnavailableError` until
 * the history is complete.
 */
export async function lifeOfPosition(
  { reader, lives }: { readonly reader: PositionReader; readonly lives: LifeReader },
  found: Reading & { readonly position: Position; readonly begun?: BegunTip | undefined },
  signal: AbortSignal,
): Promise<PositionLife<Position>> {
  const { position } = found
  const { chainId, tokenId, deployment } = position
  const { place, block, question } = askAbout(position, found)
  const life = await lives.read({ ...question, begun: found.begun }, signal)
  if (life === undefined) throw new UnavailableError(`The mint of position ${tokenId} was not found`)
  const positionLife = { chainId, tokenId, life }
  if (life.end.number >= block.number) return { ...positionLife, position, block }
  // History ends before the newest block: everything is answered as of there.
  const earlier = { ...place, deployments: [deployment], block: life.end }
  const atEnd = onlyPosition(await reader.readOne(tokenId, { places: [earlier], signal }), tokenId)
  if (atEnd === undefined) throw new UnavailableError(`Position ${tokenId} is too new: try again in a minute`)
  return { ...positionLife, position: atEnd, block: life.end }
}

async function readBurned(
  lives: LifeReader,
  { id, places }: { readonly id: bigint; readonly places: readonly UniswapV3Place[] },
  signal: AbortSignal,
): Promise<PositionLife | undefined> {
  const found: { readonly chainId: number; readonly manager: Address; readonly life: Life }[] = []
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
    chainId,
    tokenId: id,
    life,
    position: undefined,
    block: asked !== undefined && asked.number < life.end.number ? asked : life.end,
  }
}

/** A position as profit and loss counts it. */
function stateOf(position: Position, timestampSec: bigint): PnlState {
  const { amounts, owed } = figuresOf(position)
  const { token0, token1, liquidity, pool } = position
  const unpriced = { because: 'no source of its price is configured or answers' }
  return {
    liquidity,
    timestampSec,
    sqrtPriceX96: pool.sqrtPriceX96,
    principal: [amounts.amount0, amounts.amount1],
    owed: [owed.amount0, owed.amount1],
    // As in the past: wrappers and pools price nothing here.
    own: [ifDirect(token0.price) ?? unpriced, ifDirect(token1.price) ?? unpriced],
  }
}
