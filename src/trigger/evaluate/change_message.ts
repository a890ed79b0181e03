import type { Hex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import { type Citation, presentCitation } from '../../chain/receipt/citing.ts'
import type { createYielder } from '../../lib/async/cooperative.ts'
import { type MessageBody, type MessageType, UNDATED } from '../message.ts'
import type { TriggerReorgState, TriggerTransition } from '../step.ts'
import type { Trigger } from '../trigger.ts'
import type { ApplyStep, ChangeSource } from './apply.ts'
import type { TriggerChange, TriggerPartition } from './partition.ts'
import { setReorgState, type WatchedTrigger } from './watchlist.ts'

/** The context of messages about changes. */
export interface MessageContext {
  readonly partition: TriggerPartition
  /** Path and query of the route that returns the same figures at a block. */
  answerPath(trigger: Trigger, blockNumber: bigint, owner: string | undefined): string
  /** Public URL without a trailing slash; empty if not configured. */
  readonly publicUrl: string
}

/** The block of a change. */
export interface ChangeBlock extends Pick<PinnedBlock, 'number' | 'timestampSec'> {
  /** Null on Solana. */
  readonly hash: Hex | null
}

/** The posted message about a change. */
export interface ChangeMessage {
  readonly change: number
  readonly type: MessageType
  /** JSON, without a line break. */
  readonly body: string
}

/** Creates the message about a change. */
export function createChangeMessage(
  { partition, answerPath, publicUrl }: MessageContext,
  change: {
    readonly trigger: Trigger
    readonly transition: TriggerTransition
    readonly block: ChangeBlock
    readonly cited: readonly Citation[]
    /** The wallet of a subject that need not name it. */
    readonly owner?: string | undefined
  },
): ChangeMessage {
  const { trigger, transition, block, cited, owner } = change
  const { clause, name, family, subject } = trigger
  const formatValue = (value: string | null) => ('is' in clause && value !== null ? value === 'true' : value)
  const body: MessageBody = {
    type: `trigger.${transition.kind}`,
    timestamp: UNDATED,
    text: formatSentence(partition, { trigger, transition, block }),
    data: {
      trigger_id: trigger.id,
      name,
      change: transition.change,
      chain_id: partition.chainId,
      block: {
        number: Number(block.number),
        hash: block.hash,
        timestamp: Number(block.timestampSec),
        finality: partition.finality,
      },
      family,
      subject,
      when: clause,
      value: formatValue(transition.value),
      previous_value: formatValue(transition.previous),
      citation: cited.map(presentCitation),
      answer_url: publicUrl + answerPath(trigger, block.number, owner),
    },
  }
  return { change: transition.change, type: body.type, body: JSON.stringify(body) }
}

function formatSentence(
  { chainName }: TriggerPartition,
  {
    trigger,
    transition,
    block,
  }: { readonly trigger: Trigger; readonly transition: TriggerTransition; readonly block: ChangeBlock },
): string {
  const { clause, family, subject, name } = trigger
  const subjectText = `${name === null ? '' : `${name}: `}${Object.values(subject).join(' ')} (${family}, ${chainName})`
  const blockText = `block ${block.number}`
  if (transition.kind === 'reverted')
    return `${subjectText}: change ${transition.change} is taken back, for its block was replaced (${blockText}).`
  if ('event' in clause) return `${subjectText}: ${transition.value ?? 'something'} happened in ${blockText}.`
  const figure = clause.figure.replaceAll('_', ' ')
  if ('is' in clause) return `${subjectText}: ${figure} is ${transition.value} at ${blockText}.`
  const threshold = 'below' in clause ? `below ${clause.below}` : `above ${clause.above}`
  return `${subjectText}: ${figure} is ${transition.value ?? 'unknown'}, ${transition.kind === 'fired' ? '' : 'no longer '}${threshold}, at ${blockText}.`
}

/** The change of a trigger in memory. */
export type EntryChange = TriggerChange & { readonly entry: WatchedTrigger }

/** Moves triggers in memory, and collects what moved for the commit. */
export interface ChangeCollector {
  readonly apply: ApplyStep
  move(entry: WatchedTrigger, reorgState: TriggerReorgState): void
  /** Reverts all that moved to their stored states. */
  revert(): void
  /** The changes, with their messages. Throws as the sources of the transitions. */
  listChanges(yielder: ReturnType<typeof createYielder>): Promise<readonly EntryChange[]>
}

/** Creates a collector for one block. */
export function createChangeCollector(messageContext: MessageContext): ChangeCollector {
  const moved = new Set<WatchedTrigger>()
  const transitionsByTrigger = new Map<WatchedTrigger, (ChangeSource & { readonly transition: TriggerTransition })[]>()

  function move(entry: WatchedTrigger, reorgState: TriggerReorgState): void {
    moved.add(entry)
    setReorgState(entry, reorgState)
  }

  return {
    apply(entry, { reorgState, transitions }, source) {
      if (reorgState !== entry.reorgState) move(entry, reorgState)
      if (transitions.length === 0) return
      transitionsByTrigger.set(entry, [
        ...(transitionsByTrigger.get(entry) ?? []),
        ...transitions.map((transition) => ({ ...source, transition })),
      ])
    },
    move,
    revert() {
      for (const entry of moved) revertToStored(entry)
    },
    async listChanges(yielder) {
      const changes: EntryChange[] = []
      for (const entry of moved) {
        if (yielder.isDue()) await yielder.take()
        const { trigger, stored, reorgState } = entry
        const messages = []
        for (const { cited, ...change } of transitionsByTrigger.get(entry) ?? []) {
          messages.push(createChangeMessage(messageContext, { trigger, ...change, cited: await cited() }))
        }
        const [before, after] = [stored.state, reorgState.state]
        changes.push({ entry, trigger, before, after, messages, ...diffNotified(stored, reorgState) })
      }
      return changes
    },
  }
}

/** Reverts a trigger to its stored state; it is evaluated again. */
export function revertToStored(entry: WatchedTrigger): void {
  setReorgState(entry, entry.stored)
  entry.subject.isDue = true
}

/** The difference of two states in changes that may be replaced, for the commit. */
function diffNotified(stored: TriggerReorgState, reorgState: TriggerReorgState) {
  const storedChanges = new Set([...stored.notified, ...stored.undecided])
  const all = [...reorgState.notified, ...reorgState.undecided]
  const changes = new Set(all.map(({ change }) => change))
  return {
    notified: all.filter((each) => !storedChanges.has(each)),
    reverted: [...storedChanges].flatMap(({ change }) => (changes.has(change) ? [] : [change])),
  }
}
