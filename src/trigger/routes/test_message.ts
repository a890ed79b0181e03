import testSql from '../../../sql/queries/message_test.sql' with { type: 'text' }
import type { Database } from '../../db/database.ts'
import { query } from '../../db/query.ts'
import { CodedError } from '../../lib/error.ts'
import type { MessageBody } from '../message.ts'

const add = query(testSql, 'read')

const TESTS_PER_HOUR = 10

/** Adds a test message; gives its id. Throws `CodedError` if the organization has had its tests of the hour. */
export async function sendTest(
  db: Database,
  test: {
    readonly organizationId: string
    readonly triggerId: string | null
    /** Null: the feed only. */
    readonly webhookId: string | null
    readonly atMs: number
    readonly text: string
    readonly data: MessageBody['data']
  },
): Promise<string> {
  const { organizationId, triggerId, webhookId, atMs, text, data } = test
  const body: MessageBody = { type: 'webhook.test', timestamp: new Date(atMs).toISOString(), text, data }
  const params = [organizationId, triggerId ?? '', webhookId ?? '', JSON.stringify(body)] as const
  const [row] = await add(db, [...params, String(TESTS_PER_HOUR)])
  if (row === undefined) {
    throw new CodedError('INVALID_REQUEST', `Cannot send a test message: expected at most ${TESTS_PER_HOUR} an hour`)
  }
  return row.id
}
