import type { Database } from '../../../src/db/database.ts'
import { CREDITS } from '../organizations.ts'
import type { createCallers } from './callers.ts'
import type { startChecker } from './receiver.ts'

interface Numbers {
  readonly log: string
  readonly balance: string
  readonly charged: string
  readonly keyed: string
}

interface MessageNumbers {
  readonly messages: number
  readonly highest: number
  readonly delivered: number
  readonly blind: number
}

/** Compares what callers and the receiver saw with what the database says. Each row: what, how many, how many differ. */
export async function compareBooks(
  db: Database,
  seen: {
    readonly callers: ReturnType<typeof createCallers>
    readonly checker: ReturnType<typeof startChecker>
    readonly moves: number
    readonly triggers: number
  },
): Promise<{ readonly rows: readonly (readonly string[])[]; readonly differs: boolean }> {
  const { callers, checker, moves, triggers } = seen
  const { keys, statuses } = callers
  const price = Math.max(...keys.map(({ credits, fresh }) => (fresh === 1 ? credits : 0)))
  const [books] = await db.run<Numbers>(
    `select (select coalesce(sum(credits), 0) from request_log_entry) as log,
       (select sum(most - spent) from spending_limit where scope = '' and period = 0) as balance,
       (select count(*) from request_log_entry where path = '/v1/lending/aave-v3' and credits > 0) as charged,
       (select count(*) from idempotency_record where idempotency_key like 'storm-%' and answered_at is not null) as keyed`,
    [],
  )
  const [told] = await db.run<MessageNumbers>(
    `select count(*)::integer as messages, max(no)::integer as highest,
       count(*) filter (where outcome = 'delivered')::integer as delivered,
       count(*) filter (where type = 'trigger.blind')::integer as blind
     from message`,
    [],
  )
  const changes = await db.run<{ changes: number; repeated: number }>(
    `select count(*)::integer as changes, count(*) filter (where type = before)::integer as repeated
     from (
       select watch_id, type, lag(type) over (partition by watch_id order by no) as before
       from message where type in ('trigger.fired', 'trigger.cleared')
     ) m group by watch_id`,
    [],
  )
  const unlike = (a: number, b: number) => Math.abs(a - b)
  const { log = '0', balance = '0', charged = '0', keyed = '0' } = books ?? {}
  const { messages = 0, highest = 0, delivered = 0, blind = 0 } = told ?? {}
  const counted: readonly (readonly [what: string, seen: number, differ: number])[] = [
    ['keys: without their answers', keys.length, keys.filter(({ answers }) => answers < 2).length],
    ['keys: answered afresh twice', keys.length, keys.filter(({ fresh }) => fresh > 1).length],
    ['keys: with differing answers', keys.length, keys.filter(({ differs }) => differs).length],
    ['keys: stored answers', Number(keyed), unlike(Number(keyed), keys.length)],
    // The first call of the preparation has no key of its own.
    ['charges: rows of keys', Number(charged), unlike(Number(charged), keys.length + 1)],
    ['credits: log and balance', Number(log), unlike(Number(log) + Number(balance), CREDITS)],
    ['credits: of an answer', price, keys.filter(({ fresh, credits }) => fresh === 1 && credits !== price).length],
    [
      'changes: of triggers',
      moves,
      changes.reduce((sum, one) => sum + unlike(one.changes, moves), (triggers - changes.length) * moves),
    ],
    ['changes: told again', moves, changes.reduce((sum, one) => sum + one.repeated, 0)],
    ['messages: numbers left out', messages, unlike(messages, highest)],
    ['messages: not delivered', messages, unlike(messages, delivered)],
    ['messages: not received', checker.bodies.size, unlike(checker.bodies.size, messages)],
    ['posts: wrong signatures', checker.seen.posts, checker.seen.wrongSignatures],
    ['posts: other bodies of one id', checker.seen.posts, checker.seen.otherBodies],
    ['triggers: told to be blind', triggers, blind],
  ]
  const answers = Object.entries(statuses).map(([status, times]) => `${times} × ${status === '0' ? 'none' : status}`)
  return {
    rows: [
      ...counted.map(([what, number, differ]) => [what, String(number), String(differ)]),
      ['answers', answers.join(', '), ''],
    ],
    differs: counted.some(([, , differ]) => differ !== 0),
  }
}
