import type { Address } from 'viem'
import type { WithExpiry } from '../../chain/block_cache.ts'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { allOrAbort } from '../../lib/async/parallel.ts'
import { limitWork, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError, PendingError, UnavailableError } from '../../lib/error.ts'
import { createLru } from '../../lib/lru.ts'
import { isBase58Address } from '../../lib/text/base58.ts'
import type { WalletReader } from '../read/read_wallet.ts'
import type { MidnightWorth, SnapshotReader } from '../snapshots.ts'
import type { AssetsRead } from '../sum/row.ts'

/** How long an answer waits for midnights that were not read before, milliseconds: they are read on after it. */
const PATIENCE_MS = 1_500
const DAY_SEC = 86_400
/** Limits of the cache of fees: wallets on chains, and positions of all of them together. */
const WALLETS_CACHED_MAX = 5_000
const METERS_CACHED_MAX = 50_000

/** What one wallet has on one chain. */
export interface WalletChain {
  readonly wallet: string
  readonly read: WithExpiry<AssetsRead>
  /** The same at the midnight nearest to a day ago, or why it could not be read; absent if nothing earns fees. */
  readonly before?: FeesBefore | string
}

/** Fee meters of positions at an earlier block. */
export type FeesBefore = Pick<AssetsRead, 'block' | 'outlooks'>

/** A wallet on a chain that could not be read. */
interface UnreadChain {
  readonly wallet: string
  readonly chainId: number
  /** A sentence. */
  readonly because: string
}

/** What a wallet was worth on a chain at midnights, or why that cannot be told. */
export interface PastWorth {
  readonly wallet: string
  readonly chainId: number
  /** A sentence, if none could be read. */
  readonly worths: readonly MidnightWorth[] | string
}

/** What an overview rests on: each chain at one block, on Solana each wallet at one slot. */
export interface OverviewRead {
  readonly reads: readonly WalletChain[]
  readonly unread: readonly UnreadChain[]
  readonly past: readonly PastWorth[]
  /** The midnights nearest to 1 and 30 days ago, days since the epoch. */
  readonly dayBefore: number
  readonly monthBefore: number
}

/** Reads what several wallets have. */
export type OverviewReader = ReturnType<typeof createOverviewReader>

