import type { WithExpiry } from '../../../chain/block_cache.ts'
import type { SolanaClient, SolanaSession } from '../../../chain/solana/client.ts'
import { createSlotCache, getMaxSlotDistance } from '../../../chain/solana/slot_cache.ts'
import { getScopePrices } from '../../../finance/price/scope/prices.ts'
import { KAMINO_MAIN, type KaminoMarket, type KaminoProgram } from '../../../finance/price/table/kamino.ts'
import { createSolanaTokens } from '../../../finance/token/solana_tokens.ts'
import { mapCooperatively } from '../../../lib/async/cooperative.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { Log } from '../../../lib/log.ts'
import { minBigint } from '../../../lib/number/fixed_point.ts'
import { type AssessedObligation, assessObligation } from '../math/risk.ts'
import { createAccountCache, type MarketObligation, type ObligationTarget } from './accounts/account_cache.ts'
import { createAnswerCheck } from './accounts/check.ts'
import { type BatchQuery, createBatchReader } from './batch.ts'
import { createFinder } from './find/find.ts'
import { createHoldingsReader } from './holdings.ts'
import { type AbsentReason, createObligationsReader } from './obligations.ts'
import { createSnapshots } from './snapshot.ts'
import { createWalletReader, type HeldObligation, type ObligationList, type WalletQuery } from './wallet.ts'

/** Time for a list, and for a batch, over all its steps and tries. */
export const LIST_BUDGET_MS = 6_000
export const BATCH_BUDGET_MS = 15_000
/** Obligations that are valued in one turn of the event loop. */
const VALUED_IN_TURN = 20
/** Reads that are cached until the next slot. */
const CACHE_ENTRIES_MAX = 10_000

/** Figures of an obligation as of a slot, or why the account is not the requested obligation. */
type ObligationReading =
  | { readonly kind: 'found'; readonly slot: bigint; readonly position: AssessedObligation }
  | { readonly kind: 'absent'; readonly reason: AbsentReason }

/** An obligation of a list and its figures. */
interface ListedObligation extends HeldObligation {
  readonly position: AssessedObligation
}

/** Obligations of a wallet that have a deposit or a debt, with their figures. */
interface WalletObligations extends ObligationList {
  readonly obligations: readonly ListedObligation[]
}

/**
 * Reads obligations with all inputs of their figures. Callers within the duration of a slot share one read.
 */
export type KaminoReader = ReturnType<typeof createKaminoReader>

