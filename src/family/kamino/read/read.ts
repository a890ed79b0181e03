import type { SolanaAccount, SolanaAccounts } from '../../../chain/solana/accounts.ts'
import type { SolanaClient, SolanaSession } from '../../../chain/solana/client.ts'
import type { LendingPosition } from '../../../finance/math/lending.ts'
import { entriesIn, scopeFeedOf } from '../../../finance/price/scope/layout.ts'
import { priceOf } from '../../../finance/price/scope/price.ts'
import type { KaminoProgram } from '../../../finance/price/table/kamino.ts'
import { createCache } from '../../../lib/cache.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { Log } from '../../../lib/log.ts'
import { createRecent } from '../../../lib/recent.ts'
import { type Asset, elevationGroupOf, isSoundReserve, positionOf, type Snapshot } from '../math/position.ts'
import {
  type ACCOUNT_KINDS,
  decodeMarket,
  decodeObligation,
  decodeReserve,
  isAccount,
  lastUpdateSlotOf,
  type Reserve,
} from './layout.ts'

/** Requests for one answer. The first finds the reserves, the second their feeds, the third reads all at one slot. */
const READS_MAX = 3
/** Obligations and reserves that are remembered; beyond that the oldest are forgotten. */
const REMEMBERED_MAX = 10_000
/** Readings that are kept until the next slot. */
const CACHE_ENTRIES_MAX = 10_000

/** Which obligation to read. It is answered only if all three belong together. */
interface ObligationQuery {
  readonly obligationAddress: string
  readonly marketAddress: string
  readonly wallet: string
}

/** An obligation's figures as of a slot. */
export interface FoundObligation {
  readonly kind: 'found'
  readonly slot: bigint
  readonly position: LendingPosition
  /** Until when the slot is the newest, milliseconds of the monotonic clock. */
  readonly untilMs: number
}

/** Why the accounts are not the obligation that was asked for. */
interface AbsentObligation {
  readonly kind: 'absent'
  readonly reason: 'no_obligation' | 'other_wallet' | 'other_market'
}

/** What was read of an obligation. */
export type ObligationReading = FoundObligation | AbsentObligation

/** Reads obligations with everything their figures need. */
export interface ObligationReader {
  /**
   * Reads an obligation, its market, its reserves and their live prices at one confirmed slot, in at most three
   * requests, and in one if it was read before. Callers that ask within the duration of a slot share one reading.
   * Throws `UpstreamError` if Solana cannot be read, if an account that the obligation names is missing or broken, or if
   * the program would accept no price of a token.
   */
  read(query: ObligationQuery, signal: AbortSignal): Promise<ObligationReading>
}

type Accounts = ReadonlyMap<string, SolanaAccount | null>

/** When accounts were read. */
type Moment = Pick<Snapshot, 'slot' | 'timestampSec'>

/** What one set of accounts gives: an answer, or why there is none yet. */
type Verdict = Snapshot | AbsentObligation | string

