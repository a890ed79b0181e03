import type { WithExpiry } from '../../../chain/block_cache.ts'
import { hasFault } from '../../../chain/rpc/error.ts'
import type { SolanaClient, SolanaSession } from '../../../chain/solana/client.ts'
import { computeAnswerSlot, createSlotCache, getMaxSlotDistance } from '../../../chain/solana/slot_cache.ts'
import { getScopePrices } from '../../../finance/price/scope.ts'
import { KAMINO_MAIN, type KaminoMarket, type KaminoProgram } from '../../../finance/price/table/kamino.ts'
import { createSolanaTokens } from '../../../finance/token/solana_tokens.ts'
import { mapCooperatively, yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import { chunk, forEachLimit } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { CodedError, UpstreamError } from '../../../lib/error.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { Log } from '../../../lib/log.ts'
import { createLru } from '../../../lib/lru.ts'
import { maxBigint, minBigint } from '../../../lib/number/fixed_point.ts'
import type { Snapshot } from '../math/position.ts'
import { type AssessedObligation, assessObligation } from '../math/risk.ts'
import {
  type AccountCache,
  createAccountCache,
  type FoundBy,
  type FoundObligations,
  type MarketObligation,
  type ObligationTarget,
} from './accounts/account_cache.ts'
import { createAnswerCheck } from './accounts/check.ts'
import { createFinder, type Finder } from './find.ts'
import { createHoldingsReader } from './holdings.ts'
import {
  type AbsentReason,
  createObligationsReader,
  type ObligationRead,
  type ObligationsRead,
  type ObligationsReader,
} from './obligations.ts'
import { createSnapshots } from './snapshot.ts'

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
      slotMs,
    }),
    /** True for markets of a table. Any account can make another one, and set the prices in it. */
    isTrusted: (market: string): boolean => trustedMarkets.has(market),
    /**
     * Reads an obligation, its market, its reserves and their live prices at one confirmed slot: in one request if it
     * was read before, else in at most three. Throws `UpstreamError` if Solana cannot be read, if an account that the
     * obligation names is missing or broken, or if the program would accept no price of a token.
     */
    readObligation(target: ObligationTarget, work: Work): Promise<WithExpiry<ObligationReading>> {
      const { address, market, wallet } = target
      return singles(`${address}:${market}:${wallet}`, (session) => readOne(session, target), work)
    },
    /**
     * Finds and reads all obligations of a wallet. Throws `UpstreamError` as for one obligation, and if the obligations
     * changed between finding and reading; `CodedError` INVALID_PARAMETER if they are too many.
     */
    readWallet(query: WalletQuery, work: Work): Promise<WithExpiry<WalletObligations>> {
      const { wallet, market = '' } = query
      return lists(`${wallet}:${market}`, (session) => readFigures(session, query), work)
    },
    /**
     * Finds and reads the obligations of many wallets, from fewer seeds if they are derived. Throws `CodedError`
     * GATEWAY_TIMEOUT after 15 s; obligations found until then are kept for a retry while they are as young as an answer.
     */
    async readWallets(query: BatchQuery, work: Work) {
      const startedMs = clock.monotonicMs()
      const limits = { work, untilMs: startedMs + BATCH_BUDGET_MS }
      const task = (session: SolanaSession) => readMany(session, query, limits)
      const batch = await solana.read(task, { work, budgetMs: BATCH_BUDGET_MS })
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
    async readObligations(targets: readonly MarketObligation[], minSlot: bigint, work: Work) {
      const task = (session: SolanaSession) => read(session, targets, minSlot)
      const { reads, slots, timestampSec } = await solana.read(task, { work, budgetMs: LIST_BUDGET_MS })
      const positions = await mapCooperatively(reads, VALUED_IN_TURN, (each) =>
        each.kind === 'found' ? assessObligation(each.snapshot, { slotMs }) : each.kind,
      )
      return { slot: slots.reduce(minBigint), timestampSec, positions }
    },
  }
}