/** Creates a reader, which caches wallets' obligations, the reserves of obligations and the feeds of reserves. */
export function createKaminoReader(options: {
  readonly solana: SolanaClient
  readonly program: KaminoProgram
  /** Markets in which obligations are derived if no endpoint can search. */
  readonly rows: readonly KaminoMarket[]
  /** Source of prices for tokens in other markets. @default {KAMINO_MAIN} */
  readonly market?: KaminoMarket
  readonly clock: Clock
  readonly log: Log
}) {
  const { solana, program, rows, market = KAMINO_MAIN, clock } = options
  const { slotMs } = solana
  const cache = createAccountCache(program)
  const check = createAnswerCheck(program)
  const snapshots = createSnapshots(options)
  const read = createObligationsReader({ cache, snapshots, check })
  const finder = createFinder({ program: program.programId, rows, cache, check, clock })
  const parts = { finder, read, cache, clock, slotsApartMax: getMaxSlotDistance(solana) }
  const foundAgeMaxMs = 1_000 * solana.maxSlotAgeSec
  const readList = createWalletReader(parts)
  const trustedMarkets = new Set(rows.map((row) => row.market))
  const readMany = createBatchReader({ ...parts, foundAgeMaxMs })
  const cacheOptions = { solana, clock, entriesMax: CACHE_ENTRIES_MAX }
  const singles = createSlotCache<ObligationReading>(cacheOptions)
  const lists = createSlotCache<WalletObligations>({ ...cacheOptions, budgetMs: LIST_BUDGET_MS })

  const valueAll = (held: readonly HeldObligation[]): Promise<ListedObligation[]> =>
    mapCooperatively(held, VALUED_IN_TURN, (each) => ({
      ...each,
      position: assessObligation(each.snapshot, { slotMs }),
    }))

  async function readOne(session: SolanaSession, target: ObligationTarget): Promise<ObligationReading> {
    const { reads } = await read(session, [target], 0n)
    const [obligation] = reads
    if (obligation?.kind === 'absent') return obligation
    if (obligation?.kind !== 'found') {
      throw new UpstreamError(`Cannot read Kamino obligation ${target.address}: ${obligation?.problem}`)
    }
    cache.noteObligation(target)
    const { snapshot } = obligation
    return { kind: 'found', slot: snapshot.slot, position: assessObligation(snapshot, { slotMs }) }
  }

  async function readFigures(session: SolanaSession, query: WalletQuery): Promise<WalletObligations> {
    const list = await readList(session, query)
    return { ...list, obligations: await valueAll(list.obligations) }
  }

  return {
    /** Reads all obligations of a wallet for its portfolio. */
    holdings: createHoldingsReader({
      finder,
      cache,
      snapshots,
      check,
      tokens: createSolanaTokens(clock),
      prices: getScopePrices(solana, { market, kamino: program }),
      trustedMarkets,
    }),
    /** True for markets of a table. Any account can make another one, and set the prices in it. */
    isTrusted: (market: string): boolean => trustedMarkets.has(market),
    /**
     * Reads an obligation, its market, its reserves and their live prices at one confirmed slot: in one request if it
     * was read before, else in at most three. Throws `UpstreamError` if Solana cannot be read, if an account that the
     * obligation names is missing or broken, or if the program would accept no price of a token.
     */
    readObligation(target: ObligationTarget, signal: AbortSignal): Promise<WithExpiry<ObligationReading>> {
      const { address, market, wallet } = target
      return singles(`${address}:${market}:${wallet}`, (session) => readOne(session, target), signal)
    },
    /**
     * Finds and reads all obligations of a wallet. Throws `UpstreamError` as for one obligation, and if the obligations
     * changed between finding and reading; `CodedError` INVALID_PARAMETER if they are too many.
     */
    readWallet(query: WalletQuery, signal: AbortSignal): Promise<WithExpiry<WalletObligations>> {
      const { wallet, market = '' } = query
      return lists(`${wallet}:${market}`, (session) => readFigures(session, query), signal)
    },
    /**
     * Finds and reads the obligations of many wallets, from fewer seeds if they are derived. Throws `CodedError`
     * GATEWAY_TIMEOUT after 15 s; obligations found until then are kept for a retry while they are as young as an answer.
     */
    async readWallets(query: BatchQuery, signal: AbortSignal) {
      const startedMs = clock.monotonicMs()
      const limits = { signal, untilMs: startedMs + BATCH_BUDGET_MS }
      const work = (session: SolanaSession) => readMany(session, query, limits)
      const batch = await solana.read(work, { signal, budgetMs: BATCH_BUDGET_MS })
      const obligationsByWallet = groupBy(
        await valueAll(batch.wallets.flatMap(({ obligations }) => obligations)),
        (each) => each.wallet,
      )
      const wallets = [...obligationsByWallet].map(([wallet, obligations]) => ({ wallet, obligations }))
      return { ...batch, wallets, untilMs: startedMs + slotMs }
    },
    /**
     * Reads obligations regardless of owner, each at slot `minSlot` or later. Returns the oldest slot read, its time by
     * the cluster's clock, and the positions in the order of the targets: `broken` if figures cannot be computed.
     * Throws `UpstreamError` if Solana cannot be read.
     */
    async readObligations(targets: readonly MarketObligation[], minSlot: bigint, signal: AbortSignal) {
      const work = (session: SolanaSession) => read(session, targets, minSlot)
      const { reads, slots, timestampSec } = await solana.read(work, { signal, budgetMs: LIST_BUDGET_MS })
      const positions = await mapCooperatively(reads, VALUED_IN_TURN, (each) =>
        each.kind === 'found' ? assessObligation(each.snapshot, { slotMs }) : each.kind,
      )
      return { slot: slots.reduce(minBigint), timestampSec, positions }
    },
  }
}
