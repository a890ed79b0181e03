import { triggerBlind, triggerCommit, triggerHour, triggerTake } from '../../../sql/functions.ts'
import type { Database } from '../../db/database.ts'
import type { NotifiedChange } from '../step.ts'
import type { BlockMark, FinalityLevel, Trigger, TriggerState } from '../trigger.ts'
import type { ChangeMessage } from './change_message.ts'

/** What one loop evaluates: the triggers of a chain with the same finality, or a shard of them. */
export interface TriggerPartition {
  readonly chainId: number
  readonly chainName: string
  readonly finality: FinalityLevel
  readonly shard: number
  /** Triggers that were not evaluated for so long are blind. */
  readonly blindAfterSec: number
  /** How long a process has the line without committing anything. */
  readonly leaseSec: number
}

/** A line of which this process is the only one that commits, as long as the epoch is the same. */
export interface PartitionLease {
  readonly epoch: string
  /** The block that was evaluated last; null if none was. */
  readonly at: BlockMark | null
}

/** What becomes of one trigger at a block. */
export interface TriggerChange {
  readonly trigger: Trigger
  readonly before: TriggerState
  readonly after: TriggerState
  readonly messages: readonly ChangeMessage[]
  /** What was told of it now, or is known at another block. */
  readonly told: readonly NotifiedChange[]
  /** Changes that were reverted. */
  readonly reverted: readonly number[]
}

export interface BlockCommit {
  readonly line: TriggerPartition
  readonly tenure: PartitionLease
  readonly block: BlockMark
  /** What was evaluated from this block on was replaced; null if nothing was. */
  readonly fork: bigint | null
  /** Older blocks are final. */
  readonly final: bigint
  /** Families that were evaluated. */
  readonly families: readonly string[]
  readonly nowMs: number
  readonly changes: readonly TriggerChange[]
}

/** What a message about a change costs. */
const MESSAGE_CREDITS = 2
const CHARGED: readonly string[] = ['trigger.fired', 'trigger.cleared']
const COMMIT_DEADLINE_MS = 10_000

/** Takes a line, or keeps it. Undefined if another process has it. Throws as `Database.run`. */
export async function acquirePartition(
  db: Database,
  line: TriggerPartition,
  holder: string,
): Promise<PartitionLease | undefined> {
  const { chainId, finality, shard, leaseSec: sec } = line
  const [row] = await triggerTake(db, { chainId, finality, shard, holder, sec })
  if (row === undefined) return undefined
  const mark = { number: BigInt(row.block), hash: hexOf(row.block_hash), timestampSec: BigInt(row.block_sec) }
  const at = mark.number < 0n ? null : mark
  return { epoch: row.epoch, at }
}

/**
 * Commits what a block changed, whole or not at all. Gives the changes that were not made, because somebody else changed
 * the trigger or credits do not pay for them; undefined if the line is another process's or is elsewhere. Throws as
 * `Database.run`: it may then be committed or not.
 */
export async function commitBlock(db: Database, commit: BlockCommit): Promise<readonly TriggerChange[] | undefined> {
  const { line, tenure, block, fork, final, families, nowMs, changes } = commit
  const { chainId, chainName, finality, shard, blindAfterSec, leaseSec } = line
  const numbered = changes.map((each, index) => ({ ...each, no: index + 1 }))
  const messages = numbered.flatMap(({ no, messages }) => messages.map((each) => ({ ...each, no })))
  const told = numbered.flatMap(({ no, told, reverted }) => [
    ...told.map((each) => ({ ...each, no })),
    ...reverted.map((change) => ({ no, change, block: 0n, name: '' })),
  ])
  const [row] = await triggerCommit(
    db,
    {
      chainId,
      chainName,
      finality,
      shard,
      epoch: tenure.epoch,
      leaseSec,
      limitSec: blindAfterSec,
      before: String(tenure.at?.number ?? -1n),
      beforeHash: digitsOf(tenure.at?.hash ?? ''),
      block: String(block.number),
      blockHash: digitsOf(block.hash),
      blockSec: String(block.timestampSec),
      fork: String(fork ?? -1n),
      final: String(final),
      families,
      nowMs,
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
      toldStates: told.map(({ no }) => no),
      toldChanges: told.map(({ change }) => change),
      toldBlocks: told.map(({ block }) => String(block)),
      toldNames: told.map(({ name }) => name),
    },
    { deadlineMs: COMMIT_DEADLINE_MS },
  )
  if (row?.done !== true) return undefined
  const failed = new Set(row.failed)
  return changes.filter((_, index) => failed.has(index + 1))
}

/** Says once to everybody concerned that their triggers are not evaluated. Gives how many were told. */
export async function notifyBlindTriggers(
  db: Database,
  line: TriggerPartition,
  { epoch }: PartitionLease,
): Promise<number> {
  const { chainId, finality, shard, blindAfterSec: limitSec, chainName } = line
  return await triggerBlind(db, { chainId, finality, shard, epoch, limitSec, chainName })
}

/** Charges an hour for the triggers of at most so many organizations; 0 if none is left. */
export async function chargeHour(db: Database, hour: number, organizationsMax: number): Promise<number> {
  return await triggerHour(db, { hour, limit: organizationsMax })
}

function digitsOf(hash: string): string {
  return hash.slice(2)
}

function hexOf(digits: string): string {
  return digits === '' ? '' : `0x${digits}`
}
