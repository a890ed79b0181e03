import type { SolanaSession } from '../../../chain/solana/client.ts'
import { AllRateLimitedError } from '../../../chain/solana/error.ts'
import { computeAnswerSlot } from '../../../chain/solana/slot_cache.ts'
import { delay } from '../../../lib/async/abort.ts'
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

/** Obligations of one batch. */
const OBLIGATIONS_MAX = 5_000
/** Wallets that are searched for at once, and addresses of so many wallets in one request if they are derived. */
const AT_ONCE = 16
const DERIVED_TOGETHER = 10
/** Pause after an endpoint has limited its rate. */
const LIMITED_MS = 200
/** How long a wallet's obligations are not looked for again by a batch, so that one that was late gets further. */
const LATELY_MS = 120_000
const LATELY_WALLETS_MAX = 20_000
const LATELY_OBLIGATIONS_MAX = 100_000
/** A failure so shortly before the end is one for want of time. */
const END_MS = 300

/** Whose obligations to read. */
export interface BatchQuery extends Pick<WalletQuery, 'market'> {
  /** Each once. */
  readonly wallets: readonly string[]
}

/** How long a batch may take. */
interface BatchLimits {
  /** Milliseconds of the monotonic clock. */
  readonly untilMs: number
  readonly signal: AbortSignal
}

/** Obligations of many wallets as of a slot. */
export interface ObligationBatch extends Omit<ObligationList, 'obligations'> {
  /** Wallets that have obligations with a deposit or a debt, in the order they were asked for. */
  readonly wallets: readonly { readonly wallet: string; readonly obligations: readonly HeldObligation[] }[]
}

/** Makes a reader of many wallets' obligations, which remembers for a while what it has found. */
export function createBatchReader(options: {
  readonly finder: Finder
  readonly read: ObligationsReader
  readonly clock: Clock
  /** How many slots may be between finding and reading. */
  readonly slotsApartMax: bigint
}) {
  const { finder, read, clock, slotsApartMax } = options
  const lately = createLru<{ readonly found: FoundObligations; readonly untilMs: number }>({
    entriesMax: LATELY_WALLETS_MAX,
    weightMax: LATELY_OBLIGATIONS_MAX,
    weightOf: ({ found: { targets } }) => targets.length,
  })

  /** The same again and again while endpoints limit their rate and there is time. */
  async function patiently<T>(work: () => Promise<T>, { untilMs, signal }: BatchLimits): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof AllRateLimitedError) || clock.monotonicMs() + LIMITED_MS >= untilMs) throw error
        await delay(LIMITED_MS, signal)
      }
    }
  }

  /** Adds to `found` what wallets have, as far as it was not found lately. */
  async function findAll(
    session: SolanaSession,
    { wallets, market }: BatchQuery,
    { found, ...limits }: BatchLimits & { readonly found: Map<string, FoundObligations> },
  ): Promise<void> {
    const keyOf = (wallet: string) => `${wallet}:${market ?? ''}`
    const note = (wallet: string, each: FoundObligations) => {
      found.set(wallet, each)
      lately.set(keyOf(wallet), { found: each, untilMs: clock.monotonicMs() + LATELY_MS })
    }
    for (const wallet of wallets) {
      const before = lately.get(keyOf(wallet))
      if (before !== undefined && clock.monotonicMs() < before.untilMs) found.set(wallet, before.found)
    }
    const [first, ...others] = wallets.filter((wallet) => !found.has(wallet))
    if (first === undefined) return
    const { slot } = await patiently(() => session.accounts([]), limits)
    const minSlot = slot > slotsApartMax ? slot - slotsApartMax : 0n
    // Each begins in a turn of its own: to make the questions takes time.
    const derive = async (some: readonly string[], signal: AbortSignal) => {
      await yieldToEventLoop()
      const asked = { market, minSlot }
      const derived = await patiently(() => finder.derive(session.until(signal), some, asked), { ...limits, signal })
      for (const [index, wallet] of some.entries()) note(wallet, derived[index] as FoundObligations)
    }
    const search = async (wallet: string, signal: AbortSignal): Promise<boolean> => {
      await yieldToEventLoop()
      const searched = await patiently(() => finder.search(session.until(signal), wallet, minSlot), {
        ...limits,
        signal,
      })
      if (searched !== undefined) note(wallet, searched)
      return searched !== undefined
    }
    const find = async (wallet: string, signal: AbortSignal) => {
      if (!(await search(wallet, signal))) await derive([wallet], signal)
    }

    // The first shows whether there is a search and, if not, what to derive from.
    const { signal } = limits
    if (await search(first, signal)) await forEachLimit(others, AT_ONCE, find, signal)
    else {
      await derive([first], signal)
      await forEachLimit(chunk(others, DERIVED_TOGETHER), AT_ONCE, derive, signal)
    }
  }

  async function readFound(
    session: SolanaSession,
    { market }: BatchQuery,
    { found, ...limits }: BatchLimits & { readonly found: ReadonlyMap<string, FoundObligations> },
  ): Promise<ObligationBatch> {
    const targets = [...found.values()].flatMap((each) => filterMarket(each.targets, market))
    if (targets.length > OBLIGATIONS_MAX) {
      const message = `Cannot read the obligations of these wallets: they have more than ${OBLIGATIONS_MAX}`
      throw new CodedError('INVALID_PARAMETER', `${message}, retry with fewer wallets`)
    }
    const newest = [...found.values()].map((one) => one.newest).reduce(maxBigint)
    const { reads, slots } = await patiently(() => read(session, targets, newest), limits)
    const held = groupBy(filterHeld(targets, reads), ({ wallet }) => wallet)
    const wallets = [...found.keys()].flatMap((wallet) => {
      const obligations = held.get(wallet)
      return obligations === undefined ? [] : [{ wallet, obligations }]
    })
    return {
      ...computeAnswerSlot(slots),
      wallets,
      by: [...found.values()].map(({ by }) => by).find((by) => by !== 'search') ?? 'search',
    }
  }

  /** Throws `CodedError` GATEWAY_TIMEOUT if the time is over. */
  return async (session: SolanaSession, query: BatchQuery, limits: BatchLimits): Promise<ObligationBatch> => {
    const found = new Map<string, FoundObligations>()
    const total = query.wallets.length
    try {
      await findAll(session, query, { ...limits, found })
      const inOrder = new Map(query.wallets.map((wallet) => [wallet, found.get(wallet) as FoundObligations]))
      return await readFound(session, query, { ...limits, found: inOrder })
    } catch (error) {
      if (limits.signal.aborted || clock.monotonicMs() + END_MS < limits.untilMs) throw error
      const isDerived = [...found.values()].some(({ by }) => by !== 'search')
      const why = isDerived ? '; no endpoint searches programs: set SOLANA_RPC_URL to one that does' : ''
      const message = `Cannot answer: read ${found.size} of ${total} wallets in time; retry with fewer wallets${why}`
      throw new CodedError('GATEWAY_TIMEOUT', message, { cause: error })
    }
  }
}
