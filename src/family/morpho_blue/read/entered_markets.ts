import type { Address, Hex } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import type { WithExpiry } from '../../../chain/block_cache.ts'
import { toLowerHex } from '../../../chain/call/words.ts'
import type { Database } from '../../../db/database.ts'
import { readWalletEntries, WALLET_ENTRIES, type WalletEntry } from '../../../finance/wallet_entry.ts'
import type { History, Stream, StreamTarget } from '../../../history/stream.ts'
import type { Tip } from '../../../history/tip.ts'
import { createPrefetcher } from '../../../lib/async/prefetch.ts'
import { noteUnwitnessed, type Work } from '../../../lib/async/work.ts'
import { PendingError } from '../../../lib/error.ts'
import { createFilters, decodeEntries, FEE_MARKETS, FEE_SUBJECT } from '../event.ts'
import type { MorphoBlueDeployment } from '../table.ts'
import { getDeployment, type MorphoBlueTarget, type PositionReader, type WalletRead } from './read.ts'

/** The markets that a wallet ever entered, up to block `end`, those that it entered first before others. */
interface EnteredMarkets {
  readonly marketIds: readonly Hex[]
  readonly end: PinnedBlock
}

/** Markets of a wallet while its history catches up. */
export interface PendingMarkets {
  /** Stored markets, usually all; undefined if none can be prefetched. */
  readonly stored: readonly Hex[] | undefined
  /** All of them. Throws as `EnteredMarketsReader.markets`. */
  readonly all: Promise<Pick<EnteredMarkets, 'marketIds'>>
}

/** Reads wallets' positions in all markets that they ever entered. */
export type EnteredMarketsReader = ReturnType<typeof createEnteredMarketsReader>

/** Number above that of any block. */
const NEWEST = Number.MAX_SAFE_INTEGER

/** Creates a reader over the history of the process. */
export function createEnteredMarketsReader(options: {
  readonly reader: PositionReader
  readonly history: History
  readonly db: Database
}) {
  const { reader, history, db } = options
  /** Deployments whose contract was read: a contract that stands stays, but "no events" is no proof that one stands. */
  const readDeployments = new WeakSet<MorphoBlueDeployment>()

  /** The stored entries, and whether they are complete. */
  const readStored = (target: StreamTarget, wallet: Hex, toBlock: number) =>
    readWalletEntries(db, { target, stream: MARKET_STREAM.name, wallet, toBlock })

  async function readEntered(target: MorphoBlueTarget, query: EnteredQuery, work: Work): Promise<EnteredMarkets> {
    const { client, block } = target
    const streamTarget = toHistoryTarget(target)
    const request = {
      stream: MARKET_STREAM,
      target: streamTarget,
      subject: query.subject,
      upTo: block?.number,
      pendingTip: query.pendingTip,
    }
    const ensured = await history.ensure(request, work)
    // Of the newest block everything rests on what its endpoint says.
    if (query.isDated && !ensured.isAgreed) noteUnwitnessed(work, [client.chain.id])
    const end = block !== undefined && block.number < ensured.block.number ? block : ensured.block
    const last = Number(end.number)
    const toBlock = Math.min(ensured.storedTo, last)
    const { isWhole, entries } = await readStored(streamTarget, query.subject, toBlock)
    if (!isWhole && toBlock >= streamTarget.startBlock) {
      const { id, name } = client.chain
      throw new PendingError(`The history of chain ${id} (${name}) is not complete any more: it is read again`)
    }
    const unstored = ensured.tail
      .filter((entry) => entry.block <= last)
      .sort((a, b) => a.block - b.block || (a.entry < b.entry ? -1 : 1))
      .map(({ entry }) => entry)
    return { marketIds: [...new Set([...entries, ...unstored])], end }
  }

  /** The same with the markets that pay fees if the wallet was ever the fee recipient: no event names it as owner. */
  async function readWithFees(target: MorphoBlueTarget, query: EnteredQuery, work: Work): Promise<EnteredMarkets> {
    const { marketIds, end } = await readEntered(target, query, work)
    if (!marketIds.includes(FEE_MARKETS)) return { marketIds, end }
    const feeMarkets = await readEntered({ ...target, block: end }, { ...query, subject: FEE_SUBJECT }, work)
    const allIds = new Set([...marketIds, ...feeMarkets.marketIds])
    return { marketIds: [...allIds].filter((id) => id !== FEE_MARKETS), end: feeMarkets.end }
  }

  return {
    /**
     * The markets that a wallet entered up to the block of the target, or up to the end of history if that is lower.
     * Throws `UnavailableError` with the progress until the wallet's history is complete.
     */
    markets: (target: MorphoBlueTarget, wallet: Address, work: Work) =>
      readWithFees(target, toQuery(target, { subject: toLowerHex(wallet), pendingTip: undefined }), work),
    /** Starts reading those up to the newest block, and returns the stored ones. Throws as `Database.run`. */
    async prefetch(target: MorphoBlueTarget, wallet: Address, work: Work): Promise<PendingMarkets> {
      const subject = toLowerHex(wallet)
      const pendingTip = history.readTip?.(target.client.chain.id, work)
      const all = readWithFees(target, toQuery(target, { subject, pendingTip }), work)
      // Swallow the rejection here; awaiting callers still get it.
      all.catch(() => {})
      const { isBegun, entries } = await readStored(toHistoryTarget(target), subject, NEWEST)
      return { stored: isBegun ? selectPrefetchable(entries) : undefined, all }
    },
    /**
     * The wallet's positions in the first `marketsMax` of them at that block, with one more request, and the number of
     * the others: strangers can enter any number of markets for a wallet. The first read of a deployment asks its
     * contract in any case. Throws as `markets` and as `PositionReader.read`.
     */
    async read(
      target: MorphoBlueTarget,
      { wallet, marketsMax }: { readonly wallet: Address; readonly marketsMax: number },
      work: Work,
    ): Promise<WalletRead & Partial<WithExpiry<WalletRead>> & { readonly omitted: number }> {
      const { client, block } = target
      const subject = toLowerHex(wallet)
      const pendingTip = history.readTip?.(client.chain.id, work)
      // The stored markets are usually all: they are read while history catches up.
      const upTo = block === undefined ? NEWEST : Number(block.number)
      const storedEntries = readStored(toHistoryTarget(target), subject, upTo).catch(() => ({
        entries: [] as readonly Hex[],
      }))
      const prefetcher = createPrefetcher<WithExpiry<WalletRead>>({ readsMax: 1 })
      const deployment = getDeployment(target)
      const readAt = async (at: PinnedBlock, marketIds: readonly Hex[], within: Work) => {
        const read = await reader.read({ ...target, block: at }, { wallet, marketIds }, within)
        readDeployments.add(deployment)
        return read
      }
      const prefetch = async (at: PinnedBlock) => {
        const markets = takeFirstIds(selectPrefetchable((await storedEntries).entries) ?? [], AHEAD_MAX)
        if (markets.length === 0 && readDeployments.has(deployment)) return
        prefetcher.start(getKey(at, markets), (within) => readAt(at, markets, within), work)
      }
      if (block !== undefined) void prefetch(block)
      else pendingTip?.then((tip) => prefetch(tip.block)).catch(() => {})

      const { marketIds: allIds, end } = await readWithFees(target, toQuery(target, { subject, pendingTip }), work)
      const marketIds = takeFirstIds(allIds, marketsMax)
      const omitted = allIds.length - marketIds.length
      if (marketIds.length === 0 && readDeployments.has(deployment)) return { block: end, markets: [], omitted }
      const read = (await prefetcher.take(getKey(end, marketIds))) ?? (await readAt(end, marketIds, work))
      return { ...read, omitted }
    },
  }
}

