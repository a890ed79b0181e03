import type { SolanaSession } from '../../../chain/solana/client.ts'
import type { AccountGroup } from '../../../chain/solana/groups.ts'
import { mapCooperatively } from '../../../lib/async/cooperative.ts'
import { maxBigint, minBigint } from '../../../lib/number/fixed_point.ts'
import type { Snapshot } from '../math/position.ts'
import type { AccountCache, MarketObligation, ObligationTarget } from './accounts/account_cache.ts'
import type { AnswerCheck } from './accounts/check.ts'
import type { Snapshots } from './snapshot.ts'

/**
 * Requests for one answer in a row. The first finds the reserves, the second their feeds, the third reads all at one
 * slot.
 */
const READS_MAX = 3
/** Requests whose accounts are decoded, and obligations that are looked at, in one turn of the event loop. */
const GROUPS_IN_TURN = 1
const OBLIGATIONS_IN_TURN = 20

/** Why an account is not the obligation that was asked for. */
export type AbsentReason = 'no_obligation' | 'other_wallet' | 'other_market'

/** What a reading says of an obligation. `problem` follows "Cannot read Kamino obligation …: ". */
export type ObligationRead =
  | { readonly kind: 'found'; readonly snapshot: Snapshot }
  | { readonly kind: 'absent'; readonly reason: AbsentReason }
  | { readonly kind: 'broken'; readonly problem: string }

/** An obligation to read. Without a wallet it is answered whoever's it is. */
type Target = MarketObligation & Partial<Pick<ObligationTarget, 'wallet'>>

/** Obligations in the order they were asked for, and the slot of each. */
export interface ObligationsRead {
  readonly reads: readonly ObligationRead[]
  /** Without obligations the slot at which there are none. */
  readonly slots: readonly bigint[]
  readonly newest: bigint
  /** When that was by the cluster's clock at the oldest slot, Unix seconds. */
  readonly timestampSec: bigint
}

/** Makes a reader of obligations whose addresses are known. */
export function createObligationsReader(options: {
  readonly known: AccountCache
  readonly snapshots: Snapshots
  readonly check: AnswerCheck
}) {
  const { known, snapshots, check } = options

  function readIn(group: AccountGroup, { address, wallet, market }: Target): ObligationRead {
    const obligation = snapshots.obligationIn(group, address)
    if (obligation === undefined) return { kind: 'absent', reason: 'no_obligation' }
    if (wallet !== undefined && obligation.owner !== wallet) return { kind: 'absent', reason: 'other_wallet' }
    if (obligation.market !== market) return { kind: 'absent', reason: 'other_market' }
    const state = snapshots.snapshotIn(group, market, obligation)
    return 'problem' in state ? { kind: 'broken', ...state } : { kind: 'found', snapshot: state }
  }

  /**
   * Reads obligations with everything their figures need, each at one slot not before `minSlot`: in one request each if
   * their reserves and feeds are known, else in up to three.
   */
  return async (session: SolanaSession, targets: readonly Target[], minSlot: bigint): Promise<ObligationsRead> => {
    if (targets.length === 0) {
      const { slot, timestampSec } = await session.accounts([], { minSlot })
      return { reads: [], slots: [slot], newest: slot, timestampSec }
    }
    let least = minSlot
    for (let left = READS_MAX; ; ) {
      const groups = await session.grouped(targets.map(known.addressesFor), { minSlot: least, check })
      await mapCooperatively([...new Set(groups)], GROUPS_IN_TURN, ({ accounts }) => known.learn(accounts))
      const reads = await mapCooperatively(targets, OBLIGATIONS_IN_TURN, (target, index) =>
        readIn(groups[index] as AccountGroup, target),
      )
      const slots = groups.map(({ slot }) => slot)
      least = slots.reduce(maxBigint)
      const isDone = --left === 0 || reads.every(({ kind }) => kind !== 'broken')
      const timestampSec = groups.map((group) => group.timestampSec).reduce(minBigint)
      if (isDone) return { reads, slots, newest: least, timestampSec }
    }
  }
}

/** Reads obligations whose addresses are known. */
export type ObligationsReader = ReturnType<typeof createObligationsReader>
