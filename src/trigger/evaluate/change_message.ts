import type { Hex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import { type Citation, presentCitation } from '../../chain/receipt/citing.ts'
import type { MessageBody, MessageType } from '../message.ts'
import type { TriggerTransition } from '../step.ts'
import type { Trigger } from '../trigger.ts'
import type { TriggerPartition } from './partition.ts'

/** What messages about changes need besides the change. */
export interface MessageContext {
  readonly line: TriggerPartition
  /** Path and query of the route that gives the same figures at a block. */
  answerPath(trigger: Trigger, blockNumber: bigint): string
  /** Without a slash at its end; empty if nobody knows it. */
  readonly publicUrl: string
}

/** The block of a change. */
export interface ChangeBlock extends Pick<PinnedBlock, 'number' | 'timestampSec'> {
  /** Null on Solana. */
  readonly hash: Hex | null
}

/** A message about a change, as it is posted. */
export interface ChangeMessage {
  readonly change: number
  readonly type: MessageType
  /** JSON, without a line break. */
  readonly body: string
}

/** The message about a change. */
export function createChangeMessage(
  { line, answerPath, publicUrl }: MessageContext,
  of: {
    readonly trigger: Trigger
    readonly news: TriggerTransition
    readonly block: ChangeBlock
    readonly cited: readonly Citation[]
    readonly nowMs: number
  },
): ChangeMessage {
  const { trigger, news, block, cited, nowMs } = of
  const { clause, name, family, subject } = trigger
  const shown = (value: string | null) => ('is' in clause && value !== null ? value === 'true' : value)
  const body: MessageBody = {
    type: `trigger.${news.kind}`,
    timestamp: new Date(nowMs).toISOString(),
    text: sentenceOf(line, { trigger, news, block }),
    data: {
      trigger_id: trigger.id,
      name,
      change: news.change,
      chain_id: line.chainId,
      block: {
        number: Number(block.number),
        hash: block.hash,
        timestamp: Number(block.timestampSec),
        finality: line.finality,
      },
      family,
      subject,
      when: clause,
      value: shown(news.value),
      previous_value: shown(news.previous),
      citation: cited.map(presentCitation),
      answer_url: publicUrl + answerPath(trigger, block.number),
    },
  }
  return { change: news.change, type: body.type, body: JSON.stringify(body) }
}

function sentenceOf(
  { chainName }: TriggerPartition,
  {
    trigger,
    news,
    block,
  }: { readonly trigger: Trigger; readonly news: TriggerTransition; readonly block: ChangeBlock },
): string {
  const { clause, family, subject, name } = trigger
  const whose = `${name === null ? '' : `${name}: `}${Object.values(subject).join(' ')} (${family}, ${chainName})`
  const where = `block ${block.number}`
  if (news.kind === 'reverted')
    return `${whose}: change ${news.change} is taken back, for its block was replaced (${where}).`
  if ('event' in clause) return `${whose}: ${news.value ?? 'something'} happened in ${where}.`
  const figure = clause.figure.replaceAll('_', ' ')
  if ('is' in clause) return `${whose}: ${figure} is ${news.value} at ${where}.`
  const threshold = 'below' in clause ? `below ${clause.below}` : `above ${clause.above}`
  return `${whose}: ${figure} is ${news.value ?? 'unknown'}, ${news.kind === 'fired' ? '' : 'no longer '}${threshold}, at ${where}.`
}
