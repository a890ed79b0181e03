import { afterAll, beforeAll, expect, test } from 'bun:test'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { mintKey } from '../../../src/account/key.ts'
import { setOrganizationState } from '../../../src/account/organization.ts'
import type { Database } from '../../../src/db/database.ts'
import type { Endpoint } from '../../../src/http/plane/plane.ts'
import { createLog } from '../../../src/lib/log.ts'
import { createAccount } from '../../support/account/scene.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { ORIGIN, openProcess, type Process } from '../../support/operator/scene.ts'
import { createFixedClock } from '../../support/test_clock.ts'

/** Requests at once to each path, half of them with an `Idempotency-Key`. */
const REQUESTS = 8
/** What they may cost together: far less than one each. */
const STATEMENTS_MAX = 3
const LINES_MAX = 1
/** Far more bursts than two seconds meet in a row. */
const TRIES_MAX = 50
/** Paths that no route has, and a method that none takes. */
const OTHERS: readonly Endpoint[] = [
  { method: 'GET', path: '/nothing' },
  { method: 'GET', path: '/v1/nothing/of/the/kind' },
  { method: 'GET', path: '/assets/0000000000000000/main.js' },
  { method: 'GET', path: '/admin/v1/nothing' },
  { method: 'GET', path: '/dashboard/v1/nothing' },
  { method: 'DELETE', path: '/v1/ping' },
  { method: 'OPTIONS', path: '/v1/ping' },
  { method: 'PUT', path: '/healthz' },
]

let database: TestDatabase
let served: Process
const statements: string[] = []
const lines: string[] = []

beforeAll(async () => {
  database = await testDatabase()
  const db: Database = {
    ...database.db,
    run(text, params, options) {
      // Jobs run whether or not a stranger asks.
      if (options?.lane !== 'background') statements.push(text)
      return database.db.run(text, params, options)
    },
  }
  const log = createLog({ level: 'info', write: (line) => lines.push(line), clock: createFixedClock() })
  served = await openProcess(db, {}, { log, isWhole: true })
}, 60_000)

afterAll(async () => {
  await served.close()
  await database.close()
}, 60_000)

/** Has a stranger ask every path, many times at once, and returns those that cost more than they may. */
async function findCostly(nextKey: () => string | undefined): Promise<readonly string[]> {
  const costly: string[] = []
  for (const { method, path } of [...served.app.endpoints, ...OTHERS]) {
    // What each process learns once, such as its keys, is not for a stranger.
    await ask(0)
    let [used, written, statuses]: [string[], string[], number[]] = [[], [], []]
    // One over its rate is no stranger to the request that the database's next second admits.
    for (let tries = 0; tries === 0 || (tries < TRIES_MAX && isPartlyAdmitted(statuses)); tries++) {
      const before = { statements: statements.length, lines: lines.length }
      statuses = await Promise.all(Array.from({ length: REQUESTS }, (_, index) => ask(index)))
      used = statements.slice(before.statements)
      written = lines.slice(before.lines)
    }
    if (used.length > STATEMENTS_MAX || written.length > LINES_MAX) {
      costly.push(`${method} ${path} ${statuses[0]}: ${used.length} statements (${used[0]}), ${written.length} lines`)
    }

    async function ask(index: number): Promise<number> {
      const key = nextKey()
      const isSent = method !== 'GET' && method !== 'OPTIONS'
      const isForm = path === '/login'
      const { status } = await served.ask(path.replace(/\{\w+\}/g, '1'), {
        method,
        ...(key !== undefined && { key }),
        headers: {
          origin: ORIGIN,
          ...(isSent && { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' }),
          ...(index % 2 === 1 && { 'idempotency-key': `key ${index} of ${method} ${path}` }),
        },
        ...(isSent && { body: isForm ? `link=${'x'.repeat(30)}` : '{}' }),
      })
      return status
    }
  }
  return costly
}

function isPartlyAdmitted(statuses: readonly number[]): boolean {
  return statuses.includes(429) && statuses.some((status) => status !== 429)
}

test('no path costs a stranger a statement or a line of the log for each request', async () => {
  expect(served.app.endpoints.length).toBeGreaterThan(100)
  expect(await findCostly(() => undefined)).toEqual([])
  expect(await findCostly(() => 'ws_sk_mistyped')).toEqual([])
  expect(await findCostly(() => mintKey().key)).toEqual([])
}, 120_000)

test('nor one whose organization is suspended, or over its rate', async () => {
  const suspended = await createAccount(database.db)
  await setOrganizationState(database.db, 'suspend', { by: CLI_ACTOR, id: suspended.organizationId })
  expect(await findCostly(() => suspended.key)).toEqual([])
  const hasty = await createAccount(database.db, { rateLimit: 1 })
  expect(await findCostly(() => hasty.key)).toEqual([])
}, 120_000)
