/** Types of messages on the wire. */
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

/** The posted message; the signature covers its exact JSON. */
export interface MessageBody {
  readonly type: MessageType
  /** ISO 8601; `UNDATED` until the message is added. */
  readonly timestamp: string
  /** One English sentence, for chats that accept only text. */
  readonly text: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Timestamp of a body that a process makes: the database dates messages when they are added. */
export const UNDATED = ''