/** Makes a reader. It remembers the reserves of obligations and the feeds of reserves, to ask for all at once. */
export function createObligationReader(options: {
  readonly solana: SolanaClient
  readonly program: KaminoProgram
  readonly clock: Clock
  readonly log: Log
}): ObligationReader {
  const { solana, program, clock, log } = options
  const { slotMs } = solana
  const cache = createCache<ObligationReading>({ clock, entriesMax: CACHE_ENTRIES_MAX })
  const reservesOf = createRecent<readonly string[]>({ entriesMax: REMEMBERED_MAX })
  const feedOf = createRecent<string>({ entriesMax: REMEMBERED_MAX })

  function addressesFor({ obligationAddress, marketAddress }: ObligationQuery): string[] {
    const reserves = reservesOf.get(obligationAddress) ?? []
    const feeds = reserves.map((reserve) => feedOf.get(reserve)).filter((feed) => feed !== undefined)
    return [...new Set([obligationAddress, marketAddress, ...reserves, ...feeds])]
  }

  function own(accounts: Accounts, address: string, kind: keyof typeof ACCOUNT_KINDS) {
    const account = accounts.get(address)
    return account?.owner === program.programId && isAccount(kind, account.data) ? account.data : undefined
  }

  /** Throws if an account was refreshed after the slot that the node answers from: such an answer cannot be right. */
  function checkSlots({ slot, accounts }: SolanaAccounts): void {
    for (const account of accounts) {
      if (account?.owner !== program.programId) continue
      const { data } = account
      const isDated = isAccount('obligation', data) || isAccount('reserve', data)
      if (isDated && lastUpdateSlotOf(data) > slot) {
        throw new UpstreamError('The endpoint answered from a slot before one that it shows')
      }
    }
  }

  function verdictOn(query: ObligationQuery, accounts: Accounts, moment: Moment): Verdict {
    const data = own(accounts, query.obligationAddress, 'obligation')
    if (data === undefined) return absent('no_obligation')
    const obligation = decodeObligation(data)
    if (obligation.owner !== query.wallet) return absent('other_wallet')
    if (obligation.market !== query.marketAddress) return absent('other_market')
    const addresses = [...new Set([...obligation.deposits, ...obligation.borrows].map(({ reserve }) => reserve))]
    reservesOf.set(query.obligationAddress, addresses)

    const marketData = own(accounts, query.marketAddress, 'market')
    if (marketData === undefined) return 'its market is missing or broken'
    const market = decodeMarket(marketData)
    if (elevationGroupOf(obligation, market) === 'unknown') return 'its elevation group is unknown'
    if (market.referralFeeBps > 10_000n) return 'its market is missing or broken'
    if (obligation.borrows.some(({ cumulativeRateSf }) => cumulativeRateSf === 0n)) return 'it is broken'

    const reserves = reservesIn(addresses, accounts, query)
    if (reserves === undefined) return 'a reserve is missing or broken'
    const wanted = [...reserves.values()].map(scopeFeedOf).filter((feed) => feed !== undefined)
    if (wanted.some((feed) => !accounts.has(feed))) return 'its prices were not read'
    const assets = priced(reserves, accounts, moment)
    return typeof assets === 'string' ? assets : { ...moment, obligation, market, assets }
  }

  function reservesIn(
    addresses: readonly string[],
    accounts: Accounts,
    { marketAddress }: ObligationQuery,
  ): ReadonlyMap<string, Reserve> | undefined {
    const reserves = new Map<string, Reserve>()
    for (const address of addresses) {
      const data = own(accounts, address, 'reserve')
      if (data === undefined) continue
      const reserve = decodeReserve(data)
      if (reserve.market !== marketAddress || !isSoundReserve(reserve)) continue
      const feed = scopeFeedOf(reserve)
      if (feed !== undefined) feedOf.set(address, feed)
      reserves.set(address, reserve)
    }
    return reserves.size === addresses.length ? reserves : undefined
  }

  function priced(
    reserves: ReadonlyMap<string, Reserve>,
    accounts: Accounts,
    { slot, timestampSec }: Moment,
  ): ReadonlyMap<string, Asset> | string {
    const assets = new Map<string, Asset>()
    for (const [address, reserve] of reserves) {
      const entries = entriesIn(accounts, reserve, program)
      const found = priceOf(reserve, { entries, nowSec: timestampSec })
      if (found.kind === 'none') return `the price of reserve ${address} ${found.problem}`
      if (found.kind === 'cached' && scopeFeedOf(reserve) !== undefined) {
        log.warn({ msg: 'Used the cached price of a Kamino reserve', reserve: address, slot })
      }
      assets.set(address, { reserve, price: found.price })
    }
    return assets
  }

  async function readIn(session: SolanaSession, query: ObligationQuery): Promise<Snapshot | AbsentObligation> {
    let minSlot = 0n
    let problem = ''
    for (let reads = 0; reads < READS_MAX; reads++) {
      const addresses = addressesFor(query)
      const { slot, timestampSec, accounts } = await session.accounts(addresses, { minSlot, check: checkSlots })
      const byAddress = new Map(addresses.map((address, index) => [address, accounts[index] ?? null]))
      const verdict = verdictOn(query, byAddress, { slot, timestampSec })
      if (typeof verdict !== 'string') return verdict
      problem = verdict
      minSlot = slot
    }
    throw new UpstreamError(`Cannot read Kamino obligation ${query.obligationAddress}: ${problem}`)
  }

  return {
    read(query, signal) {
      const readOnce = async (shared: AbortSignal) => {
        const startedMs = clock.monotonicMs()
        const reading = await solana.read((session) => readIn(session, query), { signal: shared })
        // The node answered from its newest slot, so the next one comes at most a slot after the request.
        const untilMs = startedMs + slotMs
        const value: ObligationReading =
          'kind' in reading
            ? reading
            : { kind: 'found', slot: reading.slot, position: positionOf(reading, { slotMs }), untilMs }
        return { value, lifeMs: untilMs - clock.monotonicMs() }
      }
      return cache.get({ key: keyOf(query), read: readOnce, joinMs: slotMs }, signal)
    },
  }
}

function keyOf({ obligationAddress, marketAddress, wallet }: ObligationQuery): string {
  return `${obligationAddress}:${marketAddress}:${wallet}`
}

function absent(reason: AbsentObligation['reason']): AbsentObligation {
  return { kind: 'absent', reason }
}
