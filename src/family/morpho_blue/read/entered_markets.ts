import type { Address, Hex } from 'viem'
import type { PinnedBlock } from '../../../chain/block.ts'
import type { WithExpiry } from '../../../chain/block_cache.ts'
import { toLowerHex } from '../../../chain/call/words.ts'
import type { Database } from '../../../db/database.ts'
import { readWalletEntries } from '../../../finance/wallet_entry.ts'
import type { History, StreamTarget } from '../../../history/stream.ts'
import type { PendingTip } from '../../../history/tip.ts'
import { createPrefetcher } from '../../../lib/async/prefetch.ts'
import { PendingError } from '../../../lib/error.ts'
import { FEE_MARKETS, FEE_SUBJECT } from '../event/entry.ts'
import type { MorphoBlueDeployment } from '../table/deployments.ts'
import { getDeployment, type MorphoBlueTarget, type PositionReader, type WalletRead } from './read.ts'
import { MARKET_STREAM } from './stream.ts'

/** The markets that a wallet ever entered, and the block up to which that is known. */
export interface EnteredMarkets {
  readonly marketIds: readonly Hex[]
  readonly end: PinnedBlock
}

/** Markets of a wallet while its history is brought up to date. */
export interface PendingMarkets {
  /** Most often they are all; undefined if nothing is stored that could be. */
  readonly stored: readonly Hex[] | undefined
  /** All of them. Throws as `EnteredMarketsReader.markets`. */
  readonly all: Promise<EnteredMarkets>
}

/** Reads what wallets have in all markets, without being told which. */
export type EnteredMarketsReader = ReturnType<typeof createEnteredMarketsReader>

/** Newer than any block. */
const NEWEST = Number.MAX_SAFE_INTEGER

/** Makes a reader over the history of the process. */
export function createEnteredMarketsReader(options: {
  readonly reader: PositionReader
  readonly history: History
  readonly db: Database
}) {
  const { reader, history, db } = options

  /** What is stored, which is all of it or not. */
  const stored = (place: StreamTarget, wallet: Hex, toBlock: number) =>
    readWalletEntries(db, { place, stream: MARKET_STREAM.name, wallet, toBlock })

  async function entered(place: MorphoBlueTarget, of: EnteredOf, signal: AbortSignal): Promise<EnteredMarkets> {
    const { client, block } = place
    const where = historyOf(place)
    const asked = { stream: MARKET_STREAM, place: where, subject: of.subject, upTo: block?.number, begun: of.begun }
    const ensured = await history.ensure(asked, signal)
    const end = block !== undefined && block.number < ensured.block.number ? block : ensured.block
    const last = Number(end.number)
    const toBlock = Math.min(ensured.storedTo, last)
    const { isWhole, entries } = await stored(where, of.subject, toBlock)
    if (!isWhole && toBlock >= where.startBlock) {
      const { id, name } = client.chain
      throw new PendingError(`The history of chain ${id} (${name}) is not complete any more: it is read again`)
    }
    const young = ensured.tail.filter((entry) => entry.block <= last).map(({ entry }) => entry)
    return { marketIds: idsOf([...entries, ...young]), end }
  }

  /** The same, with the markets that pay fees if the wallet has ever received them: no event names it as their owner. */
  async function withFees(place: MorphoBlueTarget, of: EnteredOf, signal: AbortSignal): Promise<EnteredMarkets> {
    const { marketIds, end } = await entered(place, of, signal)
    if (!marketIds.includes(FEE_MARKETS)) return { marketIds, end }
    const paying = await entered({ ...place, block: end }, { subject: FEE_SUBJECT, begun: of.begun }, signal)
    const all = idsOf([...marketIds, ...paying.marketIds])
    return { marketIds: all.filter((id) => id !== FEE_MARKETS), end: paying.end }
  }

  return {
    /**
     * The markets that a wallet entered up to the block of the place, or as far as history reaches if that is less.
     * Throws `UnavailableError` until its history is complete, with the progress.
     */
    markets: (place: MorphoBlueTarget, wallet: Address, signal: AbortSignal) =>
      withFees(place, { subject: toLowerHex(wallet), begun: undefined }, signal),
    /** Begins to find those up to the newest block, and says at once what is stored. Throws as `Database.run`. */
    async foresee(place: MorphoBlueTarget, wallet: Address, signal: AbortSignal): Promise<PendingMarkets> {
      const subject = toLowerHex(wallet)
      const begun = history.prepare?.(place.client.chain.id, signal)
      const all = withFees(place, { subject, begun }, signal)
      // Whoever waits for them hears of it.
      all.catch(() => {})
      const { isBegun, entries } = await stored(historyOf(place), subject, NEWEST)
      return { stored: isBegun ? foreseen(entries) : undefined, all }
    },
    /**
     * What it has in them at that block: one request more. `check` throws if they are too many. Throws as `markets` and
     * as `PositionReader.read`.
     */
    async read(
      place: MorphoBlueTarget,
      { wallet, check }: { readonly wallet: Address; readonly check: (markets: number) => void },
      signal: AbortSignal,
    ): Promise<WalletRead & Partial<WithExpiry<WalletRead>>> {
      const { client, block } = place
      const subject = toLowerHex(wallet)
      const begun = history.prepare?.(client.chain.id, signal)
      // What is stored is most often all that there is: it is asked about beside the history's end.
      const upTo = block === undefined ? NEWEST : Number(block.number)
      const known = stored(historyOf(place), subject, upTo).catch(() => ({ entries: [] as readonly Hex[] }))
      const ahead = createPrefetcher<WithExpiry<WalletRead>>({ readsMax: 1 })
      const readAt = (at: PinnedBlock, marketIds: readonly Hex[], within: AbortSignal) =>
        reader.read({ ...place, block: at }, { wallet, marketIds }, within)
      const foresee = async (at: PinnedBlock) => {
        const markets = foreseen((await known).entries) ?? []
        if (markets.length === 0) return
        ahead.start(nameOf(at, markets), (within) => readAt(at, markets, within), signal)
      }
      if (block !== undefined) void foresee(block)
      else begun?.tip((tip) => void foresee(tip.block)).catch(() => {})

      const { marketIds, end } = await withFees(place, { subject, begun }, signal)
      check(marketIds.length)
      if (marketIds.length === 0) return { block: end, markets: [] }
      return (await ahead.take(nameOf(end, marketIds))) ?? (await readAt(end, marketIds, signal))
    },
  }
}

/** Whose markets, and what was begun of the chain's tip. */
interface EnteredOf {
  readonly subject: Hex
  readonly begun: PendingTip | undefined
}

/** So many markets are read before it is known whether they are all. */
const AHEAD_MAX = 200

/** Those that may be read before it is known whether they are all. */
function foreseen(markets: readonly Hex[]): readonly Hex[] | undefined {
  return markets.length > AHEAD_MAX || markets.includes(FEE_MARKETS) ? undefined : idsOf(markets)
}

/** Each once, in one order whatever is stored and what is not yet. */
function idsOf(markets: readonly Hex[]): readonly Hex[] {
  return [...new Set(markets)].sort()
}

function nameOf({ hash }: PinnedBlock, marketIds: readonly Hex[]): string {
  return `${hash}:${marketIds.join()}`
}

function historyOf(place: MorphoBlueTarget): StreamTarget {
  return toStreamTarget(place.client.chain.id, getDeployment(place))
}

/** Where history follows Morpho. */
export function toStreamTarget(chainId: number, { morpho, startBlock }: MorphoBlueDeployment): StreamTarget {
  return { chainId, contract: toLowerHex(morpho), startBlock }
}
