import type { SolanaSession } from '../../../chain/solana/client.ts'
import { computeAnswerSlot } from '../../../chain/solana/slot_cache.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { Snapshot } from '../math/position.ts'
import type { AccountCache, ObligationTarget } from './accounts/account_cache.ts'
import type { Finder } from './find/find.ts'
import type { FoundBy } from './find/find_result.ts'
import type { ObligationRead, ObligationsRead, ObligationsReader } from './obligations.ts'

/** So often a wallet is read again because what was found and what was read are of slots far apart. */
const TRIES_MAX = 3

/** Whose obligations to read. */
export interface WalletQuery {
  readonly wallet: string
  /** Those in this market alone. */
  readonly market: string | undefined
}

/** An obligation with a deposit or a debt, and everything that its figures depend on. */
export interface HeldObligation extends ObligationTarget {
  readonly snapshot: Snapshot
}

/** Obligations of wallets as of a slot. */
export interface ObligationList extends ReturnType<typeof computeAnswerSlot> {
  /** By market, then address, as text. */
  readonly obligations: readonly HeldObligation[]
  readonly by: FoundBy
}

/** Makes a reader of wallets' obligations, which remembers them to ask for all at once. */
export function createWalletReader(options: {
  readonly finder: Finder
  readonly read: ObligationsReader
  readonly known: AccountCache
  /** How many slots may be between finding and reading. */
  readonly slotsApartMax: bigint
}) {
  const { finder, read, known, slotsApartMax } = options

  /** Reads what a wallet had before; undefined if it was never asked about. */
  async function readEarly(session: SolanaSession, { wallet, market }: WalletQuery): Promise<EarlyRead | undefined> {
    const before = known.obligationsOf(wallet)
    if (before === undefined) return undefined
    const targets = filterMarket(before, market)
    return { targets, read: await read(session, targets, 0n) }
  }

  return async (session: SolanaSession, query: WalletQuery): Promise<ObligationList> => {
    const { wallet, market } = query
    const [first, early] = await Promise.all([finder.find(session, query, 0n), readEarly(session, query)])
    let found = first
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const targets = filterMarket(found.targets, market)
      const isEarly = tries === 0 && early !== undefined && isSame(targets, early.targets)
      const asked = isEarly ? early.targets : targets
      const done = isEarly ? early.read : await read(session, targets, found.newest)
      if (done.newest - found.oldest <= slotsApartMax && found.newest - done.newest <= slotsApartMax) {
        note(found.targets, query, found.by)
        return { ...computeAnswerSlot(done.slots), obligations: filterHeld(asked, done.reads), by: found.by }
      }
      found = await finder.find(session, query, done.newest)
    }
    throw new UpstreamError(`Cannot read the obligations of wallet ${wallet}: they changed while they were read`)
  }

  /** What was found in one market alone says nothing of the others. */
  function note(targets: readonly ObligationTarget[], { wallet, market }: WalletQuery, by: FoundBy): void {
    if (by === 'search' || market === undefined) known.noteObligations(wallet, targets)
    else for (const target of targets) known.noteObligation(target)
  }
}

/**
 * Those that have a deposit or a debt, in the order of answers. Throws `UpstreamError` naming the first whose figures
 * cannot be given.
 */
export function filterHeld(targets: readonly ObligationTarget[], reads: readonly ObligationRead[]): HeldObligation[] {
  const held = targets.flatMap((target, index): HeldObligation[] => {
    const each = reads[index]
    if (each === undefined || each.kind === 'absent') return []
    if (each.kind === 'broken') throw unreadable(target, each.problem)
    const { deposits, borrows } = each.snapshot.obligation
    return deposits.length + borrows.length === 0 ? [] : [{ ...target, snapshot: each.snapshot }]
  })
  return held.sort(inOrder)
}

/** The failure of an answer that needs an obligation which cannot be read. */
function unreadable({ address, market }: ObligationTarget, problem: string): UpstreamError {
  const wayOut = `it is in market ${market}: "market_address" asks for another market alone`
  return new UpstreamError(`Cannot read Kamino obligation ${address}: ${problem}; ${wayOut}`)
}

/** A reading of what a wallet had before. */
interface EarlyRead {
  readonly targets: readonly ObligationTarget[]
  readonly read: ObligationsRead
}

/** Those of one market, or all. */
export function filterMarket(
  targets: readonly ObligationTarget[],
  market: string | undefined,
): readonly ObligationTarget[] {
  return market === undefined ? targets : targets.filter((each) => each.market === market)
}

/** True if both are the same obligations, in whichever order. */
function isSame(a: readonly ObligationTarget[], b: readonly ObligationTarget[]): boolean {
  const addresses = new Set(b.map(({ address }) => address))
  return a.length === b.length && a.every(({ address }) => addresses.has(address))
}

function inOrder(a: ObligationTarget, b: ObligationTarget): number {
  const [first, second] = a.market === b.market ? [a.address, b.address] : [a.market, b.market]
  return first < second ? -1 : 1
}
