import * as v from 'valibot'
import { createGate } from '../../src/account/gate/gate.ts'
import { openDatabase } from '../../src/db/connection/pool.ts'
import type { Database } from '../../src/db/database.ts'
import { PER_CALL } from '../../src/http/route/charge.ts'
import { defineRoute } from '../../src/http/route/route.ts'
import { createApp } from '../../src/http/server/app.ts'
import { serveBun } from '../../src/http/server/bun.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { createLog } from '../../src/lib/log.ts'
import { createMetrics } from '../../src/lib/metrics.ts'
import { createRequestIdGenerator } from '../../src/lib/request_id.ts'
import { createFixedClock } from '../support/test_clock.ts'
import { readParent } from './cpu.ts'
import { type Books, CONSTANT_PATH, type OursReady } from './metered.ts'
import { createOrganizations } from './organizations.ts'

/**
 * The metered path of the product, nothing left out: the app, the gate and the adapter as `serve` builds them, around
 * a route whose read is free, so that what is measured is admission, input, charge, log and answer.
 */
const benchRoute = defineRoute({
  method: 'GET',
  path: CONSTANT_PATH,
  summary: 'Answers a constant.',
  input: v.object({}),
  output: v.object({ data: v.object({ ok: v.boolean() }) }),
  charge: { credits: 1, per: PER_CALL },
  read: async () => ({ ok: true }),
  present: (result) => ({ data: result }),
})

await main()

async function main(): Promise<void> {
  const log = createLog({
    level: 'warn',
    write: (line) => process.stderr.write(`${line}\n`),
    clock: createFixedClock(),
  })
  const db = openDatabase({ url: process.env['BENCH_DATABASE_URL'] ?? '', clock: systemClock, log })
  const journalDir = process.env['BENCH_JOURNAL'] ?? ''
  const gate = await createGate({ db, clock: systemClock, log, journalDir })
  const app = createApp({
    routes: [benchRoute],
    aliases: new Map(),
    gate,
    clock: systemClock,
    log,
    metrics: createMetrics(),
    hostNames: [],
    corsOrigins: [],
    probes: { database: async () => true, chains: new Map() },
    openapi: () => '{}',
    requestId: createRequestIdGenerator({ clock: systemClock, fill: (bytes) => crypto.getRandomValues(bytes) }),
    // One organization sends from 256 connections here, four times what a real one may have under way.
    limits: { organizationConcurrencyMax: 1_024 },
  })
  const keys = await createOrganizations(db, Number(process.env['BENCH_ORGANIZATIONS']))
  const server = serveBun(app, { port: 0, host: '127.0.0.1' })
  console.log(JSON.stringify({ port: server.port, keys, postgresPid: await localPostmaster(db) } satisfies OursReady))

  for await (const _ of console) console.log(JSON.stringify(await readBooks(db)))
  await server.stop()
  await gate.close(1_000)
  await db.close()
  process.exit(0)
}

async function readBooks(db: Database): Promise<Books> {
  const [books] = await db.run<Record<keyof Books, string>>(
    `select count(*)::text as organizations, count(*) filter (where b.spent <> coalesce(l.charged, 0))::text as unbalanced,
       coalesce(sum(l.charged), 0)::text as charged, coalesce(sum(l.logged), 0)::text as logged
     from spending_limit b
     left join (
       select organization_id, sum(credits) as charged, count(*) as logged from request_log_entry group by organization_id
     ) l using (organization_id)`,
    [],
    { lane: 'background', deadlineMs: 120_000 },
  )
  return {
    organizations: Number(books?.organizations),
    unbalanced: Number(books?.unbalanced),
    charged: Number(books?.charged),
    logged: Number(books?.logged),
  }
}

/** The server's first process, if the one that answers us is on this machine. */
async function localPostmaster(db: Database): Promise<number | undefined> {
  const [row] = await db.run<{ pid: number }>('select pg_backend_pid() as pid', [])
  return row === undefined ? undefined : readParent(row.pid)
}