/** The wallet whose markets are read, and the pending tip of the chain. */
interface EnteredQuery {
  readonly subject: Hex
  readonly pendingTip: Promise<Tip> | undefined
  /** True if the request names its moment. */
  readonly isDated: boolean
}

function toQuery({ block }: MorphoBlueTarget, wanted: Omit<EnteredQuery, 'isDated'>): EnteredQuery {
  return { ...wanted, isDated: block !== undefined }
}

/** Maximum number of markets that are prefetched. */
const AHEAD_MAX = 200

/** The markets to prefetch while history catches up; undefined if there are too many, or the wallet received fees. */
function selectPrefetchable(markets: readonly Hex[]): readonly Hex[] | undefined {
  return markets.length > AHEAD_MAX || markets.includes(FEE_MARKETS) ? undefined : [...new Set(markets)]
}

/** Takes the markets that were entered first; in the order of their ids, so that it does not depend on their age. */
export function takeFirstIds(marketIds: readonly Hex[], max: number): readonly Hex[] {
  return marketIds.slice(0, max).sort()
}

function getKey({ hash }: PinnedBlock, marketIds: readonly Hex[]): string {
  return `${hash}:${marketIds.join()}`
}

function toHistoryTarget(target: MorphoBlueTarget): StreamTarget {
  return toStreamTarget(target.client.chain.id, getDeployment(target))
}

/** The stream target of Morpho on a chain. */
export function toStreamTarget(chainId: number, { morpho, startBlock }: MorphoBlueDeployment): StreamTarget {
  return { chainId, contract: toLowerHex(morpho), startBlock }
}

/**
 * The stream of the markets that wallets ever entered, which the contract cannot list. No state exists to check the
 * rows against: two matching reads are the only proof.
 */
export const MARKET_STREAM: Stream<WalletEntry> = {
  name: 'morpho_blue_market',
  table: WALLET_ENTRIES,
  filters: createFilters,
  decode: (target, logs) => ({ rows: decodeEntries(target, logs), unsettled: [] }),
}
