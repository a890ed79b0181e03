import { midnightStore } from '../../sql/functions.ts'
import { midnightList, midnightListOpen } from '../../sql/queries.ts'
import { readHeader } from '../chain/evm/read_block.ts'
import { createBlockFinder, NoBlockError, type WitnessedBlock } from '../chain/past/block_at.ts'
import { DisputeError, isCacheableForever, QUORUM } from '../chain/past/quorum.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Database } from '../db/database.ts'
import { createCache } from '../lib/async/cache.ts'
import type { Clock } from '../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../lib/error.ts'
import { createLru } from '../lib/lru.ts'
import { createMidnightGroups } from './midnight_groups.ts'
import { createRecheck } from './recheck.ts'

/** Seconds of a UTC day, which begins at midnight. */
export const DAY_SEC = 86_400
/** Midnights kept in memory: those of ten years on seven chains. */
const ENTRIES_MAX = 25_000
/** A block older than this is final on every chain. */
const SETTLED_SEC = DAY_SEC
const OPEN_MAX = 100

/**
 * The blocks of midnights, found once for everybody and stored for ever once they are final. One that a single endpoint
 * gave is found again when another one may serve; if several give another block, its snapshots go with it.
 */
export type Midnights = ReturnType<typeof createMidnights>

/** Makes it over the database; several processes may share that. */
export function createMidnights({ db, clock }: { readonly db: Database; readonly clock: Clock }) {
  const finder = createBlockFinder(clock)
  const recheck = createRecheck(clock)
  const kept = createLru<WitnessedBlock>({ entriesMax: ENTRIES_MAX })
  const loads = new Map<string, Promise<unknown>>()
  const flights = createCache<WitnessedBlock>({ clock, entriesMax: 1 })

  const isOld = (timeSec: number) => clock.now() / 1_000 - timeSec > SETTLED_SEC
  const isSettled = ({ timestampSec }: WitnessedBlock) => isOld(Number(timestampSec))
  const groups = createMidnightGroups(clock)

  function keep(day: number, block: WitnessedBlock): void {
    kept.set(`${block.chainId}:${day}`, block)
  }

  /** The block that is kept in memory, unless it is worth finding again. */
  function keptOf(client: ChainClient, day: number): WitnessedBlock | undefined {
    const known = kept.get(`${client.chain.id}:${day}`)
    return known === undefined || recheck.isDue(client, known.witnesses) ? undefined : known
  }

  async function stored(client: ChainClient, { from, to }: { readonly from: number; readonly to: number }) {
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

  async function note(day: number, block: WitnessedBlock, isFinal: boolean): Promise<boolean> {
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
   * Looks for midnights that nobody has found yet; not for the youngest, whose blocks are not final. Returns those that
   * have no block.
   */
  async function search(
    client: ChainClient,
    days: readonly number[],
    signal: AbortSignal,
  ): Promise<ReadonlySet<number>> {
    const unknown = days.filter((day) => isOld(day * DAY_SEC) && kept.get(`${client.chain.id}:${day}`) === undefined)
    if (unknown.length === 0) return new Set()
    const times = unknown.map((day) => BigInt(day * DAY_SEC))
    const found = await finder.lastByEach(client, times, signal)
    await Promise.all(
      unknown.map(async (day, index) => {
        const block = found[index]
        if (block === undefined) return
        recheck.answered(client, block.witnesses)
        await note(day, block, isSettled(block))
      }),
    )
    return new Set(unknown.filter((_, index) => found[index] === undefined))
  }

  async function find(client: ChainClient, day: number, signal: AbortSignal): Promise<WitnessedBlock> {
    const [known] = await stored(client, { from: day, to: day })
    if (known !== undefined && !(known.isFinal && recheck.isDue(client, known.block.witnesses))) return known.block
    const found = await findAgain(client, { day, known: known?.block }, signal)
    if (found === known?.block) return found
    if (await note(day, found, isSettled(found))) {
      if (known !== undefined && known.block.hash !== found.hash) warnReplaced(client, day)
      return found
    }
    const [final] = await stored(client, { from: day, to: day })
    if (final === undefined) throw new UpstreamError('The block of a midnight was replaced while it was read')
    if (final.block.witnesses < QUORUM) throw disputed(client, day)
    return final.block
  }

  /** The block as endpoints give it now, or the known one if they cannot be asked. */
  async function findAgain(
    client: ChainClient,
    { day, known }: { readonly day: number; readonly known: WitnessedBlock | undefined },
    signal: AbortSignal,
  ): Promise<WitnessedBlock> {
    try {
      const found = await finder.lastBy(client, BigInt(day * DAY_SEC), signal)
      recheck.answered(client, found.witnesses)
      return found
    } catch (error) {
      const mayStay = error instanceof NoBlockError || error instanceof UnavailableError
      if (known === undefined || !mayStay || error instanceof DisputeError) throw error
      recheck.answered(client, 0)
      return known
    }
  }

  return {
    /**
     * The last block at or before the midnight that begins a day (whole days since the epoch). Throws `NoBlockError` if
     * no later block shows that it is the last one, or if the chain began later; `DisputeError` if endpoints contradict
     * each other or what one of them gave before; else as `ChainClient.read`.
     */
    async of(client: ChainClient, day: number, signal: AbortSignal): Promise<WitnessedBlock> {
      const key = `${client.chain.id}:${day}`
      const known = keptOf(client, day)
      if (known !== undefined) return known
      const read = async (shared: AbortSignal) => ({ value: await find(client, day, shared), lifeMs: 0 })
      return await flights.get({ key, read }, signal)
    },
    /**
     * Days, the newest first, in groups: each comes once the blocks of its midnights are known, which are looked for
     * together. Those that have no block are left out; what cannot be found so is left to `of`. Throws `AbortedError` if
     * `signal` fires.
     */
    async *inGroups(client: ChainClient, days: readonly number[], signal: AbortSignal) {
      const [to = -1, from = 0] = [days[0], days.at(-1)]
      const rows = await stored(client, { from, to })
      // `of` compares what is not final, and tells if it is replaced.
      const open = new Set(rows.flatMap(({ day, isFinal }) => (isFinal ? [] : day)))
      const find = async (group: readonly number[]): Promise<readonly number[]> => {
        const some = group.filter((day) => !open.has(day))
        const without = await search(client, some, signal)
        return group.filter((day) => !without.has(day))
      }
      yield* groups({ chainId: client.chain.id, days, find }, signal)
    },
    /** Takes what is stored about a chain's days into memory, in one statement. */
    async load(client: ChainClient, days: { readonly from: number; readonly to: number }): Promise<void> {
      const { id } = client.chain
      let { from } = days
      while (from <= days.to && keptOf(client, from) !== undefined) from++
      if (from > days.to) return
      const key = `${id}:${from}:${days.to}`
      const loading = loads.get(key) ?? stored(client, { from, to: days.to }).finally(() => loads.delete(key))
      loads.set(key, loading)
      await loading
    },
    /**
     * Makes final what has become so since: the block of such a midnight is found again, and snapshots of one that was
     * replaced meanwhile go. Returns how many midnights still wait. Throws as `ChainClient.read`.
     */
    async settle(client: ChainClient, signal: AbortSignal): Promise<number> {
      const open = await midnightListOpen(db, { chainId: client.chain.id, max: OPEN_MAX })
      if (open.length === 0) return 0
      const final = await readFinalNumber(client, signal)
      let left = 0
      for (const { day, block } of open) {
        const again = BigInt(block) <= final ? await finder.lastBy(client, BigInt(day * DAY_SEC), signal) : undefined
        // What is final stays for ever: a second endpoint is waited for, if there is one, for some time.
        const mayWait = again === undefined || !(isCacheableForever(client, again.witnesses) || isSettled(again))
        if (mayWait || again.number > final) left++
        else await note(day, again, true)
      }
      return left
    },
  }
}

function warnReplaced({ chain, log }: ChainClient, day: number): void {
  log.warn({ msg: 'Replaced the block of a midnight that one RPC endpoint had given', chainId: chain.id, day })
}

function disputed({ chain: { id, name } }: ChainClient, day: number): DisputeError {
  return new DisputeError(
    `Cannot believe the last block before day ${day} of chain ${id} (${name}): one endpoint gave another one before ` +
      '(second witness)',
  )
}

/** Height of the newest block that is final by the chain's row. */
function readFinalNumber({ chain, read }: ChainClient, signal: AbortSignal): Promise<bigint> {
  const { finality } = chain
  const at = 'tag' in finality ? finality.tag : 'latest'
  return read(
    async (endpoint, within) => {
      const header = await readHeader(endpoint, { chainId: chain.id, at }, within)
      if (header === undefined) throw new UpstreamError('The endpoint does not say which block is final')
      return header.number - ('depth' in finality ? BigInt(finality.depth) : 0n)
    },
    { signal, past: 'header', priority: 'background' },
  )
}
