import type { Address } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { ambiguous } from '../../../finance/liquidity/list/found.ts'
import type { Life } from '../../../finance/liquidity/lives/life_reader.ts'
import type { Patience, TimedLives } from '../../../finance/liquidity/lives/timed_lives.ts'
import { type ToldLife, timedOutcomes } from '../../../finance/liquidity/lives/told_life.ts'
import type { Outcome, PnlState } from '../../../finance/liquidity/profit.ts'
import { ifDirect } from '../../../finance/price/price.ts'
import type { BegunTip } from '../../../history/final/finality.ts'
import { CodedError, UnavailableError } from '../../../lib/error.ts'
import { figuresOf } from '../math/figures.ts'
import type { UniswapV3LifeQuestion, UniswapV3LifeReader } from '../read/life/lives.ts'
import type { Position } from '../read/position.ts'
import type { UniswapV3Place } from '../read/questions.ts'
import type { PositionReader } from '../read/read.ts'
import { type AskedPlaces, onlyPositionOf, placesToAsk, readOneAt } from './places.ts'

/** The life of a position up to the block of an answer. */
interface PositionLife extends ToldLife {
  /** As it is at the block. */
  readonly position: Position
}

/** Where and when positions were read. */
interface Reading {
  readonly places: readonly UniswapV3Place[]
  readonly reads: readonly { readonly block: Block }[]
}

/**
 * The life of the one position of an id, burned or not. Throws `CodedError` NOT_FOUND, or MISSING_PARAMETER naming what
 * would settle which one is meant; `UnavailableError` until its history is complete.
 */
export async function readPositionLife(
  { reader, lives }: { readonly reader: PositionReader; readonly lives: UniswapV3LifeReader },
  asked: AskedPlaces & { readonly id: bigint },
  signal: AbortSignal,
): Promise<ToldLife> {
  const { id } = asked
  const known = placesToAsk(reader, asked)
  const [only] = known
  const begun = only === undefined || known.length > 1 ? undefined : lives.prepare(only.client, signal)
  const { places, reads } = await readOneAt(reader, { id, places: known, moment: asked }, signal)
  const position = onlyPositionOf(reads, id)
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

/** Profit and loss of positions of a list at the block of each, in their order. Waits and throws as `TimedLives`. */
export async function outcomesOf(
  lives: TimedLives<UniswapV3LifeQuestion>,
  list: Reading & { readonly items: readonly Position[] },
  within: Patience,
): Promise<Outcome[]> {
  const asked = list.items.map((position) => {
    const { question, block } = askAbout(position, list)
    return { question, state: stateOf(position, block.timestampSec) }
  })
  return await timedOutcomes(lives, asked, within)
}

/** The question for the life of a position that was read, and where and when it was read. */
function askAbout(position: Position, { places, reads }: Reading) {
  const { chainId, tokenId, deployment } = position
  const place = places.find(({ client }) => client.chain.id === chainId)
  const block = reads.find((read) => read.block.chainId === chainId)?.block
  if (place === undefined || block === undefined) throw new Error('Cannot tell a life without its place')
  const { manager } = deployment
  const question = { client: place.client, manager, deployment, tokenId, position, block: block.number }
  return { place, block, question }
}

/**
 * The life of a position that was read, and the position as of where its history ends. Throws `UnavailableError` until
 * the history is complete.
 */
export async function lifeOfPosition(
  { reader, lives }: { readonly reader: PositionReader; readonly lives: UniswapV3LifeReader },
  found: Reading & { readonly position: Position; readonly begun?: BegunTip | undefined },
  signal: AbortSignal,
): Promise<PositionLife> {
  const { position } = found
  const { chainId, tokenId, deployment } = position
  const { place, block, question } = askAbout(position, found)
  const life = await lives.read({ ...question, begun: found.begun }, signal)
  if (life === undefined) throw new UnavailableError(`The mint of position ${tokenId} was not found`)
  const at = (now: Position, of: Block): PositionLife => {
    return { chainId, tokenId, life, position: now, state: stateOf(now, of.timestampSec), block: of }
  }
  if (life.end.number >= block.number) return at(position, block)
  // History ends before the newest block: everything is answered as of there.
  const earlier = { ...place, deployments: [deployment], block: life.end }
  const atEnd = onlyPositionOf(await reader.readOne(tokenId, { places: [earlier], signal }), tokenId)
  if (atEnd === undefined) throw new UnavailableError(`Position ${tokenId} is too new: try again in a minute`)
  return at(atEnd, life.end)
}

async function readBurned(
  lives: UniswapV3LifeReader,
  { id, places }: { readonly id: bigint; readonly places: readonly UniswapV3Place[] },
  signal: AbortSignal,
): Promise<ToldLife | undefined> {
  const found: { readonly chainId: number; readonly manager: Address; readonly life: Life }[] = []
  for (const { client, deployments, block } of places) {
    for (const deployment of deployments) {
      const { manager } = deployment
      const question = { client, manager, deployment, tokenId: id, position: undefined, block: block?.number }
      const life = await lives.read(question, signal)
      if (life !== undefined) found.push({ chainId: client.chain.id, manager, life })
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
    state: undefined,
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
