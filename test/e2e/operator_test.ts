import { afterEach, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { testDatabase } from '../support/database.ts'
import { runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask } from './http.ts'
import { createDatabase, nodeProgram, type Program, runCommand, sourceProgram, spawnService } from './program.ts'

const KEY = /ws_sk_[0-9A-Za-z]{24}/
/** No chain is ever reached here. */
const CHAIN = { CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9/rpc-secret' }

let programs: Program[] = []

afterEach(() => {
  for (const program of programs) program.remove()
  programs = []
})

function program(env: Readonly<Record<string, string>> = {}): Program {
  const made = sourceProgram({ ...CHAIN, ...env })
  programs.push(made)
  return made
}

test('a first start on the port of another service says so in one line, and does not keep the only key to itself', async () => {
  const other = await spawnService(program())
  const { port } = other
  const operated = program({ PORT: String(port) })
  const failed = await runCommand(operated, ['serve'])
  expect((await other.stop()).status).toBe(0)
  expect(failed.status).toBe(1)
  expect(failed.stderr.trim().split('\n').at(-1)).toBe(
    `walletscope: Cannot listen on HOST 127.0.0.1 PORT ${port}: another program has taken it`,
  )
  const key = KEY.exec(failed.stdout)?.[0]

  const service = await spawnService(operated)
  const headers = { Authorization: `Bearer ${key}` }
  expect((await ask(service.port, { method: 'GET', target: '/v1/usage/logs', headers })).status).toBe(200)
  await service.stop()
}, 60_000)

test('credits are taken back by a number below zero, never below what is left', async () => {
  const operated = program()
  await createDatabase(operated)
  const { id } = await runJson(operated, ['org', 'create', 'Acme'])
  await runJson(operated, ['credits', 'grant', id, '10', '--reason', 'welcome'])
  expect(await runJson(operated, ['credits', 'grant', id, '-4', '--reason', 'mistake'])).toMatchObject({ balance: '6' })
  const refused = await runCommand(operated, ['credits', 'grant', id, '-7', '--reason', 'too much'])
  expect({ ...refused, stdout: '' }).toEqual({
    status: 1,
    stdout: '',
    stderr: 'walletscope: Cannot take back 7 credits: the organization has 6 left\n',
  })
}, 60_000)

test('a data directory that cannot be used is named, with the reason', async () => {
  const operated = program()
  const file = join(operated.directory, 'file')
  writeFileSync(file, '')
  const refused = await runCommand(operated, ['serve'], { DATA_DIR: file, PORT: '0' })
  expect([refused.status, refused.stderr]).toEqual([
    1,
    `walletscope: Cannot use data directory "${file}": it is no directory (EEXIST)\n`,
  ])
}, 60_000)

test('a database that is away is named by commands with the reason, and serving starts and waits for it', async () => {
  const operated = program({ DATABASE_URL: 'postgres://me:s3cr3t@127.0.0.1:1/x' })
  const refused = await runCommand(operated, ['org', 'list'])
  expect(refused.stderr).toBe('walletscope: Cannot use the database: it does not answer (ECONNREFUSED)\n')
  const service = await spawnService(operated)
  const answers = await Promise.all(
    ['/healthz', '/readyz'].map((target) => ask(service.port, { method: 'GET', target, headers: {} })),
  )
  expect(answers.map(({ status }) => status)).toEqual([200, 503])
  expect(JSON.parse(answers[1]?.body ?? '').database).toBe(false)
  expect(`${service.stdout()}${service.stderr()}`).not.toMatch(/s3cr3t|rpc-secret/)
  expect((await service.stop()).status).toBe(0)
}, 60_000)

test('what a command prints reaches a slow reader to the last byte, and a reader who leaves is no failure', async () => {
  const operated = program()
  const whole = await runCommand(operated, ['openapi'])
  // More than a pipe holds, or this would prove nothing.
  expect(whole.stdout.length).toBeGreaterThan(65_536)
  const [slow, left] = await Promise.all(
    ['sleep 1; cat', 'head -c 1'].map((reader) =>
      runCommand(
        { ...operated, command: ['sh', '-c', `{ "$0" "$@"; echo $? >&2; } | { ${reader}; }`, ...operated.command] },
        ['openapi'],
      ),
    ),
  )
  expect([slow?.stdout === whole.stdout, slow?.stderr]).toEqual([true, '0\n'])
  expect([left?.stdout, left?.stderr]).toEqual(['{', '0\n'])
}, 60_000)

test.each(['Bun', 'Node'])(
  'serves on, on %s, when whoever reads its output and log goes away',
  async (runtime) => {
    let operated = program({ LOG_LEVEL: 'debug' })
    const database = runtime === 'Node' ? await testDatabase() : undefined
    if (database !== undefined) {
      buildWhatIsStale()
      operated = nodeProgram({ ...CHAIN, LOG_LEVEL: 'debug', DATABASE_URL: database.url })
      programs.push(operated)
    }
    // The reader takes what tells the port, and is gone with the first request.
    const reader = 'while read -r line; do echo "$line" >&2; case "$line" in *\\"port\\"*) exit;; esac; done'
    const serve = ['sh', '-c', `"$0" "$@" 2>&1 & echo $! >&2; wait`, ...operated.serve]
    const service = await spawnService({ ...operated, serve: ['sh', '-c', `"$0" "$@" | { ${reader}; }`, ...serve] })
    const pid = Number(/^\d+$/m.exec(service.stderr())?.[0])
    for (let request = 0; request < 5; request++) {
      const { status } = await ask(service.port, { method: 'GET', target: '/healthz', headers: {} })
      expect(status).toBe(200)
      await Bun.sleep(50)
    }
    process.kill(pid, 'SIGTERM')
    await service.exited
    await database?.close()
  },
  120_000,
)
