import { messageAdd } from '../../sql/functions.ts'
import type { Database } from '../db/database.ts'

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

/** A message about no change. */
export interface NewMessage {
  readonly organizationId: string
  /** Null if it is about none. */
  readonly triggerId: string | null
  /** Null: the feed only. */
  readonly webhookId: string | null
  readonly body: MessageBody
}

/** Adds messages, each the next of its organization in the feed, due at once. Returns their ids in order. */
export async function addMessages(db: Database, messages: readonly NewMessage[]): Promise<readonly string[]> {
  return await messageAdd(db, {
    organizations: messages.map(({ organizationId }) => organizationId),
    watches: messages.map(({ triggerId }) => triggerId ?? ''),
    changes: messages.map(() => 0),
    types: messages.map(({ body }) => body.type),
    bodies: messages.map(({ body }) => JSON.stringify(body)),
    webhooks: messages.map(({ webhookId }) => webhookId ?? ''),
  })
}
