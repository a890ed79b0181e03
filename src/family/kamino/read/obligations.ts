import type { SolanaSession } from '../../../chain/solana/client.ts'
import type { AccountGroup } from '../../../chain/solana/groups.ts'
import { mapCooperatively } from '../../../lib/async/cooperative.ts'
import { maxBigint, minBigint } from '../../../lib/number/fixed_point.ts'
import type { Snapshot } from '../math/position.ts'
import type { AccountCache, MarketObligation, ObligationTarget } from './accounts/account_cache.ts'
import type { AnswerCheck } from './accounts/check.ts'
import type { Snapshots } from './snapshot.ts'

/**
 * Sequential requests for one answer: the first finds the reserves, the second their feeds, the third reads all at one
 * slot.
 */
const READS_MAX = 3
/** Requests whose accounts are decoded, and obligations that are interpreted, in one turn of the event loop. */
const GROUPS_IN_TURN = 1
const OBLIGATIONS_IN_TURN = 20

/** Why an account is not the requested obligation. */
export type AbsentReason = 'no_obligation' | 'other_wallet' | 'other_market'

/** Result of reading an obligation. `problem` follows "Cannot read Kamino obligation …: ". */
export type ObligationRead =
  | { readonly kind: 'found'; readonly snapshot: Snapshot }
  | { readonly kind: 'absent'; readonly reason: AbsentReason }
  | { readonly kind: 'broken'; readonly problem: string }

/** An obligation to read. Without `wallet`, the owner is not checked. */
type Target = MarketObligation & Partial<Pick<ObligationTarget, 'wallet'>>

/** Obligations in the order of the targets, and the slot of each. */
export interface ObligationsRead {
  readonly reads: readonly ObligationRead[]
  /** Slot of each; without targets, the slot of the empty answer. */
  readonly slots: readonly bigint[]
  readonly newest: bigint
  /** Time of the oldest slot by the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
}

/** Creates a reader of obligations by address. */
export function createObligationsReader(options: {
  readonly cache: AccountCache
  readonly snapshots: Snapshots
  readonly check: AnswerCheck
}) {
  const { cache, snapshots, check } = options

  function toObligationRead(group: AccountGroup, { address, wallet, market }: Target): ObligationRead {
    const layoutProblem = snapshots.findLayoutProblem(group, address)
    if (layoutProblem !== undefined) return { kind: 'broken', problem: layoutProblem }
    const obligation = snapshots.findObligation(group, address)
    if (obligation === undefined) return { kind: 'absent', reason: 'no_obligation' }
    if (wallet !== undefined && obligation.owner !== wallet) return { kind: 'absent', reason: 'other_wallet' }
    if (obligation.market !== market) return { kind: 'absent', reason: 'other_market' }
    const state = snapshots.toSnapshot(group, market, obligation)
    return 'problem' in state ? { kind: 'broken', ...state } : { kind: 'found', snapshot: state }
  }

  /**
   * Reads obligations with all inputs of their figures, each at one slot not before `minSlot`: in one request each if
   * their reserves and feeds are known, else in up to three.
   */
  return async (session: SolanaSession, targets: readonly Target[], minSlot: bigint): Promise<ObligationsRead> => {
    if (targets.length === 0) {
      const { slot, timestampSec } = await session.accounts([], { minSlot })
      return { reads: [], slots: [slot], newest: slot, timestampSec }
    }
    let currentMinSlot = minSlot
    for (let readsLeft = READS_MAX; ; ) {
      const groups = await session.grouped(targets.map(cache.listAddresses), { minSlot: currentMinSlot, check })
      await mapCooperatively([...new Set(groups)], GROUPS_IN_TURN, ({ accounts }) => cache.learn(accounts))
      const reads = await mapCooperatively(targets, OBLIGATIONS_IN_TURN, (target, index) =>
        toObligationRead(groups[index] as AccountGroup, target),
      )
      const slots = groups.map(({ slot }) => slot)
      currentMinSlot = slots.reduce(maxBigint)
      const isDone = --readsLeft === 0 || reads.every(({ kind }) => kind !== 'broken')
      const timestampSec = groups.map((group) => group.timestampSec).reduce(minBigint)
      if (isDone) return { reads, slots, newest: currentMinSlot, timestampSec }
    }
  }
}

/** Reads obligations by address. */
export type ObligationsReader = ReturnType<typeof createObligationsReader>
