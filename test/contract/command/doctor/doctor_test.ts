import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { doctorCommand } from '../../../../src/command/doctor/doctor.ts'
import { type Finding, okFinding, warningFinding } from '../../../../src/lib/finding.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { createAccount } from '../../../support/account/scene.ts'
import { runInProcess } from '../../../support/command.ts'
import { emptyDatabase, type TestDatabase, temporaryDirectory, testDatabase } from '../../../support/database.ts'
import { createTrigger } from '../../../support/trigger/scene.ts'

interface Report {
  readonly usable: boolean
  readonly reports: readonly { readonly part: string; readonly findings: readonly Finding[] }[]
}

let anvil: Anvil
let database: TestDatabase
const dataDir = join(temporaryDirectory(), 'data')

beforeAll(async () => {
  anvil = await startAnvil()
  database = await testDatabase()
}, 60_000)

afterAll(async () => {
  await anvil?.stop()
  await database?.close()
}, 60_000)

/** Runs the command; its text, and what it failed with. */
async function doctor(env: Readonly<Record<string, string>>, json = true) {
  const words = ['doctor', ...(json ? ['--json'] : [])]
  const { out, err, error } = await runInProcess([doctorCommand], words, {
    env: { DATA_DIR: dataDir, CHAINS: '1', ...env },
  })
  expect(err).toBe('')
  return { text: out, error: error?.message }
}

test('reports the database and every endpoint, in order and without their addresses', async () => {
  const dead = 'http://127.0.0.1:1/path-secret'
  const endpoints = { RPC_URL_1: `${dead},${anvil.rpcUrl}`, RPC_URL: 'https://another-secret.example' }
  const { text, error } = await doctor({ DATABASE_URL: database.url, ...endpoints })
  expect(error).toBeUndefined()
  const { usable, reports }: Report = JSON.parse(text)
  expect(usable).toBe(true)
  expect(reports.map(({ part }) => part)).toEqual([
    'database',
    'triggers',
    'chain 1 (Ethereum), endpoint 1',
    'chain 1 (Ethereum), endpoint 2',
    'environment',
    'listener',
  ])
  expect(reports.at(-2)?.findings).toEqual([
    warningFinding('RPC_URL', 'not read', 'if it is meant for this service, its name is RPC_URL_<chain id>'),
  ])
  expect(reports.at(-1)?.findings).toEqual([okFinding('names', 'answers under addresses, localhost')])
  const [server, triggers, first, second] = reports.map(({ findings }) =>
    Object.fromEntries(findings.map((finding) => [finding.check, finding])),
  )
  expect(server).toMatchObject({
    version: { verdict: 'good', found: expect.stringMatching(/^PostgreSQL \d/) },
    role: { verdict: 'good', found: 'primary' },
    tables: { verdict: 'good' },
    clock: { verdict: 'good' },
    connections: { found: expect.stringMatching(/^at most \d+; a process uses up to 15$/) },
    disk: { found: expect.stringMatching(/^\d+(\.\d)? [GM]B free in DATA_DIR$/) },
  })
  const { rows } = { rows: await database.db.run<{ fsync: string }>('show fsync', []) }
  expect(server?.['fsync']?.found).toBe(rows[0]?.fsync ?? '')
  expect(triggers).toEqual({ 'to evaluate': okFinding('to evaluate', 'none') })
  expect(first).toMatchObject({ answers: { verdict: 'failed', cost: 'unusable' } })
  expect(second).toMatchObject({ head: { verdict: 'good' }, 'state override': { verdict: 'good' } })
  expect(text).not.toMatch(/secret|127\.0\.0\.1|postgres:/)
}, 60_000)

test('reports for each chain whether its triggers are evaluated, and why not', async () => {
  const { db, url } = await testDatabase()
  const { organizationId, apiKeyId } = await createAccount(db)
  for (const chainId of [1, 10, 137, 8453]) await createTrigger(db, { organizationId, apiKeyId, chainId })
  await db.run(
    `insert into watch_cursor (chain_id, finality, shard, holder, lease_until, block)
     select id, 'latest', 0, 'process ' || id, now() + case id when 137 then '-1 minute' else '1 minute' end::interval, 7
     from unnest(array[1, 10, 137]) c (id)`,
    [],
  )
  await db.run(
    `insert into watch_sight (chain_id, finality, shard, family, block, at)
     select id, 'latest', 0, 'aave-v3', 7, now() from unnest(array[1, 10, 137]) c (id)`,
    [],
  )
  await db.run(
    `insert into watch_blind_trigger (organization_id, id, chain_id, finality, shard, since_at)
     select organization_id, id, chain_id, 'latest', 0, '2026-01-02T03:04:05Z' from watch
     where organization_id = $1 and chain_id = 10`,
    [organizationId],
  )
  const chains = { CHAINS: '1,10,137', RPC_URL_1: anvil.rpcUrl, RPC_URL_10: anvil.rpcUrl, RPC_URL_137: anvil.rpcUrl }
  const findings = async (env: Readonly<Record<string, string>> = {}) => {
    const { text } = await doctor({ DATABASE_URL: url, ...chains, ...env })
    const { reports }: Report = JSON.parse(text)
    return reports.find(({ part }) => part === 'triggers')?.findings.map(({ verdict, found }) => [verdict, found])
  }
  expect(await findings()).toEqual([
    ['good', expect.stringMatching(/^block 7, \d s ago, by process 1$/)],
    [
      'lack',
      expect.stringMatching(/^block 7, \d s ago, blind since 2026-01-02T03:04:05.000Z; its endpoints do not answer$/),
    ],
    ['lack', expect.stringMatching(/^block 7, \d s ago; no process evaluates$/)],
    ['lack', 'not evaluated yet; CHAINS lacks it'],
  ])
  expect(await findings({ TRIGGERS: 'off' })).toEqual([['good', 'off (TRIGGERS)']])
}, 60_000)

test('fails if a chain or the database is unusable, and still prints every finding', async () => {
  const { text, error } = await doctor({ RPC_URL_1: 'http://127.0.0.1:1/' }, false)
  expect(error).toBe('Cannot serve everything: nothing usable for the database, chain 1')
  expect(text).toContain('Cannot find a database in data directory')
  expect(text).toContain('chain 1 (Ethereum), endpoint 1\n  NO  answers  Cannot reach the endpoint')
}, 60_000)

test('a database that is not migrated is not usable', async () => {
  const empty = await emptyDatabase()
  const { text, error } = await doctor({ DATABASE_URL: empty.url, RPC_URL_1: anvil.rpcUrl })
  expect(error).toBe('Cannot serve everything: nothing usable for the database')
  const { reports }: Report = JSON.parse(text)
  expect(reports[0]?.findings.find(({ check }) => check === 'tables')).toMatchObject({ verdict: 'failed' })
  await empty.drop()
}, 60_000)
