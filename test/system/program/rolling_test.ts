import { afterAll, beforeAll, expect, test } from 'bun:test'
import { appendFileSync, cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MIGRATIONS } from '../../../sql/files.ts'
import { createChainsFile } from '../../devnet/chain.ts'
import { sharedDevnet } from '../../devnet/mod.ts'
import { caseCount } from '../../support/cases.ts'
import { emptyDatabase, temporaryDirectory } from '../../support/database.ts'
import { waitFor } from '../../support/wait_for.ts'
import { openAccount, runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask } from './http.ts'
import { executableProgram, type Program, type Service, startService } from './program.ts'

await buildWhatIsStale()

const ROOT = join(import.meta.dir, '../../..')
const NEXT = MIGRATIONS.length + 1
const GRANTED = 10_000_000
const CLIENTS = 6
/** Before the next step of the upgrade. */
const ANSWERS = caseCount(200, 50)
/** Between two requests of a client, which is load without taking all that the machine can do. */
const PAUSE_MS = 40
/** The database of a busy machine may miss a deadline for any client. */
const LATE = /^503 .*(database (does not answer|took too long)|could not be settled)/
const LATE_SHARE_MAX = 0.02
/** How often the balancer asks each process. */
const LOOK_MS = 100

let database: Awaited<ReturnType<typeof emptyDatabase>>
let old: Program
let organizationId = ''
let key = ''

beforeAll(async () => {
  database = await emptyDatabase()
  old = executableProgram({
    CHAINS: '1',
    CHAINS_FILE: '../chains.json',
    DATABASE_URL: database.url,
    DRAIN_SECONDS: '1',
  })
  writeFileSync(join(old.directory, '../chains.json'), createChainsFile((await sharedDevnet()).rpcUrl))
  await runJson(old, ['migrate'])
  ;({ id: organizationId, key } = await openAccount(old, { name: 'Rolled', credits: GRANTED, rateLimit: 100_000 }))
}, 60_000)

afterAll(async () => {
  await database.drop()
  old.remove()
}, 60_000)

/** This source with one migration more, and with other texts of the functions that every request calls. */
async function nextRelease(migration: string): Promise<Program> {
  const root = temporaryDirectory()
  for (const each of ['src', 'sql', '.ci/sql', 'package.json'])
    cpSync(join(ROOT, each), join(root, each), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  writeFileSync(join(root, 'sql/migrations', `${String(NEXT).padStart(4, '0')}_next.sql`), migration)
  for (const each of ['gate_admit', 'gate_settle_batch', 'request_log_page']) {
    appendFileSync(join(root, 'sql/functions', `${each}.sql`), '-- Of the next release.\n')
  }
  const generator = join(root, '.ci/sql/files.ts')
  const { FILES_FILE, generateFiles } = await import(generator)
  writeFileSync(FILES_FILE, generateFiles())
  const command = [process.execPath, join(root, 'src/main.ts')]
  return { ...old, serve: [...command, 'serve'], command }
}

/** A balancer as operators have them: it looks at `/readyz`, sends nowhere else, and retries nothing. */
function balance() {
  const members = new Set<Service>()
  let ready: readonly Service[] = []
  let turn = 0
  let stopped = false
  const counts = { answered: 0, late: 0, refused: [] as string[] }
  const look = async () => {
    const states = await Promise.all([...members].map((each) => readiness(each).catch(() => undefined)))
    ready = [...members].filter((_, index) => states[index]?.code === 200)
  }
  const looking = async () => {
    for (; !stopped; await Bun.sleep(LOOK_MS)) await look()
  }
  const client = async () => {
    while (!stopped) {
      const to = ready[turn++ % ready.length]
      if (to === undefined) {
        counts.refused.push('no process is ready')
        await Bun.sleep(10)
        continue
      }
      const target = `http://127.0.0.1:${to.port}/v1/usage/logs?limit=1`
      const said = await fetch(target, { headers: { authorization: `Bearer ${key}` } }).then(
        async (response) => `${response.status} ${await response.text()}`,
        (error) => String(error),
      )
      if (said.startsWith('200 ')) counts.answered += 1
      else if (LATE.test(said)) counts.late += 1
      else counts.refused.push(said)
      await Bun.sleep(PAUSE_MS)
    }
  }
  return {
    members,
    counts,
    async start() {
      await look()
      const running = [looking(), ...Array.from({ length: CLIENTS }, client)]
      return async () => {
        stopped = true
        await Promise.all(running)
      }
    },
    isReady: (service: Service) => ready.includes(service),
  }
}

async function readiness(service: Service) {
  const { status, body } = await ask(service.port, { method: 'GET', target: '/readyz', headers: {} })
  return { code: status, ...JSON.parse(body) }
}

test('a rolling upgrade of two processes under load refuses nothing and charges each answer once', async () => {
  const next = await nextRelease(
    `-- Adds only.\n-- runs with: ${MIGRATIONS.length}\nalter table organization add column rolled text;\n`,
  )
  const balancer = balance()
  const { members, counts } = balancer
  const olds = [await startService(old), await startService(old)]
  for (const each of olds) members.add(each)
  const finish = await balancer.start()
  const more = (n: number) => {
    const from = counts.answered
    return waitFor(`${n} more answers`, () => counts.answered >= from + n, 30_000)
  }
  await more(ANSWERS)

  expect((await runJson(next, ['migrate'])).applied).toContain(`${String(NEXT).padStart(4, '0')}_next`)
  // Longer than readiness is kept.
  await Bun.sleep(1_500)
  for (const each of olds) expect(await readiness(each)).toMatchObject({ code: 200, reasons: [] })
  await more(ANSWERS)
  const news: Service[] = []
  for (const leaving of olds) {
    const arriving = await startService(next)
    news.push(arriving)
    members.add(arriving)
    await waitFor('the new process to be asked', () => balancer.isReady(arriving))
    const gone = leaving.stop()
    await waitFor('the old process to be left', () => !balancer.isReady(leaving))
    expect((await gone).status).toBe(0)
    members.delete(leaving)
    await more(ANSWERS)
  }
  await finish()
  expect(counts.refused).toEqual([])
  expect(counts.late).toBeLessThanOrEqual(counts.answered * LATE_SHARE_MAX)
  const shown = await runJson(next, ['credits', 'show', organizationId])
  expect(Number(shown.balance)).toBe(GRANTED - counts.answered)
  for (const each of news) await each.stop()
  console.log(`rolling upgrade: ${counts.answered} answers, ${counts.late} late`)
}, 120_000)

test('an incompatible newer release makes the old processes unready, with the reason', async () => {
  const next = await nextRelease('alter table organization add column rolled text;\n')
  await database.drop()
  database = await emptyDatabase()
  old = { ...old, env: { ...old.env, DATABASE_URL: database.url } }
  await runJson(old, ['migrate'])
  const service = await startService(old)
  await runJson({ ...next, env: old.env }, ['migrate'])
  await waitFor('readiness to go', async () => (await readiness(service)).status === 'not_ready')
  const { reasons } = await readiness(service)
  expect(reasons).toEqual([{ part: 'database', reason: expect.stringContaining('run the newer program') }])
  const stopping = service.stop()
  await waitFor('draining', async () => (await readiness(service)).status === 'draining')
  expect((await readiness(service)).reasons[0]).toEqual({
    part: 'process',
    reason: expect.stringContaining('draining before shutdown'),
  })
  await stopping
}, 60_000)
