import type { Address } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import { readLatestBlock } from '../../../chain/read_block.ts'
import type { ChainClient } from '../../../chain/rpc/client.ts'
import type { Database } from '../../../db/database.ts'
import { createPriceHistory } from '../../../history/price_history.ts'
import { positionSubject, readPositionFlows } from '../../../history/rows/position_flow.ts'
import type { History } from '../../../history/stream.ts'
import { createCache } from '../../../lib/cache.ts'
import type { Clock } from '../../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../../lib/error.ts'
import type { UniswapV3Deployment } from '../deployments.ts'
import { type LifeFlow, lifeOf, type PnlSubject } from '../pnl/life.ts'
import type { Position } from '../position.ts'
import { type Birth, type BirthQuestion, readBirth } from './birth.ts'
import { createFactsReader } from './block_facts.ts'
import { createFlowStream } from './flow_stream.ts'
import { createMintFinder } from './mint_block.ts'

/** Whose life is read. */
export interface LifeQuestion {
  readonly client: ChainClient
  readonly deployment: UniswapV3Deployment
  readonly tokenId: bigint
  /** As it is at a block; undefined once it is burned. */
  readonly position: Position | undefined
  /** The block that the answer is about; absent: the newest that history reaches. */
  readonly block?: bigint | undefined
}

/** A position's flows up to a block, oldest first. */
export interface Life {
  readonly flows: readonly LifeFlow[]
  readonly subject: PnlSubject
  /** How far history reaches: before `LifeQuestion.block` if the chain's end is too long to be read with an answer. */
  readonly end: PinnedBlock
}

/** Reads lives of positions. */
export interface LifeReader {
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
  const births = createCache<Birth>({ clock, entriesMax: BIRTHS_MAX })
  const readFacts = createFactsReader({ prices: createPriceHistory({ db, clock }), clock })

  async function flowsUpTo({ client, deployment, tokenId, block }: LifeQuestion, signal: AbortSignal) {
    const contract = deployment.manager.toLowerCase() as Address
    const place = { chainId: client.chain.id, contract, startBlock: deployment.startBlock }
    const toBlock = block ?? (await readNewest(client, signal)).number
    const startBlock = await findMint({ client, deployment, tokenId, toBlock: Number(toBlock) }, signal)
    if (startBlock === undefined) return undefined
    const asked = { stream, place, subject: positionSubject(tokenId), startBlock }
    const { storedTo, tail, block: end } = await history.ensure(asked, signal)
    const named = { place, stream: stream.name, tokenId, fromBlock: startBlock, toBlock: storedTo }
    const stored = storedTo < startBlock ? [] : await readPositionFlows(db, { ...named, max: FLOWS_MAX + 1 })
    if (stored === undefined) throw new PendingError(`The history of position ${tokenId} is not stored yet`)
    const last = Number(block ?? end.number)
    const flows = [...stored, ...tail].filter((flow) => flow.block <= last)
    if (flows.length > FLOWS_MAX) throw new UnavailableError(`Position ${tokenId} has more than ${FLOWS_MAX} flows`)
    return { flows, end, storedTo }
  }

  /** What a burned position was never changes, once the block of its mint is final. */
  function birthOf(question: BirthQuestion, finalTo: number, signal: AbortSignal): Promise<Birth> {
    const { client, deployment, first } = question
    const read = async (shared: AbortSignal) => {
      const value = await readBirth(question, shared)
      return { value, lifeMs: first.block <= finalTo ? Number.POSITIVE_INFINITY : 0 }
    }
    return births.get({ key: `${client.chain.id}:${deployment.manager}:${first.tokenId}`, read }, signal)
  }

  return {
    async read(question, signal) {
      const { client, deployment, position } = question
      const told = await flowsUpTo(question, signal)
      const [first] = told?.flows ?? []
      if (told === undefined || first === undefined) return undefined
      const { flows: rows, end, storedTo } = told
      const birth =
        position === undefined
          ? await birthOf({ client, deployment, first, clock }, storedTo, signal)
          : birthIn(position)
      const { pool, ...subject } = birth
      const facts = await readFacts({ client, pool, tokens: subject.tokens, rows, finalTo: storedTo }, signal)
      return { flows: lifeOf(rows, { subject, facts }), subject, end }
    },
  }
}

function readNewest(client: ChainClient, signal: AbortSignal): Promise<PinnedBlock> {
  return client.read((endpoint, within) => readLatestBlock(endpoint, client.chain.id, within), { signal })
}

function birthIn({ token0, token1, tickLower, tickUpper, pool }: Position): Birth {
  return { tokens: [token0, token1], tickLower, tickUpper, pool: pool.address }
}
