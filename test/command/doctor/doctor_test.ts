import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { CommandIo } from '../../../src/command/command.ts'
import { doctorCommand } from '../../../src/command/doctor/doctor.ts'
import { type Finding, good } from '../../../src/lib/finding.ts'
import { readConfig } from '../../../src/service/config/config.ts'
import { type Anvil, startAnvil } from '../../devnet/anvil.ts'
import { emptyDatabase, type TestDatabase, temporaryDirectory, testDatabase } from '../../support/database.ts'

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
  const said: string[] = []
  const io: CommandIo = {
    out: (text) => said.push(text),
    err: (text) => said.push(text),
    config: () => readConfig({ DATA_DIR: dataDir, CHAINS: '1', ...env }, () => ''),
    stop: new AbortController().signal,
    stdout: () => expect.unreachable(),
    stdin: () => expect.unreachable(),
  }
  const args = { positionals: [], options: {}, flags: new Set<string>(), json }
  const error = await doctorCommand.run(args, io).then(
    () => undefined,
    (thrown: Error) => thrown.message,
  )
  return { text: said.join('\n'), error }
}

test('tells of the database and of every endpoint, in order and without their addresses', async () => {
  const dead = 'http://127.0.0.1:1/path-secret'
  const { text, error } = await doctor({ DATABASE_URL: database.url, RPC_URL_1: `${dead},${anvil.rpcUrl}` })
  expect(error).toBeUndefined()
  const { usable, reports }: Report = JSON.parse(text)
  expect(usable).toBe(true)
  expect(reports.map(({ part }) => part)).toEqual([
    'database',
    'chain 1 (Ethereum), endpoint 1',
    'chain 1 (Ethereum), endpoint 2',
    'listener',
  ])
  expect(reports.at(-1)?.findings).toEqual([good('names', 'answers under addresses, localhost')])
  const [server, first, second] = reports.map(({ findings }) =>
    Object.fromEntries(findings.map((finding) => [finding.check, finding])),
  )
  expect(server).toMatchObject({
    version: { verdict: 'good', found: expect.stringMatching(/^PostgreSQL \d/) },
    role: { verdict: 'good', found: 'primary' },
    tables: { verdict: 'good' },
    clock: { verdict: 'good' },
    connections: { found: expect.stringMatching(/^at most \d+; a process uses up to 15$/) },
  })
  const { rows } = { rows: await database.db.run<{ fsync: string }>('show fsync', []) }
  expect(server?.['fsync']?.found).toBe(rows[0]?.fsync ?? '')
  expect(first).toMatchObject({ answers: { verdict: 'failed', cost: 'nothing is read from it' } })
  expect(second).toMatchObject({ head: { verdict: 'good' }, 'state override': { verdict: 'good' } })
  expect(text).not.toMatch(/secret|127\.0\.0\.1|postgres:/)
}, 60_000)

test('fails if a chain or the database cannot be used, and still says everything', async () => {
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
