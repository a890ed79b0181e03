import { afterAll, beforeAll, expect, test } from 'bun:test'
import { claimKey } from '../../../../../src/account/gate/idempotency.ts'
import {
  type SettleOutcome,
  settleBatch,
  settleChange,
  settleIdempotent,
  voidBatch,
} from '../../../../../src/account/gate/settle.ts'
import { createLogIdCache } from '../../../../../src/account/log_ids.ts'
import { type Database, SqlError } from '../../../../../src/db/database.ts'
import type { Settlement } from '../../../../../src/http/exchange/gate.ts'
import { createLedger, getLimitName } from '../../../../support/account/gate/simulation/ledger.ts'
import { createAccount, readBooks, settlement } from '../../../../support/account/scene.ts'
import { caseCount } from '../../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { mulberry } from '../../../../support/random.ts'

const AT_MS = Date.UTC(2026, 0, 5, 23, 59, 59, 990)
const CREDITS = [0, 6, 20, 1_000]
const SESSIONS = ['session_a', 'session_b']
const OPERATIONS = 14
const BATCH_MAX = 12

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(() => database.close(), 60_000)

/** What a settlement came to, or the SQLSTATE. */
function toComparable(outcomes: readonly SettleOutcome[]): readonly unknown[] {
  return outcomes.map((each) => (each instanceof SqlError ? each.code : each))
}

test('the ledger of the simulation answers and holds what PostgreSQL does', async () => {
  for (let seed = 1; seed <= caseCount(100, 10); seed++) await compareLedgers(seed, database.db)
}, 120_000)

/** Runs random statements on both, and compares each answer, and all rows at the end. */
async function compareLedgers(seed: number, postgres: Database): Promise<void> {
  const random = mulberry(seed)
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
  const ledger = createLedger({ id: 'ledger', now: () => AT_MS })
  const simulated: Database = {
    run: async <Row extends object>(...[text, params]: Parameters<Database['run']>) =>
      ledger.run(text, params) as readonly Row[],
    close: async () => {},
  }
  const accounts = await Promise.all(CREDITS.map((credits) => createAccount(postgres, { credits })))
  accounts.forEach(({ organizationId }, index) => {
    ledger.add(organizationId, { granted: CREDITS[index] ?? 0, rateLimit: 1_000, creditsPerDay: 0 })
  })
  const ids = { postgres: createLogIdCache(), simulated: createLogIdCache() }
  const sent: Settlement[] = []

  function create(): Settlement {
    const { caller } = pick(accounts)
    const status = pick([200, 200, 200, 404, 402])
    const limits = [
      { scope: 'key', id: 'key_of_day', period: 'day', spent: 0n, most: 15n },
      { scope: 'session', id: pick(SESSIONS), period: 'ever', spent: 0n, most: pick([4n, 9n]) },
      { scope: 'session', id: 'unbounded', period: 'ever', spent: 0n, most: undefined, opens: true },
    ] as const
    const made = settlement(
      { ...caller, credits: pick([0n, 5n, 1_000_000n]), limits: limits.filter(() => random() < 0.25) },
      {
        // Of two hours, which are of two days.
        requestedAtMs: AT_MS + pick([0, 0, 0, 20]),
        requestId: pick(['repeated', 'req_other']),
        path: pick(['/v1/a', '/v1/b']),
        routed: random() < 0.8,
        admitted: random() < 0.8,
        status,
        credits: status === 200 ? pick([0, 1, 2, 5]) : 0,
      },
    )
    sent.push(made)
    return made
  }

  for (let operation = 0; operation < OPERATIONS; operation++) {
    const batch = Array.from({ length: 1 + Math.floor(random() * BATCH_MAX) }, create)
    const kind = pick(['settle', 'settle', 'settle', 'again', 'void', 'answer', 'change'])
    if (kind === 'void') {
      const some = [...new Set([...batch.slice(0, 2), pick(sent), pick(sent)])]
      expect(await voidBatch(postgres, some)).toEqual([])
      expect(await voidBatch(simulated, some)).toEqual([])
    } else if (kind === 'answer' || kind === 'change') {
      const [first] = batch
      if (first === undefined) continue
      const { organizationId } = first.caller
      const claim = {
        organizationId,
        key: pick(['a', 'b']),
        hash: pick(['h', 'h', 'i']),
        settlementId: first.settlementId,
      }
      const claimed = await claimKey(postgres, claim)
      const other = await claimKey(simulated, claim)
      // What is kept of a change is not the same.
      expect(other.kind === 'changed' ? { kind: other.kind } : other).toEqual(
        claimed.kind === 'changed' ? { kind: claimed.kind } : claimed,
      )
      if (kind === 'change') {
        const settlement = { ...first, isChange: true } as const
        sent.splice(sent.indexOf(first), 1, settlement)
        const details = { id: `whk_${first.settlementId}`, url: 'https://example.org/', name: '', most: 1_000 }
        const isKept = claimed.kind === 'claimed' && random() < 0.8
        const change = { settlement, change: { kind: 'webhook_create', details }, isKept }
        const ended = [await settleChange(postgres, change), await settleChange(simulated, change)]
        const [own, other] = ended.map((each) =>
          each instanceof SqlError ? each.code : { ...each, result: undefined },
        )
        expect(other).toEqual(own)
        continue
      }
      const answered = [{ settlement: first, answer: { headers: {}, body: `${seed} ${operation}` } }]
      const outcomes = await settleIdempotent(postgres, answered)
      expect(toComparable(await settleIdempotent(simulated, answered))).toEqual(toComparable(outcomes))
    } else {
      if (kind === 'again') batch.splice(1, 1, pick(sent))
      const outcomes = await settleBatch(postgres, batch, ids.postgres)
      expect(toComparable(await settleBatch(simulated, batch, ids.simulated))).toEqual(toComparable(outcomes))
    }
  }

  const organizationIds = accounts.map(({ organizationId }) => organizationId)
  const rows = await postgres.run<{ line: string }>(
    `select concat_ws(' ', l.settlement_id, c.organization_id, c.api_key_id, l.request_id, p.path,
       (extract(epoch from l.requested_at) * 1000)::bigint, l.admitted::integer, l.status, l.credits) as line
     from request_log l join request_caller c on c.no = l.caller_no join request_path p on p.no = l.path_no
     where c.organization_id = any ($1)`,
    [organizationIds],
  )
  const lines = [...ledger.log.values()].map((each) =>
    [each.settlementId, each.organizationId, each.apiKeyId, each.requestId, each.path, each.requestedAtMs]
      .concat([Number(each.admitted), each.status, each.credits])
      .join(' '),
  )
  expect(lines.toSorted()).toEqual(rows.map(({ line }) => line).toSorted())
  const limits = await postgres.run<{ organization_id: string; scope: string; period: number; spent: string }>(
    'select organization_id, scope, period, spent from spending_limit where organization_id = any ($1)',
    [organizationIds],
  )
  const spent = new Map([...organizationIds.map((id) => [getLimitName(id), 0] as const), ...ledger.spent])
  expect(
    new Map(limits.map((each) => [getLimitName(each.organization_id, each.scope, each.period), Number(each.spent)])),
  ).toEqual(spent)
  const made = await postgres.run('select from webhook where organization_id = any ($1)', [organizationIds])
  expect(ledger.changed.length).toBe(made.length)
  for (const id of organizationIds) expect((await readBooks(postgres, id)).balance).toBe(ledger.balance(id))
}
