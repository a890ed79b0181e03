import type { SolanaSession } from '../../../chain/solana/client.ts'
import { AllRateLimitedError } from '../../../chain/solana/error.ts'
import { computeAnswerSlot } from '../../../chain/solana/slot_cache.ts'
import { chunk } from '../../../lib/async/chunk.ts'
import { yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import { forEachLimit } from '../../../lib/async/for_each_limit.ts'
import type { Clock } from '../../../lib/clock.ts'
import { CodedError } from '../../../lib/error.ts'
import { groupBy } from '../../../lib/group_by.ts'
import { createLru } from '../../../lib/lru.ts'
import { maxBigint } from '../../../lib/number/fixed_point.ts'
import type { Finder } from './find/find.ts'
import type { FoundObligations } from './find/find_result.ts'
import type { ObligationsReader } from './obligations.ts'
import { filterHeld, filterMarket, type HeldObligation, type ObligationList, type WalletQuery } from './wallet.ts'

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
export interface BatchQuery extends Pick<WalletQuery, 'market'> {
  /** Without duplicates. */
  readonly wallets: readonly string[]
}

/** Time limits of a batch. */
interface BatchLimits {
  /** Deadline, milliseconds of the monotonic clock. */
  readonly untilMs: number
  readonly signal: AbortSignal
}

/** Obligations of many wallets as of a slot. */
export interface ObligationBatch extends Omit<ObligationList, 'obligations'> {
  /** Wallets that have obligations with a deposit or a debt, in the order of the query. */
  readonly wallets: readonly { readonly wallet: string; readonly obligations: readonly HeldObligation[] }[]
}

/** Creates a reader of many wallets' obligations, which keeps what it found in vain for a retry after a timeout. */
export function createBatchReader(options: {
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

  /** Runs `work`, and again while all endpoints limit their rate and time is left. */
  async function retryRateLimited<T>(work: () => Promise<T>, { untilMs, signal }: BatchLimits): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof AllRateLimitedError) || clock.monotonicMs() + RATE_LIMIT_DELAY_MS >= untilMs) throw error
        await clock.sleep(RATE_LIMIT_DELAY_MS, signal)
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
    const derive = async (group: readonly string[], signal: AbortSignal) => {
      await yieldToEventLoop()
      const narrowing = { market, minSlot }
      const derived = await retryRateLimited(() => finder.derive(session.until(signal), group, narrowing), {
        ...limits,
        signal,
      })
      for (const [index, wallet] of group.entries()) remember(wallet, derived[index] as FoundObligations)
    }
    const search = async (wallet: string, signal: AbortSignal): Promise<boolean> => {
      await yieldToEventLoop()
      const searched = await retryRateLimited(() => finder.search(session.until(signal), wallet, minSlot), {
        ...limits,
        signal,
      })
      if (searched !== undefined) remember(wallet, searched)
      return searched !== undefined
    }
    const findOne = async (wallet: string, signal: AbortSignal) => {
      if (!(await search(wallet, signal))) await derive([wallet], signal)
    }

    // The first wallet shows whether an endpoint can search; if not, deriving it fills the cache for the others.
    const { signal } = limits
    if (await search(first, signal)) await forEachLimit(remaining, CONCURRENCY_MAX, findOne, signal)
    else {
      await derive([first], signal)
      await forEachLimit(chunk(remaining, WALLETS_PER_DERIVATION), CONCURRENCY_MAX, derive, signal)
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
      if (limits.signal.aborted || clock.monotonicMs() + TIMEOUT_MARGIN_MS < limits.untilMs) throw error
      const isDerived = [...foundByWallet.values()].some(({ by }) => by !== 'search')
      const advice = isDerived ? '; no endpoint searches programs: set SOLANA_RPC_URL to one that does' : ''
      const message = `Cannot answer: read ${foundByWallet.size} of ${total} wallets in time; retry with fewer wallets${advice}`
      throw new CodedError('GATEWAY_TIMEOUT', message, { cause: error })
    }
  }
}
