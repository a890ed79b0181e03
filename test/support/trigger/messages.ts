import type { Database } from '../../../src/db/database.ts'
import type { MessageBody } from '../../../src/trigger/message.ts'

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
  const [row] = await db.run<{ ids: readonly string[] }>('select message_add($1, $2, $3, $4, $5, $6) as ids', [
    messages.map(({ organizationId }) => organizationId),
    messages.map(({ triggerId }) => triggerId ?? ''),
    messages.map(() => 0),
    messages.map(({ body }) => body.type),
    messages.map(({ body }) => JSON.stringify(body)),
    messages.map(({ webhookId }) => webhookId ?? ''),
  ])
  return row?.ids ?? []
}