/** Highest number of obligations of one batch. */
const OBLIGATIONS_MAX = 5_000
/** Concurrent searches, and wallets whose derived addresses share one request. */
const CONCURRENCY_MAX = 16
const WALLETS_PER_DERIVATION = 10
/** Delay before a retry after all endpoints limited their rate. */
const RATE_LIMIT_DELAY_MS = 200
const FOUND_WALLETS_MAX = 20_000
const FOUND_OBLIGATIONS_MAX = 100_000
/** A failure within this time before the deadline counts as a timeout. */
const TIMEOUT_MARGIN_MS = 300

function getKey(wallet: string, market: string | undefined): string {
  return `${wallet}:${market ?? ''}`
}

/** Wallets whose obligations to read. */
interface BatchQuery extends Pick<WalletQuery, 'market'> {
  /** Without duplicates. */
  readonly wallets: readonly string[]
}

/** Time limits of a batch. */
interface BatchLimits {
  /** Deadline, milliseconds of the monotonic clock. */
  readonly untilMs: number
  readonly work: Work
}

/** Obligations of many wallets as of a slot. */
interface ObligationBatch extends Omit<ObligationList, 'obligations'> {
  /** Wallets that have obligations with a deposit or a debt, in the order of the query. */
  readonly wallets: readonly { readonly wallet: string; readonly obligations: readonly HeldObligation[] }[]
}

