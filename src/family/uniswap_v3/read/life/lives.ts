import type { Address } from 'viem'
import type { PinnedBlock } from '../../../../chain/block.ts'
import { lifeMsOf } from '../../../../chain/past/quorum.ts'
import { readLatestBlock } from '../../../../chain/read_block.ts'
import { type ChainClient, LateError } from '../../../../chain/rpc/client.ts'
import type { Database } from '../../../../db/database.ts'
import type { FinanceClient } from '../../../../finance/chain.ts'
import type { BlockFacts } from '../../../../finance/liquidity/life.ts'
import { positionSubject, readPositionFlows } from '../../../../finance/liquidity/position_flow.ts'
import type { CountedLife } from '../../../../finance/liquidity/profit.ts'
import { createPriceReader } from '../../../../finance/price/price_reader.ts'
import type { BegunTip } from '../../../../history/final/finality.ts'
import type { History } from '../../../../history/stream.ts'
import { whenLate } from '../../../../lib/async/late.ts'
import { turnBefore } from '../../../../lib/async/turns.ts'
import { createCache } from '../../../../lib/cache.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../../../lib/error.ts'
import type { UniswapV3Deployment } from '../../table/deployments.ts'
import { createMintFinder } from '../mint/mint_block.ts'
import { isUnminted } from '../mint/unminted.ts'
import type { Position } from '../position.ts'
import { createFlowStream } from '../stream.ts'
import { type Birth, type BirthQuestion, readBirth } from './birth.ts'
import { createFactsReader } from './block_facts.ts'
import { countedFrom, createKeptLives, type Kept, unknownRows } from './kept_lives.ts'

/** Whose life is read. */
export interface LifeQuestion {
  readonly client: FinanceClient
  readonly deployment: UniswapV3Deployment
  readonly tokenId: bigint
  /** As it is at a block; undefined once it is burned. */
  readonly position: Position | undefined
  /** The block that the answer is about; absent: the newest that history reaches. */
  readonly block?: bigint | undefined
  /** What was begun beside the read of the position. */
  readonly begun?: BegunTip | undefined
}

/** A position's flows up to a block, oldest first. */
export interface Life extends CountedLife {
  /** How far history reaches: before `LifeQuestion.block` if the chain's end is too long to be read with an answer. */
  readonly end: PinnedBlock
}

/** Reads lives of positions. */
export interface LifeReader {
  /** Begins what every life on a chain needs, before it is known whose is asked for. */
  prepare(client: ChainClient, signal: AbortSignal): BegunTip | undefined
  /**
   * Undefined if the position was not there yet, or no position of that id ever was. Throws `UnavailableError` until
   * history is complete.
   */
  read(question: LifeQuestion, signal: AbortSignal): Promise<Life | undefined>
}

/** More flows than any known position has; each needs up to two prices. */
const FLOWS_MAX = 5_000
/** Burned positions that are remembered. */
const BIRTHS_MAX = 10_000

