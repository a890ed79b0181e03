import { createPrivateKey } from 'node:crypto'
import type { Database } from '../../../../src/db/database.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { createDeliverer, type Deliverer } from '../../../../src/trigger/deliver/deliver.ts'
import { createPost } from '../../../../src/trigger/deliver/post.ts'
import type { SigningKeys } from '../../../../src/trigger/deliver/sign.ts'
import { parseNetworks } from '../../networks.ts'
import { createFixedClock } from '../../test_clock.ts'
import { addMessages } from '../messages.ts'

/** Messages that one statement adds: a busy server must not be late for it. */
const TOGETHER_MAX = 1_000

/** Keys that every process of a test has. */
export const KEYS: SigningKeys = {
  master: new Uint8Array(32).fill(7),
  key: createPrivateKey({
    key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, 9)]),
    format: 'der',
    type: 'pkcs8',
  }),
}

export const testPost = () =>
  createPost({ rules: { allowed: parseNetworks('127.0.0.0/8'), resolve: async () => [] }, clock: systemClock })

/** What posts messages, as a process has it, with the faults that its log names. */
export function deliverer(db: Database, options: Partial<Parameters<typeof createDeliverer>[0]> = {}) {
  const faults: string[] = []
  const log = createLog({ level: 'error', write: (line) => void faults.push(line), clock: createFixedClock() })
  const post = testPost()
  const given = { db, post, keys: async () => KEYS, clock: systemClock, log, random: () => 0.5, ...options }
  return { ...createDeliverer(given), faults }
}

/** Lets it take what is due, and waits until all that it took is noted. Gives how often it had to take. */
export async function deliverAll({ job, idle }: Deliverer, isDone: () => Promise<boolean>): Promise<number> {
  const { signal } = new AbortController()
  for (let rounds = 0; ; rounds++) {
    if (await isDone()) return rounds
    if (rounds > 1_000) throw new Error('Cannot deliver all: a thousand rounds were not enough')
    await job.round(signal)
    await idle()
  }
}

export async function createWebhook(db: Database, organizationId: string, url: string): Promise<string> {
  const id = `whk_${crypto.randomUUID()}`
  await db.run(`insert into webhook (organization_id, id, url, name) values ($1, $2, $3, '')`, [
    organizationId,
    id,
    url,
  ])
  return id
}

/** Adds messages for a webhook; the text of each is its number, from 0. */
export async function addMany(
  db: Database,
  { organizationId, webhookId, count }: { organizationId: string; webhookId: string; count: number },
): Promise<readonly string[]> {
  const timestamp = new Date().toISOString()
  const messages = Array.from({ length: count }, (_, no) => ({
    organizationId,
    triggerId: null,
    webhookId,
    body: { type: 'webhook.test' as const, timestamp, text: String(no), data: {} },
  }))
  const ids: string[] = []
  for (let from = 0; from < count; from += TOGETHER_MAX) {
    ids.push(...(await addMessages(db, messages.slice(from, from + TOGETHER_MAX))))
  }
  return ids
}

/** Messages of an organization by their id, with what is known of their tries. */
export async function readMessages(db: Database, organizationId: string) {
  return await db.run<{
    id: string
    outcome: string | null
    tries: number
    dueInSec: number | null
    leased: boolean
    noted: { status: number | null; failure: string | null }[]
  }>(
    `select m.id::text, m.outcome, m.tries, round(extract(epoch from m.due_at - now()))::integer as "dueInSec",
       m.lease_until is not null as leased,
       coalesce((
         select json_agg(json_build_object('status', t.status_code, 'failure', t.failure) order by t.no)
         from message_try t where t.organization_id = m.organization_id and t.message_no = m.no
       ), '[]') as noted
     from message m where m.organization_id = $1 order by m.no`,
    [organizationId],
  )
}

export async function readOutcomes(db: Database, organizationId: string): Promise<Record<string, number>> {
  const rows = await db.run<{ outcome: string; count: number }>(
    `select coalesce(outcome, 'open') as outcome, count(*)::integer as count from message where organization_id = $1
     group by 1`,
    [organizationId],
  )
  return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]))
}
