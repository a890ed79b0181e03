import { midnightStore } from '../../sql/functions.ts'
import { midnightList, midnightListOpen } from '../../sql/queries.ts'
import { readHeader } from '../chain/evm/read_block.ts'
import { createBlockFinder, NoBlockError, type WitnessedBlock } from '../chain/past/block_at.ts'
import { isCacheableForever, QUORUM } from '../chain/past/quorum.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import { ChainUnavailableError, isUnavailable } from '../chain/rpc/client.ts'
import type { Database } from '../db/database.ts'
import { createServerTime, type ServerTime } from '../db/server_time.ts'
import { untilAborted } from '../lib/async/abort.ts'
import { createCache } from '../lib/async/cache.ts'
import type { Work } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../lib/error.ts'
import { createLru } from '../lib/lru.ts'
import { createRecheck } from './recheck.ts'

/** Seconds of a UTC day, which begins at midnight. */
export const DAY_SEC = 86_400
/** Midnights kept in memory: those of ten years on seven chains. */
const ENTRIES_MAX = 25_000
/** A block older than this is final on every chain. */
const SETTLED_SEC = DAY_SEC
const OPEN_MAX = 100

/**
 * The blocks of midnights, shared by all requests and stored permanently once final. A block from a single endpoint is
 * searched again when a second endpoint may serve; if several endpoints give another block, its snapshots are deleted.
 */
export type Midnights = ReturnType<typeof createMidnights>

interface MidnightsOptions {
  readonly db: Database
  readonly clock: Clock
  /** Decides what is old enough to be final. @default the database's */
  readonly serverTime?: ServerTime
}

