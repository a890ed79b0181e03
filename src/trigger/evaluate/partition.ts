import {
  triggerAcquire,
  triggerBlind,
  triggerCommit,
  triggerHour,
  triggerSkip,
  triggerUnseen,
} from '../../../sql/functions.ts'
import { type Database, isRowFault } from '../../db/database.ts'
import { halve } from '../../lib/async/halves.ts'
import type { NotifiedChange } from '../step.ts'
import type { BlockMark, FinalityLevel, Trigger, TriggerState } from '../trigger.ts'
import type { ChangeMessage } from './change_message.ts'

/** The triggers that one loop evaluates: those of a chain with the same finality, or a shard of them. */
export interface TriggerPartition {
  readonly chainId: number
  readonly chainName: string
  readonly finality: FinalityLevel
  readonly shard: number
  /** Triggers that were not evaluated for this long are blind, seconds. */
  readonly blindAfterSec: number
  /** Duration of the lease without a commit, seconds. */
  readonly leaseSec: number
}

/** The lease on a partition: only this process commits while the epoch is the same. */
export interface PartitionLease {
  readonly epoch: string
  /** The last evaluated block; null if there is none. */
  readonly at: BlockMark | null
}

/** The change of one trigger at a block. */
export interface TriggerChange {
  readonly trigger: Trigger
  readonly before: TriggerState
  readonly after: TriggerState
  readonly messages: readonly ChangeMessage[]
  /** Changes that are newly notified, or moved to another block. */
  readonly notified: readonly NotifiedChange[]
  /** Reverted changes. */
  readonly reverted: readonly number[]
}

export interface BlockCommit {
  readonly partition: TriggerPartition
  readonly lease: PartitionLease
  readonly block: BlockMark
  /** First replaced block; null if none was replaced. */
  readonly fork: bigint | null
  /** Older blocks are final. */
  readonly final: bigint
  /** Families that were evaluated. */
  readonly families: readonly string[]
  readonly changes: readonly TriggerChange[]
}

/** Price of a message about a change, credits. */
const MESSAGE_CREDITS = 2
const CHARGED: readonly string[] = ['trigger.fired', 'trigger.cleared']
const COMMIT_DEADLINE_MS = 10_000
/** An organization may have 100,000 triggers. */
const HOUR_DEADLINE_MS = 60_000

/**
 * Acquires or renews the lease on a partition; undefined if another process holds it. A partition with a `leaseSec` of
 * 0 stays with its holder until another process takes it. `patienceSec`: how long a lease must be over before this
 * process takes it from another. Throws as `Database.run`.
 */
export async function acquirePartition(
  db: Database,
  partition: TriggerPartition,
  { holder, patienceSec = 0 }: { readonly holder: string; readonly patienceSec?: number },
): Promise<PartitionLease | undefined> {
  const { chainId, finality, shard, leaseSec: sec } = partition
  const [row] = await triggerAcquire(db, { chainId, finality, shard, holder, sec, patienceSec })
  if (row === undefined) return undefined
  const mark = { number: BigInt(row.block), hash: toHex(row.block_hash), timestampSec: BigInt(row.block_sec) }
  const at = mark.number < 0n ? null : mark
  return { epoch: row.epoch, at }
}

/** What became of the changes of a commit that were not made. */
export interface CommitOutcome {
  /** Changes of triggers that were edited, or that the credits do not suffice for. */
  readonly failed: readonly TriggerChange[]
  /** Changes that the database can never store. */
  readonly refused: readonly TriggerChange[]
}

/**
 * Commits the changes of a block atomically. If the database refuses the content of one, the changes are committed in
 * halves, until it is left out alone. Returns the changes that were not made; undefined if another process holds the
 * lease or the partition is at another block. Throws as `Database.run`: the outcome is then unknown.
 */
export async function commitBlock(db: Database, commit: BlockCommit): Promise<CommitOutcome | undefined> {
  const { block, changes } = commit
  try {
    const failed = await commitTogether(db, commit)
    return failed && { failed, refused: [] }
  } catch (error) {
    if (!isRowFault(error) || changes.length === 0) throw error
  }
  if (changes.length === 1) {
    const rest = await commitBlock(db, { ...commit, changes: [] })
    return rest && { failed: [], refused: changes }
  }
  const [first, second] = halve(changes)
  const outcome = await commitBlock(db, { ...commit, changes: first })
  if (outcome === undefined) return undefined
  const lease = { ...commit.lease, at: block }
  const others = await commitBlock(db, { ...commit, lease, changes: second })
  if (others === undefined) return undefined
  return { failed: [...outcome.failed, ...others.failed], refused: [...outcome.refused, ...others.refused] }
}

