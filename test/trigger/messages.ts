import { messageAdd } from '../../sql/functions.ts'
import type { Database } from '../../src/db/database.ts'
import type { MessageBody } from '../../src/trigger/message.ts'

/** A message about no change. */
interface NewMessage {
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
