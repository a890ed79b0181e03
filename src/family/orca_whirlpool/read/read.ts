import type { SolanaClient, SolanaSession } from '../../../chain/solana/client.ts'
import { scopePricesOf } from '../../../finance/price/scope/prices.ts'
import type { KaminoMarket, KaminoProgram } from '../../../finance/price/table/kamino.ts'
import { createCache } from '../../../lib/async/cache.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { AccountHoldingsReader } from '../../holding.ts'
import { createCheck } from './check.ts'
import { createHoldingsReader } from './holdings.ts'
import { createItemsReader } from './items.ts'
import { createKnown } from './known.ts'
import { createNamer } from './naming.ts'
import { createSingleReader, type SingleQuery, type SingleRead } from './single.ts'
import { createWalletReader, type OrcaList, type WalletQuery } from './wallet.ts'

/** Time for one answer over all its steps and tries. */
export const BUDGET_MS = 6_000
/** Readings that are kept until the next slot. */
const CACHE_ENTRIES_MAX = 2_000

/** A reading, and until when its slot is the newest, milliseconds of the monotonic clock. */
type Dated<T> = T & { readonly untilMs: number }

/** Reads positions of these programs. */
export interface OrcaReader {
  /**
   * A page of a wallet's positions, each at one slot with all that its figures need. Throws `UpstreamError` if Solana
   * cannot be read or changes meanwhile; `CodedError` INVALID_PARAMETER for a wallet that has too many. Callers that ask
   * within the duration of a slot share a reading.
   */
  readWallet(query: WalletQuery, signal: AbortSignal): Promise<Dated<OrcaList>>
  /** One position of a wallet. Throws `UpstreamError` as `readWallet`. */
  readOne(query: SingleQuery, signal: AbortSignal): Promise<Dated<SingleRead>>
  /** All positions of a wallet, for its portfolio. */
  readonly holdings: AccountHoldingsReader
}

/** Makes a reader. It remembers what tokens stand for, pools, and what wallets had. */
export function createOrcaReader(options: {
  readonly solana: SolanaClient
  readonly programs: readonly string[]
  /** Where prices come from. */
  readonly market: KaminoMarket
  readonly kamino: KaminoProgram
  readonly clock: Clock
}): OrcaReader {
  const { solana, programs, market, kamino, clock } = options
  const { slotMs, maxSlotAgeSec } = solana
  const known = createKnown(programs, clock)
  const prices = scopePricesOf(solana, { market, kamino })
  const check = createCheck(programs)
  const items = createItemsReader({ known, prices, check })
  const namer = createNamer({ programs, known, check })
  const slotsApartMax = BigInt(Math.ceil((maxSlotAgeSec * 1_000) / slotMs))
  const readList = createWalletReader({ namer, items, known, slotsApartMax })
  const readSingle = createSingleReader({ programs, items, known, check })
  const lists = createCache<Dated<OrcaList>>({ clock, entriesMax: CACHE_ENTRIES_MAX })
  const singles = createCache<Dated<SingleRead>>({ clock, entriesMax: CACHE_ENTRIES_MAX })

  /** The node answers from its newest slot, so the next one comes at most a slot after the request. */
  async function dated<T extends object>(work: (session: SolanaSession) => Promise<T>, signal: AbortSignal) {
    const startedMs = clock.monotonicMs()
    const read = await solana.read(work, { signal, budgetMs: BUDGET_MS })
    const untilMs = startedMs + slotMs
    return { value: { ...read, untilMs }, lifeMs: untilMs - clock.monotonicMs() }
  }

  return {
    holdings: createHoldingsReader({ namer, items, check }),
    readWallet(query, signal) {
      const { wallet, isActive, isFull, page, limit } = query
      const key = [wallet, isActive, isFull, page, limit].join(':')
      const read = (shared: AbortSignal) => dated((session) => readList(session, query), shared)
      return lists.get({ key, read, joinMs: slotMs }, signal)
    },
    readOne(query, signal) {
      const { id, wallet, isFull } = query
      const read = (shared: AbortSignal) => dated((session) => readSingle(session, query), shared)
      return singles.get({ key: `${wallet}:${id}:${isFull}`, read, joinMs: slotMs }, signal)
    },
  }
}
