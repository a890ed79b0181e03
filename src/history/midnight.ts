import listSql from '../../sql/queries/midnight_list.sql' with { type: 'text' }
import listOpenSql from '../../sql/queries/midnight_list_open.sql' with { type: 'text' }
import storeSql from '../../sql/queries/midnight_store.sql' with { type: 'text' }
import type { PinnedBlock } from '../chain/block.ts'
import { type BlockFinder, createBlockFinder } from '../chain/past/block_at.ts'
import { readHeader } from '../chain/read_block.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import { createCache } from '../lib/cache.ts'
import type { Clock } from '../lib/clock.ts'
import { UpstreamError } from '../lib/error.ts'

const list = query(listSql, 'read')
const listOpen = query(listOpenSql, 'background')
const store = query(storeSql, 'read')

/** Seconds of a UTC day, which begins at midnight. */
export const DAY_SEC = 86_400
/** Midnights kept in memory: those of ten years on seven chains. */
const ENTRIES_MAX = 25_000
/** A block older than this is final on every chain. */
const SETTLED_SEC = DAY_SEC
const OPEN_MAX = 100

/** The blocks of midnights, found once for everybody and stored for ever once they are final. */
export interface Midnights {
  /**
   * The last block at or before the midnight that begins a day (whole days since the epoch). Throws `NoBlockError` if
   * no later block shows that it is the last one, or if the chain began later; else as `ChainClient.read`.
   */
  of(client: ChainClient, day: number, signal: AbortSignal): Promise<PinnedBlock>
  /** Takes what is stored about a chain's days into memory, in one statement. */
  load(client: ChainClient, days: { readonly from: number; readonly to: number }): Promise<void>
  /**
   * Makes final what has become so since: the block of such a midnight is found again, and snapshots of one that was
   * replaced meanwhile go. Returns how many midnights still wait. Throws as `ChainClient.read`.
   */
  settle(client: ChainClient, signal: AbortSignal): Promise<number>
}

/** Makes it over the database; several processes may share that. */
export function createMidnights({ db, clock }: { readonly db: Database; readonly clock: Clock }): Midnights {
  const finder: BlockFinder = createBlockFinder(clock)
  const kept = new Map<string, PinnedBlock>()
  const loads = new Map<string, Promise<unknown>>()
  const flights = createCache<PinnedBlock>({ clock, entriesMax: 1 })

  function keep(day: number, block: PinnedBlock): void {
    if (kept.size >= ENTRIES_MAX) kept.delete(kept.keys().next().value ?? '')
    kept.set(`${block.chainId}:${day}`, block)
  }

  async function stored(client: ChainClient, { from, to }: { readonly from: number; readonly to: number }) {
    const { id: chainId } = client.chain
    const rows = await list(db, [chainId, from, to])
    return rows.map(({ day, block, hash, parent_hash, time, is_final }) => {
      const pinned: PinnedBlock = {
        ...{ chainId, number: BigInt(block), timestampSec: BigInt(time) },
        ...{ hash: `0x${hash}`, parentHash: `0x${parent_hash}` },
      }
      if (is_final) keep(day, pinned)
      return pinned
    })
  }

  async function note(day: number, block: PinnedBlock, isFinal: boolean): Promise<boolean> {
    const { chainId, number, hash, parentHash, timestampSec } = block
    const [row] = await store(db, [
      ...([chainId, day, String(number), hash.slice(2), parentHash.slice(2)] as const),
      ...([String(timestampSec), isFinal] as const),
    ])
    if (row?.stored === true && isFinal) keep(day, block)
    return row?.stored === true
  }

  async function find(client: ChainClient, day: number, signal: AbortSignal): Promise<PinnedBlock> {
    const [known] = await stored(client, { from: day, to: day })
    if (known !== undefined) return known
    const found = await finder.lastBy(client, BigInt(day * DAY_SEC), signal)
    const isFinal = clock.now() / 1_000 - Number(found.timestampSec) > SETTLED_SEC
    if (await note(day, found, isFinal)) return found
    const [final] = await stored(client, { from: day, to: day })
    if (final === undefined) throw new UpstreamError('The block of a midnight was replaced while it was read')
    return final
  }

  return {
    async of(client, day, signal) {
      const key = `${client.chain.id}:${day}`
      const known = kept.get(key)
      if (known !== undefined) return known
      const read = async (shared: AbortSignal) => ({ value: await find(client, day, shared), lifeMs: 0 })
      return await flights.get({ key, read }, signal)
    },
    async load(client, days) {
      const { id } = client.chain
      let { from } = days
      while (from <= days.to && kept.has(`${id}:${from}`)) from++
      if (from > days.to) return
      const key = `${id}:${from}:${days.to}`
      const loading = loads.get(key) ?? stored(client, { from, to: days.to }).finally(() => loads.delete(key))
      loads.set(key, loading)
      await loading
    },
    async settle(client, signal) {
      const open = await listOpen(db, [client.chain.id, OPEN_MAX])
      if (open.length === 0) return 0
      const final = await readFinalNumber(client, signal)
      let left = 0
      for (const { day, block } of open) {
        const again = BigInt(block) <= final ? await finder.lastBy(client, BigInt(day * DAY_SEC), signal) : undefined
        if (again === undefined || again.number > final) left++
        else await note(day, again, true)
      }
      return left
    },
  }
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
