import type { Hex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import { type Citation, presentCitation } from '../../chain/receipt/citing.ts'
import { type MessageBody, type MessageType, UNDATED } from '../message.ts'
import type { TriggerTransition } from '../step.ts'
import type { Trigger } from '../trigger.ts'
import type { TriggerPartition } from './partition.ts'

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
