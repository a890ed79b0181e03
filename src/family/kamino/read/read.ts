import type { SolanaClient, SolanaSession } from '../../../chain/solana/client.ts'
import { scopePricesOf } from '../../../finance/price/scope/prices.ts'
import { KAMINO_MAIN, type KaminoMarket, type KaminoProgram } from '../../../finance/price/table/kamino.ts'
import { createSolanaTokens } from '../../../finance/token/solana_tokens.ts'
import { createCache } from '../../../lib/async/cache.ts'
import { mapInTurns } from '../../../lib/async/turns.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { Log } from '../../../lib/log.ts'
import { minOf } from '../../../lib/number/fixed_point.ts'
import type { AccountHoldingsReader } from '../../holding.ts'
import { type ObligationPosition, positionOf } from '../math/position.ts'
import { createCheck } from './accounts/check.ts'
import { createKnown, type MarketObligation, type ObligationTarget } from './accounts/known.ts'
import { type BatchQuery, createBatchReader, type ObligationBatch } from './batch.ts'
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
/** Readings that are kept until the next slot. */
const CACHE_ENTRIES_MAX = 10_000

/** A reading, and until when its slot is the newest, milliseconds of the monotonic clock. */
type Dated<T> = T & { readonly untilMs: number }

/** An obligation's figures as of a slot. */
interface FoundObligation {
  readonly kind: 'found'
  readonly slot: bigint
  readonly position: ObligationPosition
}

/** What was read of an obligation, or why the accounts are not the one that was asked for. */
export type ObligationReading = FoundObligation | { readonly kind: 'absent'; readonly reason: AbsentReason }

/** An obligation of a list and its figures. */
export interface ListedObligation extends HeldObligation {
  readonly position: ObligationPosition
}

/** A wallet's obligations that have a deposit or a debt, with their figures. */
export interface WalletObligations extends ObligationList {
  readonly obligations: readonly ListedObligation[]
}

/** Obligations of many wallets, with their figures. */
export interface BatchObligations extends ObligationBatch {
  readonly wallets: readonly { readonly wallet: string; readonly obligations: readonly ListedObligation[] }[]
}

/** Obligations in the order they were asked for, and what is known of each. */
export interface SomeObligations {
  /** None was read before it. */
  readonly slot: bigint
  /** Of that slot by the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
  /** `broken` if its figures cannot be told. */
  readonly positions: readonly (ObligationPosition | 'absent' | 'broken')[]
}

/**
 * Reads obligations with everything their figures need. Callers that ask within the duration of a slot share one
 * reading.
 */
export interface KaminoReader {
  /**
   * Reads an obligation, its market, its reserves and their live prices at one confirmed slot, in at most three
   * requests, and in one if it was read before. Throws `UpstreamError` if Solana cannot be read, if an account that the
   * obligation names is missing or broken, or if the program would accept no price of a token.
   */
  readObligation(target: ObligationTarget, signal: AbortSignal): Promise<Dated<ObligationReading>>
  /**
   * Finds and reads all obligations of a wallet. Throws `UpstreamError` as for one obligation, and if what was found
   * changed meanwhile; `CodedError` INVALID_PARAMETER if they are too many.
   */
  readWallet(query: WalletQuery, signal: AbortSignal): Promise<Dated<WalletObligations>>
  /**
   * The same for many wallets, of fewer seeds if they are derived. Throws `CodedError` GATEWAY_TIMEOUT after 15 s; what
   * was found until then is remembered for two minutes.
   */
  readWallets(query: BatchQuery, signal: AbortSignal): Promise<Dated<BatchObligations>>
  /**
   * Reads some obligations, whoever's they are, each at a slot that is `minSlot` or later. Throws `UpstreamError` if
   * Solana cannot be read.
   */
  readObligations(targets: readonly MarketObligation[], minSlot: bigint, signal: AbortSignal): Promise<SomeObligations>
  /** All obligations of a wallet, for its portfolio. */
  readonly holdings: AccountHoldingsReader
}

