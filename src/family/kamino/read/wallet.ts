import type { SolanaSession } from '../../../chain/solana/client.ts'
import { computeAnswerSlot } from '../../../chain/solana/slot_cache.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { Snapshot } from '../math/position.ts'
import type { AccountCache, ObligationTarget } from './accounts/account_cache.ts'
import type { Finder } from './find/find.ts'
import type { FoundBy } from './find/find_result.ts'
import type { ObligationRead, ObligationsRead, ObligationsReader } from './obligations.ts'

/** Attempts to find and read a wallet's obligations at slots close to each other. */
const TRIES_MAX = 3

/** Wallet whose obligations to read. */
export interface WalletQuery {
  readonly wallet: string
  /** Only obligations in this market; undefined: in all. */
  readonly market: string | undefined
}

/** An obligation with a deposit or a debt, and all inputs of its figures. */
export interface HeldObligation extends ObligationTarget {
  readonly snapshot: Snapshot
}

/** Obligations of wallets as of a slot. */
export interface ObligationList extends ReturnType<typeof computeAnswerSlot> {
  /** Sorted by market, then address, as text. */
  readonly obligations: readonly HeldObligation[]
  readonly by: FoundBy
}

/** Creates a reader of wallets' obligations, which caches them so that the next read takes one request. */
export function createWalletReader(options: {
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
export function filterHeld(targets: readonly ObligationTarget[], reads: readonly ObligationRead[]): HeldObligation[] {
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
export function filterMarket(
  targets: readonly ObligationTarget[],
  market: string | undefined,
): readonly ObligationTarget[] {
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