/** Creates a reader over those of portfolios and of their snapshots. */
export function createOverviewReader(options: {
  readonly chainIds: readonly number[]
  readonly reader: WalletReader
  readonly snapshots: Pick<SnapshotReader, 'readWorths'>
  readonly clock: Clock
}) {
  const { chainIds, reader, snapshots, clock } = options
  /** Meters of midnights do not change: an endpoint is asked once for them. */
  const cached = createLru<FeesBefore>({
    entriesMax: WALLETS_CACHED_MAX,
    weightMax: METERS_CACHED_MAX,
    getWeight: ({ outlooks }) => 1 + (outlooks?.().length ?? 0),
  })

  async function readWallets(wallets: readonly string[], work: Work) {
    const results = await allOrAbort(
      wallets.map((wallet) => (shared: Work) => reader.read({ wallet, allow_partial: true }, shared)),
      work,
    )
    const reads = results.flatMap((each, index) => each.reads.map((read) => ({ wallet: wallets[index] ?? '', read })))
    const unread = results.flatMap((each, index) =>
      each.unread.map((one) => ({ wallet: wallets[index] ?? '', ...one })),
    )
    return { reads, unread }
  }

  /** Reads wallets again that were read at an older block of a chain than others: sums are of one block. */
  async function alignBlocks({ reads, unread }: Pick<OverviewRead, 'reads' | 'unread'>, work: Work) {
    const newest = new Map<number, bigint>()
    for (const { read } of reads) {
      const { chainId, number } = read.block
      if (number > (newest.get(chainId) ?? 0n)) newest.set(chainId, number)
    }
    const isOld = ({ read: { block } }: WalletChain) =>
      block.chainId !== SOLANA_CHAIN_ID && block.number !== newest.get(block.chainId)
    const again = await allOrAbort(
      reads.filter(isOld).map(({ wallet, read: { block } }) => async (shared: Work) => {
        const at_block = Number(newest.get(block.chainId))
        return {
          wallet,
          ...(await reader.read({ wallet, chain_id: block.chainId, at_block, allow_partial: true }, shared)),
        }
      }),
      work,
    )
    return {
      reads: [
        ...reads.filter((each) => !isOld(each)),
        ...again.flatMap(({ wallet, ...each }) => each.reads.map((read) => ({ wallet, read }))),
      ],
      unread: [...unread, ...again.flatMap(({ wallet, ...each }) => each.unread.map((one) => ({ wallet, ...one })))],
    }
  }

  /** `days`: in their order. */
  async function readPast(wallet: string, chainId: number, days: readonly number[], work: Work): Promise<PastWorth> {
    const limit = clock.timeout(PATIENCE_MS)
    try {
      const query = { wallet: wallet as Address, chainId, days }
      return { wallet, chainId, worths: await snapshots.readWorths(query, limitWork(work, limit)) }
    } catch (error) {
      if (work.signal.aborted) throw error
      if (limit.aborted || error instanceof PendingError) return { wallet, chainId, worths: PENDING }
      if (error instanceof UnavailableError) return { wallet, chainId, worths: error.message }
      throw error
    }
  }

  /** Reads what earns fees at an earlier time too: two blocks tell what it earned between them. */
  async function readBefore(now: WalletChain, dayBefore: number, work: Work): Promise<WalletChain> {
    const { wallet, read } = now
    if (!(read.outlooks?.() ?? []).some(({ fees }) => fees !== undefined)) return now
    const key = `${read.block.chainId}:${wallet}:${dayBefore}`
    const known = cached.get(key)
    if (known !== undefined) return { ...now, before: known }
    const limit = clock.timeout(PATIENCE_MS)
    const at_time = { sec: dayBefore * DAY_SEC, sent: String(dayBefore * DAY_SEC) }
    try {
      const query = { wallet, chain_id: read.block.chainId, at_time, allow_partial: true }
      const { reads, unread } = await reader.read(query, limitWork(work, limit))
      const [past] = reads
      if (past === undefined) return { ...now, before: unread[0]?.because ?? 'The chain could not be read' }
      const meters = (past.outlooks?.() ?? []).filter(({ fees }) => fees !== undefined)
      // What an outlook rests on is not kept with it.
      const before = { block: past.block, outlooks: () => meters }
      cached.set(key, before)
      return { ...now, before }
    } catch (error) {
      if (work.signal.aborted) throw error
      if (limit.aborted || error instanceof PendingError)
        return { ...now, before: 'It takes longer than usual: ask again' }
      // The chain had not begun, or a wallet has too much to read.
      if (error instanceof CodedError || error instanceof UnavailableError) return { ...now, before: error.message }
      throw error
    }
  }

  return {
    /**
     * Reads all chains of the wallets, and what they were worth a day and 30 days ago. Chains that cannot be read are left
     * out and named. Throws `CodedError` API_ENDPOINT_NOT_CONFIGURED if no served chain has such a wallet.
     */
    async read(wallets: readonly string[], work: Work): Promise<OverviewRead> {
      const today = Math.round(clock.now() / 1_000 / DAY_SEC)
      const [dayBefore, monthBefore] = [today - 1, today - 30]
      const places = wallets
        .filter((wallet) => !isBase58Address(wallet))
        .flatMap((wallet) => chainIds.map((chainId) => ({ wallet, chainId })))
      const [now, past] = await Promise.all([
        readWallets(wallets, work)
          .then((found) => alignBlocks(found, work))
          .then(async ({ reads, unread }) => ({
            reads: await allOrAbort(
              reads.map((each) => (shared: Work) => readBefore(each, dayBefore, shared)),
              work,
            ),
            unread,
          })),
        allOrAbort(
          places.map(({ wallet, chainId }) => (shared: Work) => {
            return readPast(wallet, chainId, [monthBefore, dayBefore], shared)
          }),
          work,
        ),
      ])
      return { ...now, past, dayBefore, monthBefore }
    },
  }
}

const PENDING = 'Its midnights are being read for the first time: ask again'
