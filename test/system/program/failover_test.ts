import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createChainsFile } from '../../devnet/chain.ts'
import { sharedDevnet } from '../../devnet/mod.ts'
import { caseCount } from '../../support/cases.ts'
import { hasPatroni, startPatroniPair } from '../../support/patroni.ts'
import { type FailoverPair, hasReplication, startReplicatedPair } from '../../support/replication.ts'
import { waitFor } from '../../support/wait_for.ts'
import { openAccount, runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask } from './http.ts'
import { executableProgram, type Program, type Service, startService } from './program.ts'

await buildWhatIsStale()

const GRANTED = 10_000_000
const CLIENTS = 6
/** Between two requests of a client, which is load without taking all that the machine can do. */
const PAUSE_MS = 10

const KEPT_BY = [
  {
    name: 'streaming replication (needs PostgreSQL 15 of Debian)',
    isHere: hasReplication(),
    start: startReplicatedPair,
    rounds: caseCount(20),
  },
  // A round takes half a minute: Patroni waits 20 s until it takes a leader for dead.
  { name: 'Patroni with etcd (needs both of Debian)', isHere: hasPatroni(), start: startPatroniPair, rounds: 2 },
]

describe.each(KEPT_BY.filter(({ isHere }) => isHere))('$name', ({ start, rounds }) => {
  let pair: FailoverPair
  let program: Program
  let service: Service
  let organizationId = ''
  let key = ''

  beforeAll(async () => {
    pair = await start()
    program = executableProgram({ CHAINS: '1', CHAINS_FILE: '../chains.json', DATABASE_URL: pair.url })
    writeFileSync(join(program.directory, '../chains.json'), createChainsFile((await sharedDevnet()).rpcUrl))
    await runJson(program, ['migrate'])
    const account = await openAccount(program, { name: 'Replicated', credits: GRANTED, rateLimit: 100_000 })
    ;({ id: organizationId, key } = account)
    service = await startService(program)
  }, 120_000)
  afterAll(async () => {
    await service.stop()
    await pair.close()
    program.remove()
  }, 60_000)

  test('a standby takes over under load: each answer is charged once, and no refusal is', async () => {
    const outcomes: { readonly status: number; readonly atMs: number; readonly tookMs: number }[] = []
    let running = true
    const client = async () => {
      const headers = { Authorization: `Bearer ${key}` }
      while (running) {
        const sentMs = performance.now()
        const { status } = await ask(service.port, { method: 'GET', target: '/v1/usage/logs?limit=1', headers })
        const atMs = performance.now()
        outcomes.push({ status, atMs, tookMs: atMs - sentMs })
        // Retries like a client that got Retry-After.
        await Bun.sleep(status === 200 ? PAUSE_MS : 20)
      }
    }
    const answered = () => outcomes.filter(({ status }) => status === 200).length
    const more = (n: number) => {
      const from = answered()
      return waitFor(`${n} more answers`, () => answered() >= from + n, 30_000)
    }
    const clients = Array.from({ length: CLIENTS }, client)
    const table: object[] = []
    try {
      for (let round = 0; round < rounds; round++) {
        await more(100)
        const how = round % 2 === 0 ? 'killed' : 'stopped'
        const { endedMs, promotedMs } = await pair.takeOver(how)
        await more(100)
        const refused = outcomes.filter(({ status, atMs }) => status !== 200 && atMs >= endedMs)
        const last = refused.at(-1)?.atMs ?? promotedMs
        table.push({
          round,
          primary: how,
          'takeover ms': Math.round(promotedMs - endedMs),
          'refused after it, ms': Math.max(0, Math.round(last - promotedMs)),
          refused: refused.length,
          // A long one waited for an answer that did not come, a short one was not sent at all.
          'longest refusal, ms': Math.round(Math.max(0, ...refused.map(({ tookMs }) => tookMs))),
        })
        await pair.rebuild()
      }
    } finally {
      running = false
      await Promise.all(clients)
    }
    console.table(table)

    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set([200, 503]))
    await waitFor('unknown outcomes to be taken back', async () => {
      const { body } = await ask(service.port, { method: 'GET', target: '/metrics', headers: {} })
      return body.includes('\nwalletscope_gate_voids_waiting 0\n')
    })
    const shown = await runJson(program, ['credits', 'show', organizationId])
    expect(Number(shown.balance)).toBe(GRANTED - answered())
    const headers = { Authorization: `Bearer ${key}` }
    const { body } = await ask(service.port, {
      method: 'GET',
      target: '/v1/usage/logs?limit=1&status_code=200',
      headers,
    })
    expect(JSON.parse(body).pagination.total).toBe(answered())
  }, 900_000)

  test('the first statement finds the primary, also behind a standby that is named first', async () => {
    for (const url of [pair.url, reversed(pair.url)]) {
      const db = openDatabase({ url, clock: systemClock, log: silentLog })
      expect(await db.run<object>('select pg_is_in_recovery() as standby', [])).toEqual([{ standby: false }])
      await db.close()
    }
  })
})

/** The same hosts in the other order. */
function reversed(url: string): string {
  return url.replace(/@([^,]+),([^/]+)/, '@$2,$1')
}