/** Creates a reader of many wallets' obligations, which keeps what it found in vain for a retry after a timeout. */
function createBatchReader(options: {
  readonly finder: Finder
  readonly read: ObligationsReader
  readonly clock: Clock
  /** Highest distance between finding and reading, in slots and in milliseconds. */
  readonly slotsApartMax: bigint
  readonly foundAgeMaxMs: number
}) {
  const { finder, read, clock, slotsApartMax, foundAgeMaxMs } = options
  const recentlyFound = createLru<{ readonly found: FoundObligations; readonly untilMs: number }>({
    entriesMax: FOUND_WALLETS_MAX,
    weightMax: FOUND_OBLIGATIONS_MAX,
    getWeight: ({ found: { targets } }) => targets.length,
  })

  /** Runs `task`, and again while all endpoints limit their rate and time is left. */
  async function retryRateLimited<T>(task: () => Promise<T>, { untilMs, work }: BatchLimits): Promise<T> {
    for (;;) {
      try {
        return await task()
      } catch (error) {
        if (!hasFault(error, 'busy') || clock.monotonicMs() + RATE_LIMIT_DELAY_MS >= untilMs) throw error
        await clock.sleep(RATE_LIMIT_DELAY_MS, work.signal)
      }
    }
  }

  /** Fills `foundByWallet`: from the cache if it is fresh, else by search or derivation. */
  async function findAll(
    session: SolanaSession,
    { wallets, market }: BatchQuery,
    { foundByWallet, ...limits }: BatchLimits & { readonly foundByWallet: Map<string, FoundObligations> },
  ): Promise<void> {
    const remember = (wallet: string, each: FoundObligations) => {
      foundByWallet.set(wallet, each)
      recentlyFound.set(getKey(wallet, market), { found: each, untilMs: clock.monotonicMs() + foundAgeMaxMs })
    }
    for (const wallet of wallets) {
      const recent = recentlyFound.get(getKey(wallet, market))
      if (recent !== undefined && clock.monotonicMs() < recent.untilMs) foundByWallet.set(wallet, recent.found)
    }
    const [first, ...remaining] = wallets.filter((wallet) => !foundByWallet.has(wallet))
    if (first === undefined) return
    const { slot } = await retryRateLimited(() => session.accounts([]), limits)
    const minSlot = slot > slotsApartMax ? slot - slotsApartMax : 0n
    // Each starts in its own turn of the event loop, because encoding the requests takes time.
    const derive = async (group: readonly string[], work: Work) => {
      await yieldToEventLoop()
      const narrowing = { market, minSlot }
      const derived = await retryRateLimited(() => finder.derive(session.until(work.signal), group, narrowing), {
        ...limits,
        work,
      })
      for (const [index, wallet] of group.entries()) remember(wallet, derived[index] as FoundObligations)
    }
    const search = async (wallet: string, work: Work): Promise<boolean> => {
      await yieldToEventLoop()
      const searched = await retryRateLimited(() => finder.search(session.until(work.signal), wallet, minSlot), {
        ...limits,
        work,
      })
      if (searched !== undefined) remember(wallet, searched)
      return searched !== undefined
    }
    const findOne = async (wallet: string, work: Work) => {
      if (!(await search(wallet, work))) await derive([wallet], work)
    }

    // The first wallet shows whether an endpoint can search; if not, deriving it fills the cache for the others.
    const { work } = limits
    if (await search(first, work)) await forEachLimit(remaining, CONCURRENCY_MAX, findOne, work)
    else {
      await derive([first], work)
      await forEachLimit(chunk(remaining, WALLETS_PER_DERIVATION), CONCURRENCY_MAX, derive, work)
    }
  }

  async function readFound(
    session: SolanaSession,
    { market }: BatchQuery,
    { foundByWallet, ...limits }: BatchLimits & { readonly foundByWallet: ReadonlyMap<string, FoundObligations> },
  ): Promise<ObligationBatch> {
    const targets = [...foundByWallet.values()].flatMap((each) => filterMarket(each.targets, market))
    if (targets.length > OBLIGATIONS_MAX) {
      const message = `Cannot read the obligations of these wallets: they have more than ${OBLIGATIONS_MAX}`
      throw new CodedError('INVALID_PARAMETER', `${message}, retry with fewer wallets`)
    }
    const newest = [...foundByWallet.values()].map((one) => one.newest).reduce(maxBigint)
    const { reads, slots } = await retryRateLimited(() => read(session, targets, newest), limits)
    const heldByWallet = groupBy(filterHeld(targets, reads), ({ wallet }) => wallet)
    const wallets = [...foundByWallet.keys()].flatMap((wallet) => {
      const obligations = heldByWallet.get(wallet)
      return obligations === undefined ? [] : [{ wallet, obligations }]
    })
    return {
      ...computeAnswerSlot(slots),
      wallets,
      by: [...foundByWallet.values()].map(({ by }) => by).find((by) => by !== 'search') ?? 'search',
    }
  }

  /** Reads a batch. Throws `CodedError` GATEWAY_TIMEOUT if the deadline passes. */
  return async (session: SolanaSession, query: BatchQuery, limits: BatchLimits): Promise<ObligationBatch> => {
    const foundByWallet = new Map<string, FoundObligations>()
    const total = query.wallets.length
    try {
      await findAll(session, query, { ...limits, foundByWallet })
      const foundInOrder = new Map(
        query.wallets.map((wallet) => [wallet, foundByWallet.get(wallet) as FoundObligations]),
      )
      const batch = await readFound(session, query, { ...limits, foundByWallet: foundInOrder })
      // The next batch looks again: only a retry after a timeout may build on what was found before.
      for (const wallet of query.wallets) recentlyFound.delete(getKey(wallet, query.market))
      return batch
    } catch (error) {
      if (limits.work.signal.aborted || clock.monotonicMs() + TIMEOUT_MARGIN_MS < limits.untilMs) throw error
      const isDerived = [...foundByWallet.values()].some(({ by }) => by !== 'search')
      const advice = isDerived ? '; no endpoint searches programs: set SOLANA_RPC_URL to one that does' : ''
      const message = `Cannot answer: read ${foundByWallet.size} of ${total} wallets in time; retry with fewer wallets${advice}`
      throw new CodedError('GATEWAY_TIMEOUT', message, { cause: error })
    }
  }
}

/** Attempts to find and read a wallet's obligations at slots close to each other. */
const TRIES_MAX = 3

/** Wallet whose obligations to read. */
interface WalletQuery {
  readonly wallet: string
  /** Only obligations in this market; undefined: in all. */
  readonly market: string | undefined
}

/** An obligation with a deposit or a debt, and all inputs of its figures. */
interface HeldObligation extends ObligationTarget {
  readonly snapshot: Snapshot
}

/** Obligations of wallets as of a slot. */
interface ObligationList extends ReturnType<typeof computeAnswerSlot> {
  /** Sorted by market, then address, as text. */
  readonly obligations: readonly HeldObligation[]
  readonly by: FoundBy
}

