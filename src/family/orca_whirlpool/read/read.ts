import type { WithExpiry } from '../../../chain/block_cache.ts'
import type { SolanaClient } from '../../../chain/solana/client.ts'
import { createSlotCache, getMaxSlotDistance } from '../../../chain/solana/slot_cache.ts'
import { getScopePrices } from '../../../finance/price/scope/prices.ts'
import type { PriceMarket } from '../../../finance/price/table/kamino.ts'
import type { Clock } from '../../../lib/clock.ts'
import { createAccountCache } from './account_cache.ts'
import { createAccountsCheck } from './check.ts'
import { createHoldingsReader } from './holdings.ts'
import { createItemsReader } from './items.ts'
import { createSingleReader, type SingleQuery, type SingleRead } from './single.ts'
import { createTokenResolver } from './token_resolver.ts'
import { createWalletReader, type OrcaList, type WalletQuery } from './wallet.ts'

/** Time for one answer over all its steps and tries. */
export const BUDGET_MS = 6_000
/** Readings that are kept until the next slot. */
const CACHE_ENTRIES_MAX = 2_000

/** Reads positions of these programs. */
export type OrcaReader = ReturnType<typeof createOrcaReader>

/** Makes a reader. It remembers what tokens stand for, pools, and what wallets had. */
export function createOrcaReader({
  solana,
  programs,
  clock,
  ...priceMarket
}: PriceMarket & { readonly solana: SolanaClient; readonly programs: readonly string[]; readonly clock: Clock }) {
  const known = createAccountCache(programs, clock)
  const prices = getScopePrices(solana, priceMarket)
  const check = createAccountsCheck(programs)
  const items = createItemsReader({ known, prices, check })
  const namer = createTokenResolver({ programs, known, check })
  const readList = createWalletReader({ namer, items, known, slotsApartMax: getMaxSlotDistance(solana) })
  const readSingle = createSingleReader({ programs, items, known, check })
  const kept = { solana, clock, budgetMs: BUDGET_MS, entriesMax: CACHE_ENTRIES_MAX }
  const lists = createSlotCache<OrcaList>(kept)
  const singles = createSlotCache<SingleRead>(kept)
  return {
    /** All positions of a wallet, for its portfolio. */
    holdings: createHoldingsReader({ namer, items, check }),
    /**
     * A page of a wallet's positions, each at one slot with all that its figures need. Throws `UpstreamError` if Solana
     * cannot be read or changes meanwhile; `CodedError` INVALID_PARAMETER for a wallet that has too many. Callers that
     * ask within the duration of a slot share a reading.
     */
    readWallet(query: WalletQuery, signal: AbortSignal): Promise<WithExpiry<OrcaList>> {
      const { wallet, isActive, isFull, page, limit } = query
      const key = [wallet, isActive, isFull, page, limit].join(':')
      return lists(key, (session) => readList(session, query), signal)
    },
    /** One position of a wallet. Throws `UpstreamError` as `readWallet`. */
    readOne(query: SingleQuery, signal: AbortSignal): Promise<WithExpiry<SingleRead>> {
      const { id, wallet, isFull } = query
      return singles(`${wallet}:${id}:${isFull}`, (session) => readSingle(session, query), signal)
    },
  }
}
