/** Types of messages, as callers see them. */
export const MESSAGE_TYPES = [
  'trigger.fired',
  'trigger.cleared',
  'trigger.reverted',
  'trigger.paused',
  'trigger.blind',
  'trigger.sighted',
  'webhook.test',
] as const
export type MessageType = (typeof MESSAGE_TYPES)[number]

/** What is posted, and signed as this very JSON. */
export interface MessageBody {
  readonly type: MessageType
  /** ISO 8601. */
  readonly timestamp: string
  /** One English sentence, for chats that take nothing else. */
  readonly text: string
  readonly data: Readonly<Record<string, unknown>>
}