/** Creates the midnights of a database, which several processes may share. */
export function createMidnights({ db, clock, serverTime = createServerTime({ db, clock }) }: MidnightsOptions) {
  const finder = createBlockFinder(clock)
  const recheck = createRecheck(clock)
  const cachedBlocks = createLru<WitnessedBlock>({ entriesMax: ENTRIES_MAX })
  const loads = new Map<string, Promise<unknown>>()
  const inFlight = createCache<WitnessedBlock>({ clock, entriesMax: 1 })

  const isSettled = async ({ timestampSec }: WitnessedBlock) =>
    (await serverTime()) - Number(timestampSec) > SETTLED_SEC
  const groups = createMidnightGroups(clock)

  function keep(day: number, block: WitnessedBlock): void {
    cachedBlocks.set(`${block.chainId}:${day}`, block)
  }

  /** The block cached in memory, unless it is due for a recheck. */
  function getCached(client: ChainClient, day: number): WitnessedBlock | undefined {
    const cachedBlock = cachedBlocks.get(`${client.chain.id}:${day}`)
    return cachedBlock === undefined || recheck.isDue(client, cachedBlock.witnesses) ? undefined : cachedBlock
  }

  async function readStored(client: ChainClient, { from, to }: { readonly from: number; readonly to: number }) {
    const { id: chainId } = client.chain
    const rows = await midnightList(db, { chainId, fromDay: from, toDay: to })
    return rows.map(({ day, block, hash, parent_hash, time, is_final, witnesses }) => {
      const pinned: WitnessedBlock = {
        chainId,
        number: BigInt(block),
        timestampSec: BigInt(time),
        witnesses,
        hash: `0x${hash}`,
        parentHash: `0x${parent_hash}`,
      }
      if (is_final) keep(day, pinned)
      return { day, block: pinned, isFinal: is_final }
    })
  }

  async function storeBlock(day: number, block: WitnessedBlock, isFinal: boolean): Promise<boolean> {
    const { chainId, witnesses } = block
    const isStored = await midnightStore(db, {
      chainId,
      day,
      block: String(block.number),
      hash: block.hash.slice(2),
      parentHash: block.parentHash.slice(2),
      time: String(block.timestampSec),
      isFinal,
      witnesses,
    })
    if (isStored && isFinal) keep(day, block)
    return isStored
  }

  /**
   * Searches the blocks of midnights that are not cached, except recent ones, whose blocks are not final. Returns the
   * days without a block.
   */
  async function search(client: ChainClient, days: readonly number[], work: Work): Promise<ReadonlySet<number>> {
    const absentDays = days.filter((day) => cachedBlocks.get(`${client.chain.id}:${day}`) === undefined)
    if (absentDays.length === 0) return new Set()
    // By either clock: a search throws if one of several moments that its own clock calls recent has no block.
    const nowSec = Math.min(await serverTime(), clock.now() / 1_000)
    const missingDays = absentDays.filter((day) => nowSec - day * DAY_SEC > SETTLED_SEC)
    if (missingDays.length === 0) return new Set()
    const times = missingDays.map((day) => BigInt(day * DAY_SEC))
    const blocks = await finder.findLastBlocks(client, times, work)
    await Promise.all(
      missingDays.map(async (day, index) => {
        const block = blocks[index]
        if (block === undefined) return
        recheck.recordAnswer(client, block.witnesses)
        await storeBlock(day, block, await isSettled(block))
      }),
    )
    return new Set(missingDays.filter((_, index) => blocks[index] === undefined))
  }

  async function find(client: ChainClient, day: number, work: Work): Promise<WitnessedBlock> {
    const [storedRow] = await readStored(client, { from: day, to: day })
    if (storedRow !== undefined && !(storedRow.isFinal && recheck.isDue(client, storedRow.block.witnesses)))
      return storedRow.block
    const block = await findAgain(client, { day, knownBlock: storedRow?.block }, work)
    if (block === storedRow?.block) return block
    if (await storeBlock(day, block, await isSettled(block))) {
      if (storedRow !== undefined && storedRow.block.hash !== block.hash) warnReplaced(client, day)
      return block
    }
    const [finalRow] = await readStored(client, { from: day, to: day })
    if (finalRow === undefined) throw new UpstreamError('The block of a midnight was replaced while it was read')
    if (finalRow.block.witnesses < QUORUM) throw disputedError(client, day)
    return finalRow.block
  }

  /** The block that endpoints return now, or `knownBlock` if none is available. */
  async function findAgain(
    client: ChainClient,
    { day, knownBlock }: { readonly day: number; readonly knownBlock: WitnessedBlock | undefined },
    work: Work,
  ): Promise<WitnessedBlock> {
    try {
      const block = await finder.findLastBlock(client, BigInt(day * DAY_SEC), work)
      recheck.recordAnswer(client, block.witnesses)
      return block
    } catch (error) {
      const canKeep = error instanceof NoBlockError || error instanceof UnavailableError
      if (knownBlock === undefined || !canKeep || isUnavailable(error, 'disputed')) throw error
      recheck.recordAnswer(client, 0)
      return knownBlock
    }
  }

  return {
    /**
     * The last block at or before the midnight at the start of a day (whole days since the epoch). Throws
     * `NoBlockError` if no later block proves that it is the last one, or if the chain started later;
     * `ChainUnavailableError` (disputed) if endpoints contradict each other or an earlier answer; else as
     * `ChainClient.read`.
     */
    async findBlock(client: ChainClient, day: number, work: Work): Promise<WitnessedBlock> {
      const key = `${client.chain.id}:${day}`
      const cachedBlock = getCached(client, day)
      if (cachedBlock !== undefined) return cachedBlock
      const read = async (shared: Work) => ({ value: await find(client, day, shared), lifeMs: 0 })
      return await inFlight.get({ key, read }, work)
    },
    /**
     * Yields days in groups, newest first, each group once the blocks of its midnights are searched. Omits days without
     * a block; days whose search failed are left to `findBlock`. Throws `AbortedError` if `work` ends.
     */
    async *readGroups(client: ChainClient, days: readonly number[], work: Work) {
      const [to = -1, from = 0] = [days[0], days.at(-1)]
      const rows = await readStored(client, { from, to })
      // `findBlock` compares blocks that are not final and logs replacements.
      const openDays = new Set(rows.flatMap(({ day, isFinal }) => (isFinal ? [] : day)))
      const find = async (group: readonly number[]): Promise<readonly number[]> => {
        const searchedDays = group.filter((day) => !openDays.has(day))
        const daysWithoutBlock = await search(client, searchedDays, work)
        return group.filter((day) => !daysWithoutBlock.has(day))
      }
      yield* groups({ chainId: client.chain.id, days, find }, work.signal)
    },
    /** Loads a chain's stored days into memory, in one statement. */
    async load(client: ChainClient, days: { readonly from: number; readonly to: number }): Promise<void> {
      const { id } = client.chain
      let { from } = days
      while (from <= days.to && getCached(client, from) !== undefined) from++
      if (from > days.to) return
      const key = `${id}:${from}:${days.to}`
      const loading = loads.get(key) ?? readStored(client, { from, to: days.to }).finally(() => loads.delete(key))
      loads.set(key, loading)
      await loading
    },
    /**
     * Finalizes open midnights: searches each block again and deletes snapshots of a replaced one. Returns the number
     * of midnights that are still open. Throws as `ChainClient.read`.
     */
    async settle(client: ChainClient, work: Work): Promise<number> {
      const openMidnights = await midnightListOpen(db, { chainId: client.chain.id, max: OPEN_MAX })
      if (openMidnights.length === 0) return 0
      const finalNumber = await readFinalNumber(client, work)
      let pendingCount = 0
      for (const { day, block } of openMidnights) {
        const confirmedBlock =
          BigInt(block) <= finalNumber ? await finder.findLastBlock(client, BigInt(day * DAY_SEC), work) : undefined
        // A final block is stored permanently, so wait some time for a second endpoint if there is one.
        const mustWait =
          confirmedBlock === undefined ||
          !(isCacheableForever(client, confirmedBlock.witnesses) || (await isSettled(confirmedBlock)))
        if (mustWait || confirmedBlock.number > finalNumber) pendingCount++
        else await storeBlock(day, confirmedBlock, true)
      }
      return pendingCount
    },
  }
}