/** Creates a reader of wallets' obligations, which caches them so that the next read takes one request. */
function createWalletReader(options: {
  readonly finder: Finder
  readonly read: ObligationsReader
  readonly cache: AccountCache
  /** Highest distance in slots between finding and reading. */
  readonly slotsApartMax: bigint
}) {
  const { finder, read, cache, slotsApartMax } = options

  /** Reads the cached obligations of a wallet, concurrently with the search; undefined if none are cached. */
  async function readEarly(session: SolanaSession, { wallet, market }: WalletQuery): Promise<EarlyRead | undefined> {
    const remembered = cache.getObligations(wallet)
    if (remembered === undefined) return undefined
    const targets = filterMarket(remembered, market)
    return { targets, read: await read(session, targets, 0n) }
  }

  return async (session: SolanaSession, query: WalletQuery): Promise<ObligationList> => {
    const { wallet, market } = query
    const [first, early] = await Promise.all([finder.find(session, query, 0n), readEarly(session, query)])
    let current = first
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const targets = filterMarket(current.targets, market)
      const isEarly = tries === 0 && early !== undefined && isSame(targets, early.targets)
      const targetsRead = isEarly ? early.targets : targets
      const result = isEarly ? early.read : await read(session, targets, current.newest)
      if (result.newest - current.oldest <= slotsApartMax && current.newest - result.newest <= slotsApartMax) {
        remember(current.targets, query, current.by)
        return {
          ...computeAnswerSlot(result.slots),
          obligations: filterHeld(targetsRead, result.reads),
          by: current.by,
        }
      }
      current = await finder.find(session, query, result.newest)
    }
    throw new UpstreamError(`Cannot read the obligations of wallet ${wallet}: they changed while they were read`)
  }

  /** Caches what was found: the whole list, or single obligations if only one market was searched. */
  function remember(targets: readonly ObligationTarget[], { wallet, market }: WalletQuery, by: FoundBy): void {
    if (by === 'search' || market === undefined) cache.noteObligations(wallet, targets)
    else for (const target of targets) cache.noteObligation(target)
  }
}

/**
 * Filters obligations that have a deposit or a debt, in the order of answers. Throws `UpstreamError` for the first
 * whose figures cannot be computed.
 */
function filterHeld(targets: readonly ObligationTarget[], reads: readonly ObligationRead[]): HeldObligation[] {
  const held = targets.flatMap((target, index): HeldObligation[] => {
    const each = reads[index]
    if (each === undefined || each.kind === 'absent') return []
    if (each.kind === 'broken') throw unreadableError(target, each.problem)
    const { deposits, borrows } = each.snapshot.obligation
    return deposits.length + borrows.length === 0 ? [] : [{ ...target, snapshot: each.snapshot }]
  })
  return held.sort(compareObligations)
}

/** Error for a list with an obligation that cannot be read. */
function unreadableError({ address, market }: ObligationTarget, problem: string): UpstreamError {
  const advice = `it is in market ${market}: "market_address" asks for another market alone`
  return new UpstreamError(`Cannot read Kamino obligation ${address}: ${problem}; ${advice}`)
}

/** Read of the cached obligations of a wallet. */
interface EarlyRead {
  readonly targets: readonly ObligationTarget[]
  readonly read: ObligationsRead
}

/** Filters obligations by market; undefined: all. */
function filterMarket(targets: readonly ObligationTarget[], market: string | undefined): readonly ObligationTarget[] {
  return market === undefined ? targets : targets.filter((each) => each.market === market)
}

/** True if both are the same obligations, in any order. */
function isSame(a: readonly ObligationTarget[], b: readonly ObligationTarget[]): boolean {
  const addresses = new Set(b.map(({ address }) => address))
  return a.length === b.length && a.every(({ address }) => addresses.has(address))
}

function compareObligations(a: ObligationTarget, b: ObligationTarget): number {
  const [first, second] = a.market === b.market ? [a.address, b.address] : [a.market, b.market]
  return first < second ? -1 : 1
}
