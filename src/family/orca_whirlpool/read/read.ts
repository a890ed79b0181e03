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
/** Reads that are cached until the next slot. */
const CACHE_ENTRIES_MAX = 2_000

/** Reads positions of these programs. */
export type OrcaReader = ReturnType<typeof createOrcaReader>

/** Creates a reader, which caches the subjects of tokens, pools, and the positions of wallets. */
export function createOrcaReader({
  solana,
  programs,
  clock,
  ...priceMarket
}: PriceMarket & { readonly solana: SolanaClient; readonly programs: readonly string[]; readonly clock: Clock }) {
  const cache = createAccountCache(programs, clock)
  const prices = getScopePrices(solana, priceMarket)
  const check = createAccountsCheck(programs)
  const items = createItemsReader({ cache, prices, check })
  const resolver = createTokenResolver({ programs, cache, check })
  const readList = createWalletReader({ resolver, items, cache, slotsApartMax: getMaxSlotDistance(solana) })
  const readSingle = createSingleReader({ programs, items, cache, check })
  const cacheOptions = { solana, clock, budgetMs: BUDGET_MS, entriesMax: CACHE_ENTRIES_MAX }
  const lists = createSlotCache<OrcaList>(cacheOptions)
  const singles = createSlotCache<SingleRead>(cacheOptions)
  return {
    /** Reads all positions of a wallet for its portfolio. */
    holdings: createHoldingsReader({ resolver, items, check }),
    /**
     * Reads a page of a wallet's positions, each at one slot with all inputs of its figures. Throws `UpstreamError` if
     * Solana cannot be read or the positions keep changing; `CodedError` INVALID_PARAMETER for a wallet with too many.
     * Callers within the duration of a slot share a read.
     */
    readWallet(query: WalletQuery, signal: AbortSignal): Promise<WithExpiry<OrcaList>> {
      const { wallet, isActive, isFull, page, limit } = query
      const key = [wallet, isActive, isFull, page, limit].join(':')
      return lists(key, (session) => readList(session, query), signal)
    },
    /** Reads one position of a wallet. Throws `UpstreamError` as `readWallet`. */
    readOne(query: SingleQuery, signal: AbortSignal): Promise<WithExpiry<SingleRead>> {
      const { id, wallet, isFull } = query
      return singles(`${wallet}:${id}:${isFull}`, (session) => readSingle(session, query), signal)
    },
  }
}