function warnReplaced({ chain, log }: ChainClient, day: number): void {
  log.warn({ msg: 'Corrected a midnight block that came from a single RPC endpoint', chainId: chain.id, day })
}

function disputedError({ chain: { id, name } }: ChainClient, day: number): ChainUnavailableError {
  return new ChainUnavailableError(
    'disputed',
    `Cannot trust the last block before day ${day} of chain ${id} (${name}): one endpoint gave another one before ` +
      '(second witness)',
  )
}

/** Height of the newest final block, by the chain's finality rule. */
function readFinalNumber({ chain, read }: ChainClient, work: Work): Promise<bigint> {
  const { finality } = chain
  const at = 'tag' in finality ? finality.tag : 'latest'
  return read(
    async (endpoint, within) => {
      const header = await readHeader(endpoint, { chainId: chain.id, at }, within)
      if (header === undefined) throw new UpstreamError('The endpoint does not support the finality tag')
      return header.number - ('depth' in finality ? BigInt(finality.depth) : 0n)
    },
    { work, past: 'header', priority: 'background' },
  )
}

/** Days in a group, at first and at most. */
const DAYS = 8
const DAYS_MAX = 64
/** After a search at most this long, milliseconds, the next group is twice as large: the rate limits allow it. */
const QUICK_MS = 750

/** A search for the midnights of a chain. */
interface MidnightSearch {
  readonly chainId: number
  /** In the requested order. */
  readonly days: readonly number[]
  /** Searches the blocks of some days; returns the days that have one, or may have one. */
  find(days: readonly number[]): Promise<readonly number[]>
}

/**
 * Yields days in groups, each once it was searched; all remaining days in one group if a search throws
 * `UnavailableError` or `UpstreamError`. Throws other errors of a search, and `AbortedError` if `signal` fires. One
 * search runs per chain, because an earlier one may find the same blocks.
 */
function createMidnightGroups(clock: Clock) {
  /** By chain, the end of the last search. */
  const ends = new Map<number, Promise<unknown>>()

  async function runInTurn<T>(chainId: number, run: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const running = (ends.get(chainId) ?? Promise.resolve()).then(run)
    const end = running.catch(() => {})
    ends.set(chainId, end)
    void end.then(() => {
      if (ends.get(chainId) === end) ends.delete(chainId)
    })
    return await untilAborted(running, signal)
  }

  return async function* iterateGroups(
    { chainId, days, find }: MidnightSearch,
    signal: AbortSignal,
  ): AsyncGenerator<readonly number[]> {
    let size = DAYS
    for (let offset = 0; offset < days.length; ) {
      const group = days.slice(offset, offset + size)
      const startedMs = clock.monotonicMs()
      let foundDays: readonly number[]
      try {
        foundDays = await runInTurn(chainId, () => find(group), signal)
      } catch (error) {
        if (!(error instanceof UnavailableError || error instanceof UpstreamError)) throw error
        // The caller then reads the days one by one, which isolates the failing day.
        yield days.slice(offset)
        return
      }
      yield foundDays
      offset += group.length
      if (clock.monotonicMs() - startedMs < QUICK_MS) size = Math.min(DAYS_MAX, 2 * size)
    }
  }
}