/** The changes that failed; undefined and errors as `commitBlock`. */
async function commitTogether(db: Database, commit: BlockCommit): Promise<readonly TriggerChange[] | undefined> {
  const { partition, lease, block, fork, final, families, changes } = commit
  const { chainId, chainName, finality, shard, blindAfterSec, leaseSec } = partition
  const numbered = changes.map((each, index) => ({ ...each, no: index + 1 }))
  const messages = numbered.flatMap(({ no, messages }) => messages.map((each) => ({ ...each, no })))
  const notified = numbered.flatMap(({ no, notified, reverted }) => [
    ...notified.map((each) => ({ ...each, no })),
    ...reverted.map((change) => ({ no, change, block: 0n, name: '' })),
  ])
  const [row] = await triggerCommit(
    db,
    {
      chainId,
      chainName,
      finality,
      shard,
      epoch: lease.epoch,
      leaseSec,
      limitSec: blindAfterSec,
      before: String(lease.at?.number ?? -1n),
      beforeHash: toDigits(lease.at?.hash ?? ''),
      block: String(block.number),
      blockHash: toDigits(block.hash),
      blockSec: String(block.timestampSec),
      fork: String(fork ?? -1n),
      final: String(final),
      families,
      nowMs: 0,
      organizations: changes.map(({ trigger }) => trigger.organizationId),
      ids: changes.map(({ trigger }) => trigger.id),
      editions: changes.map(({ before }) => before.edition),
      numbers: changes.map(({ before }) => before.changes),
      phases: changes.map(({ after }) => after.phase),
      held: changes.map(({ after }) => after.heldBlocks),
      changes: changes.map(({ after }) => after.changes),
      values: changes.map(({ after }) => after.value ?? ''),
      since: changes.map(({ after }) => String(after.since ?? -1n)),
      dues: changes.map((each) => MESSAGE_CREDITS * each.messages.filter(({ type }) => CHARGED.includes(type)).length),
      messageStates: messages.map(({ no }) => no),
      messageChanges: messages.map(({ change }) => change),
      types: messages.map(({ type }) => type),
      bodies: messages.map(({ body }) => body).join('\n'),
      toldStates: notified.map(({ no }) => no),
      toldChanges: notified.map(({ change }) => change),
      toldBlocks: notified.map(({ block }) => String(block)),
      toldNames: notified.map(({ name }) => name),
    },
    { deadlineMs: COMMIT_DEADLINE_MS },
  )
  if (row?.done !== true) return undefined
  const failed = new Set(row.failed)
  return changes.filter((_, index) => failed.has(index + 1))
}

/** Notifies affected owners once that their triggers are not evaluated. Returns the number of messages. */
export async function notifyBlindTriggers(
  db: Database,
  partition: TriggerPartition,
  { epoch }: PartitionLease,
): Promise<number> {
  const { chainId, finality, shard, blindAfterSec: limitSec, chainName } = partition
  return await triggerBlind(db, { chainId, finality, shard, epoch, limitSec, chainName })
}

/**
 * Charges the triggers of one organization for the hours that they used up to the last full hour of the database's clock.
 * False if none is left.
 */
export async function chargeHour(db: Database): Promise<boolean> {
  return (await triggerHour(db, { hour: 0, limit: 1 }, { deadlineMs: HOUR_DEADLINE_MS })) > 0
}

/**
 * Notifies owners that blocks from `first` on are left out for triggers of some families. Returns the number of messages.
 * Throws as `Database.run`.
 */
export async function notifySkippedBlocks(
  db: Database,
  input: {
    readonly partition: TriggerPartition
    readonly lease: PartitionLease
    readonly first: bigint
    readonly families: readonly string[]
  },
): Promise<number> {
  const { partition, lease, first, families } = input
  const { chainId, finality, shard, chainName } = partition
  return await triggerSkip(db, {
    chainId,
    finality,
    shard,
    epoch: lease.epoch,
    block: String(first),
    families,
    chainName,
  })
}

/** Stores which triggers were left out at a block, and which are evaluated again. Throws as `Database.run`. */
export async function storeUnseen(
  db: Database,
  input: {
    readonly partition: TriggerPartition
    readonly lease: PartitionLease
    readonly block: bigint
    readonly missed: readonly { readonly trigger: Trigger }[]
    readonly seen: readonly { readonly trigger: Trigger }[]
  },
): Promise<void> {
  const { partition, lease, block, missed, seen } = input
  const { chainId, finality, shard } = partition
  await triggerUnseen(db, {
    chainId,
    finality,
    shard,
    epoch: lease.epoch,
    block: String(block),
    organizations: missed.map(({ trigger }) => trigger.organizationId),
    ids: missed.map(({ trigger }) => trigger.id),
    seenOrganizations: seen.map(({ trigger }) => trigger.organizationId),
    seenIds: seen.map(({ trigger }) => trigger.id),
  })
}

function toDigits(hash: string): string {
  return hash.slice(2)
}

function toHex(digits: string): string {
  return digits === '' ? '' : `0x${digits}`
}