/** Makes a reader over stored history. */
export function createLifeReader(services: {
  readonly db: Database
  readonly history: History
  readonly clock: Clock
}): LifeReader {
  const { db, history, clock } = services
  const stream = createFlowStream(clock)
  const findMint = createMintFinder()
  const lives = createKeptLives(clock)
  const births = createCache<Birth>({ clock, entriesMax: BIRTHS_MAX })
  const readFacts = createFactsReader({ prices: createPriceReader({ db, clock }), clock })

  async function flowsUpTo(question: LifeQuestion, kept: Kept | undefined, signal: AbortSignal) {
    const { client, deployment, tokenId, block, begun } = question
    const contract = deployment.manager.toLowerCase() as Address
    const place = { chainId: client.chain.id, contract, startBlock: deployment.startBlock }
    const toBlock = block ?? (await readNewest(client, signal)).number
    whenLate(signal, () => mintMissing(question))
    const startBlock = await findMint({ client, deployment, tokenId, toBlock: Number(toBlock) }, signal)
    if (startBlock === undefined) return undefined
    const asked = { stream, place, subject: positionSubject(tokenId), startBlock, upTo: block, begun }
    const { storedTo, tail, block: end, version } = await history.ensure(asked, signal)
    const isSame = kept !== undefined && kept.version === version
    const before = isSame && kept.storedTo <= storedTo ? kept : undefined
    const fromBlock = Math.max(startBlock, (before?.storedTo ?? -1) + 1)
    const named = { place, stream: stream.name, tokenId, fromBlock, toBlock: storedTo }
    const more = storedTo < fromBlock ? [] : await readPositionFlows(db, { ...named, max: FLOWS_MAX + 1 })
    if (more === undefined) throw new PendingError(`The history of position ${tokenId} is not stored yet`)
    const stored = [...(before?.rows ?? []), ...more]
    const last = Number(block ?? end.number)
    const rows = [...stored, ...tail].filter((flow) => flow.block <= last)
    if (rows.length > FLOWS_MAX) throw new UnavailableError(`Position ${tokenId} has more than ${FLOWS_MAX} flows`)
    return { rows, stored, end, storedTo, before, version }
  }

  /** What a burned position was never changes, once the block of its mint is final. */
  function birthOf(question: BirthQuestion, finalTo: number, signal: AbortSignal): Promise<Birth> {
    const { client, deployment, first } = question
    const read = async (shared: AbortSignal) => {
      const { value, endpoints } = await readBirth(question, shared)
      const lifeMs = lifeMsOf(client, endpoints.length)
      return { value, lifeMs: first.block <= finalTo ? lifeMs : 0 }
    }
    return births.get({ key: `${client.chain.id}:${deployment.manager}:${first.tokenId}`, read }, signal)
  }

  /** Facts of blocks; who has no more time for them is told how far they are. */
  async function factsOf(
    question: LifeQuestion,
    asked: Omit<Parameters<typeof readFacts>[0], 'client' | 'onRead'>,
    signal: AbortSignal,
  ) {
    let missing = pricesMissing(question, 0, 1)
    const onRead = (blocks: number, of: number) => {
      missing = pricesMissing(question, blocks, of)
    }
    whenLate(signal, () => missing)
    try {
      return await readFacts({ ...asked, client: question.client, onRead }, signal)
    } catch (error) {
      throw error instanceof LateError ? missing : error
    }
  }

  return {
    prepare: ({ chain }, signal) => history.prepare?.(chain.id, signal),
    async read(question, signal) {
      const { client, deployment, position, tokenId } = question
      const key = `${client.chain.id}:${deployment.manager}:${tokenId}`
      if (position === undefined && (await isUnminted({ client, deployment, tokenId, clock }, signal))) return undefined
      const flows = await flowsUpTo(question, lives.find(key), signal)
      const [first] = flows?.rows ?? []
      if (flows === undefined || first === undefined) return undefined
      const { rows, stored, end, storedTo, before, version } = flows
      const birth =
        position === undefined
          ? await birthOf({ client, deployment, first, clock }, storedTo, signal)
          : birthIn(position)
      const { pool, ...subject } = birth
      const known = before?.facts ?? new Map<number, BlockFacts>()
      await turnBefore(rows)
      const unknown = { rows: unknownRows({ rows, stored }, known), finalTo: storedTo }
      const read = await factsOf(question, { pool, tokens: subject.tokens, ...unknown }, signal)
      await turnBefore(rows)
      const facts = read.size === 0 ? known : new Map([...known, ...read])
      // A life up to an earlier block is not kept.
      if (rows.length < stored.length) return { ...(await countedFrom(undefined, { rows, facts, subject })), end }
      const counted = await countedFrom(before?.counted, { rows: stored, facts, subject })
      if (version !== undefined)
        lives.keep(key, { rows: stored, storedTo, version, facts: finalFacts(facts, storedTo), counted })
      return { ...(await countedFrom(counted, { rows, facts, subject })), end }
    },
  }
}

/** What can never change: a block of the end may be replaced. */
function finalFacts(facts: ReadonlyMap<number, BlockFacts>, storedTo: number): ReadonlyMap<number, BlockFacts> {
  const blocks = [...facts.keys()]
  return blocks.every((block) => block <= storedTo) ? facts : new Map([...facts].filter(([block]) => block <= storedTo))
}

/** Said if the request's time ends while the mint is looked for; what the search has seen is kept. */
function mintMissing({ client: { chain }, tokenId }: LifeQuestion): PendingError {
  const where = `position ${tokenId} on chain ${chain.id} (${chain.name})`
  return new PendingError(`The history of ${where} is being read: the block of its mint is being looked for`)
}

/** Said if there is no time left when all flows are known; what was priced is kept. */
function pricesMissing({ client: { chain }, tokenId }: LifeQuestion, blocks: number, of: number): PendingError {
  const where = `position ${tokenId} on chain ${chain.id} (${chain.name})`
  const done = `${Math.floor((100 * blocks) / of)} % done, ${(of - blocks).toLocaleString('en')} blocks left`
  return new PendingError(`The history of ${where} is read; the prices of its flows are being read: ${done}`)
}

function readNewest(client: ChainClient, signal: AbortSignal): Promise<PinnedBlock> {
  return client.read((endpoint, within) => readLatestBlock(endpoint, client.chain.id, within), { signal })
}

function birthIn({ token0, token1, tickLower, tickUpper, pool }: Position): Birth {
  return { tokens: [token0, token1], tickLower, tickUpper, pool: pool.address }
}