/** Makes a reader. It remembers wallets' obligations, the reserves of obligations and the feeds of reserves. */
export function createKaminoReader(options: {
  readonly solana: SolanaClient
  readonly program: KaminoProgram
  /** Markets to look for obligations in, if no endpoint can search. */
  readonly rows: readonly KaminoMarket[]
  /** Where prices of tokens in other markets come from. @default {KAMINO_MAIN} */
  readonly market?: KaminoMarket
  readonly clock: Clock
  readonly log: Log
}): KaminoReader {
  const { solana, program, rows, market = KAMINO_MAIN, clock } = options
  const { slotMs, maxSlotAgeSec } = solana
  const known = createKnown(program)
  const check = createCheck(program)
  const snapshots = createSnapshots(options)
  const read = createObligationsReader({ known, snapshots, check })
  const finder = createFinder({ program: program.programId, rows, known, check, clock })
  const slotsApartMax = BigInt(Math.ceil((maxSlotAgeSec * 1_000) / slotMs))
  const readList = createWalletReader({ finder, read, known, slotsApartMax })
  const readMany = createBatchReader({ finder, read, clock, slotsApartMax })
  const single = createCache<Dated<ObligationReading>>({ clock, entriesMax: CACHE_ENTRIES_MAX })
  const lists = createCache<Dated<WalletObligations>>({ clock, entriesMax: CACHE_ENTRIES_MAX })

  /** The node answers from its newest slot, so the next one comes at most a slot after the request. */
  async function dated<T extends object>(
    work: (session: SolanaSession) => Promise<T>,
    limits: { readonly signal: AbortSignal; readonly budgetMs?: number },
  ) {
    const startedMs = clock.monotonicMs()
    const found = await solana.read(work, limits)
    const untilMs = startedMs + slotMs
    return { value: { ...found, untilMs }, lifeMs: untilMs - clock.monotonicMs() }
  }

  async function readOne(session: SolanaSession, target: ObligationTarget): Promise<ObligationReading> {
    const { reads } = await read(session, [target], 0n)
    const [found] = reads
    if (found?.kind === 'absent') return found
    if (found?.kind !== 'found') {
      throw new UpstreamError(`Cannot read Kamino obligation ${target.address}: ${found?.problem}`)
    }
    known.noteObligation(target)
    const { snapshot } = found
    return { kind: 'found', slot: snapshot.slot, position: positionOf(snapshot, { slotMs }) }
  }

  const valued = (held: readonly HeldObligation[]): Promise<ListedObligation[]> =>
    mapInTurns(held, VALUED_IN_TURN, (each) => ({ ...each, position: positionOf(each.snapshot, { slotMs }) }))

  async function readFigures(session: SolanaSession, query: WalletQuery): Promise<WalletObligations> {
    const list = await readList(session, query)
    return { ...list, obligations: await valued(list.obligations) }
  }

  async function readBatch(query: BatchQuery, signal: AbortSignal): Promise<Dated<BatchObligations>> {
    const startedMs = clock.monotonicMs()
    const limits = { signal, untilMs: startedMs + BATCH_BUDGET_MS }
    const read = (session: SolanaSession) => readMany(session, query, limits)
    const batch = await solana.read(read, { signal, budgetMs: BATCH_BUDGET_MS })
    const all = await valued(batch.wallets.flatMap(({ obligations }) => obligations))
    let at = 0
    const wallets = batch.wallets.map(({ wallet, obligations: { length } }) => {
      const from = at
      at += length
      return { wallet, obligations: all.slice(from, at) }
    })
    return { ...batch, wallets, untilMs: startedMs + slotMs }
  }

  return {
    holdings: createHoldingsReader({
      finder,
      known,
      snapshots,
      check,
      tokens: createSolanaTokens(clock),
      prices: scopePricesOf(solana, { market, kamino: program }),
      trusted: new Set(rows.map((row) => row.market)),
    }),
    readObligation(target, signal) {
      const { address, market, wallet } = target
      const key = `${address}:${market}:${wallet}`
      const readOnce = (shared: AbortSignal) => dated((session) => readOne(session, target), { signal: shared })
      return single.get({ key, read: readOnce, joinMs: slotMs }, signal)
    },
    readWallet(query, signal) {
      const { wallet, market = '' } = query
      const readOnce = (shared: AbortSignal) =>
        dated((session) => readFigures(session, query), { signal: shared, budgetMs: LIST_BUDGET_MS })
      return lists.get({ key: `${wallet}:${market}`, read: readOnce, joinMs: slotMs }, signal)
    },
    readWallets: readBatch,
    async readObligations(targets, minSlot, signal) {
      const work = (session: SolanaSession) => read(session, targets, minSlot)
      const { reads, slots, timestampSec } = await solana.read(work, { signal, budgetMs: LIST_BUDGET_MS })
      const positions = await mapInTurns(reads, VALUED_IN_TURN, (each) =>
        each.kind === 'found' ? positionOf(each.snapshot, { slotMs }) : each.kind,
      )
      return { slot: slots.reduce(minOf), timestampSec, positions }
    },
  }
}
