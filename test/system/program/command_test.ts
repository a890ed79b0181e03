import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../../package.json'
import { IS_FULL } from '../../support/cases.ts'
import { testDatabase } from '../../support/database.ts'
import { runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { untilEmpty } from './processes.ts'
import { executableProgram, type Finished, giveDatabase, nodeProgram, runCommand, sourceProgram } from './program.ts'

await buildWhatIsStale()

const WRONG = [
  { words: ['org', 'create'] },
  { words: ['dance'] },
  { words: ['credits', 'grant', 'x', '0', '--reason', 'why'] },
  { words: ['org', 'dance'] },
  { words: ['org', 'list', '--loud'] },
  { words: ['key', 'create', 'a', 'b'] },
  { words: ['key', 'create', 'a', '--expires', 'tomorrow'] },
  { words: ['key', 'create', 'a', '--expires', '2020-01-01'] },
  { words: ['key', 'create', 'a', '--expires', '2999-02-30'] },
  { words: ['credits', 'grant', 'x', 'many', '--reason', 'why'] },
  { words: ['credits', 'grant', 'x', '5'] },
  { words: ['credits', 'grant', 'x', '1_000_000_000_001', '--reason', 'why'] },
  { words: ['credits', 'grant', 'x', '5', '--reason', ' '] },
  { words: ['org', 'limit', 'x', '0'] },
  { words: ['org', 'limit', 'x', '100_001'] },
  { words: ['org', 'create', ''] },
  { words: ['org', 'create', 'a', '--rate-limit', '-1'] },
  { words: ['key', 'create', 'a', '--name', ''] },
  { words: ['key', 'reroll', 'a', 'b', '--grace', '-1'] },
  { words: ['key', 'reroll', 'a', 'b', '--grace', '2_592_001'] },
  { words: ['settings', 'off'] },
] as const

/** Commands in a wrong directory, and what stands there: each command, and each kind of directory. */
const ASTRAY = [
  { words: ['org', 'list'], wrongs: ['data', 'empty', 'file'] },
  { words: ['org', 'create', 'Acme'], wrongs: ['data'] },
  { words: ['key', 'list', 'x'], wrongs: ['data'] },
  { words: ['credits', 'show', 'x'], wrongs: ['data'] },
  { words: ['migrate'], wrongs: ['data'] },
] as const

describe('the bundle for Node', () => {
  const program = nodeProgram({ CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9' })
  afterAll(() => program.remove())

  test('has the commands of the executable', async () => {
    const { status, stdout } = await runCommand(program, ['--version'])
    expect({ status, stdout }).toEqual({ status: 0, stdout: `walletscope ${version}\n` })
    const unknown = await runCommand(program, ['nonsense'])
    expect({ status: unknown.status, stdout: unknown.stdout }).toEqual({ status: 2, stdout: '' })
    expect(unknown.stderr).toMatch(/^walletscope: Cannot find command "nonsense": .+\n$/)
    const database = await testDatabase()
    const given = { ...program, env: { ...program.env, DATABASE_URL: database.url } }
    const { id } = await runJson(given, ['org', 'create', 'Acme'])
    expect(await runJson(given, ['org', 'list'])).toContainEqual(expect.objectContaining({ id, name: 'Acme' }))
    await database.close()
  }, 60_000)
})

describe.each([
  ...(IS_FULL ? [['the source', sourceProgram] as const] : []),
  ['the executable', executableProgram] as const,
])('%s', (_, createProgram) => {
  // No chain is ever reached here.
  const program = createProgram({ CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9' })
  afterAll(() => program.remove())
  const run = (...words: string[]): Promise<Finished> => runCommand(program, words)

  test('--help needs no configuration, writes nothing to the disk and names every command', async () => {
    const { status, stdout, stderr } = await runCommand(program, ['--help'], { PORT: 'wrong' })
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    for (const command of [
      'serve',
      'migrate',
      'openapi',
      'org create',
      'key create',
      'credits grant',
      'settings off',
    ]) {
      expect(stdout).toContain(command)
    }
    const detail = await run('key', 'create', '--help')
    expect(detail.status).toBe(0)
    expect(detail.stdout).toContain('--name')
    expect(existsSync(join(program.directory, 'data'))).toBe(false)
  }, 30_000)

  test.skipIf(process.platform !== 'linux')(
    'output that cannot be written is an error',
    async () => {
      for (const words of [['openapi'], ['--help'], ['kit', 'compose']]) {
        const shell = { ...program, command: ['sh', '-c', 'exec "$0" "$@" > /dev/full', ...program.command] }
        const { status, stderr } = await runCommand(shell, words)
        expect({ words, status, stderr }).toEqual({
          words,
          status: 1,
          stderr: 'walletscope: Cannot write all output: ENOSPC\n',
        })
      }
    },
    30_000,
  )

  test('openapi prints the document without a database', async () => {
    const { status, stdout } = await run('openapi')
    expect(status).toBe(0)
    expect(JSON.parse(stdout).paths).toHaveProperty(['/v1/positions/uniswap-v3', 'get'])
    expect(existsSync(join(program.directory, 'data'))).toBe(false)
  }, 30_000)

  test.each(WRONG)(
    'wrong usage is told in one line, status 2: $words',
    async ({ words }) => {
      const { status, stdout, stderr } = await runCommand(program, words)
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
      expect(stderr).toMatch(/^walletscope: .+\n$/)
      // Before anything is started or made.
      expect(existsSync(join(program.directory, 'data'))).toBe(false)
    },
    30_000,
  )

  test('wrong configuration is reported in one line with every mistake and no secret, status 1', async () => {
    const { status, stdout, stderr } = await runCommand(program, ['serve'], {
      PORT: '99999',
      LOG_LEVEL: 'loud',
      CHAINS: '4242',
      DATABASE_URL: 'mysql://me:s3cr3t@example.org/x',
    })
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(/^walletscope: .+\n$/)
    for (const name of ['PORT', 'LOG_LEVEL', 'CHAINS', 'DATABASE_URL']) expect(stderr).toContain(name)
    expect(stderr).not.toContain('s3cr3t')
  }, 30_000)

  test('an unreachable database is reported in one line without its password, status 1', async () => {
    const { status, stderr } = await runCommand(program, ['org', 'list'], {
      DATABASE_URL: 'postgres://me:s3cr3t@127.0.0.1:1/x',
    })
    expect(status).toBe(1)
    expect(stderr).toMatch(/^walletscope: .+\n$/)
    expect(stderr).not.toContain('s3cr3t')
  }, 30_000)

  test.each(ASTRAY)(
    'a command in a wrong directory says so in one line, status 1, and makes nothing: $words',
    async ({ words, wrongs }) => {
      for (const wrong of wrongs) {
        const path = join(program.directory, wrong)
        if (wrong === 'empty') mkdirSync(path, { recursive: true })
        if (wrong === 'file') writeFileSync(path, '')
        expect(await runCommand(program, words, { DATA_DIR: path })).toEqual({
          status: 1,
          stdout: '',
          stderr:
            `walletscope: Cannot find a database in data directory "${path}": set DATA_DIR or DATABASE_URL, ` +
            'or let "walletscope serve" create one there\n',
        })
      }
      expect(existsSync(join(program.directory, 'data'))).toBe(false)
      if (existsSync(join(program.directory, 'empty')))
        expect(readdirSync(join(program.directory, 'empty'))).toEqual([])
    },
    30_000,
  )

  test('a command beside data of another PostgreSQL version prints how to move it, status 1', async () => {
    const data = join(program.directory, 'old')
    mkdirSync(join(data, 'postgres', 'cluster-17'), { recursive: true })
    const { status, stdout, stderr } = await runCommand(program, ['org', 'list'], { DATA_DIR: data })
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(/^walletscope: Cannot start the embedded database: .*PostgreSQL 17.*walletscope backup.*\n$/)
  }, 30_000)

  test('without a service running, a command starts the database and leaves nothing running', async () => {
    await giveDatabase(program)
    expect(await runJson(program, ['migrate'])).toEqual({ applied: [] })
    const { id } = await runJson(program, ['org', 'create', 'Acme'])
    expect(await runJson(program, ['org', 'list'])).toContainEqual(expect.objectContaining({ id, name: 'Acme' }))
    expect(await untilEmpty(program.directory, 5_000)).toEqual([])
  }, 60_000)

  test('organizations, keys and credits are managed by commands', async () => {
    const database = await testDatabase()
    const given = { ...program, env: { ...program.env, DATABASE_URL: database.url } }
    const { id } = await runJson(given, ['org', 'create', 'Acme', '--rate-limit', '7', '--trigger-limit', '20'])
    expect(await runJson(given, ['credits', 'grant', id, '1_000', '--reason', 'welcome'])).toMatchObject({
      balance: '1000',
    })
    const made = await runJson(given, ['key', 'create', id, '--name', 'ci'])
    expect(made.key).toMatch(/^ws_sk_[0-9A-Za-z]{24}$/)
    const listed = await runCommand(given, ['key', 'list', id, '--json'])
    expect(listed.stdout).toContain(made.key.slice(-4))
    expect(listed.stdout).not.toContain(made.key)

    const taken = await runCommand(given, ['credits', 'grant', id, '-1001', '--reason', 'too much'])
    expect(taken.status).toBe(1)
    expect(taken.stderr).toMatch(/^walletscope: .+\n$/)
    expect(await runJson(given, ['credits', 'show', id])).toMatchObject({ balance: '1000', granted: '1000' })

    await runJson(given, ['org', 'suspend', id])
    const refused = await runCommand(given, ['key', 'create', id])
    expect({ status: refused.status, stdout: refused.stdout }).toEqual({ status: 1, stdout: '' })
    expect(refused.stderr).toMatch(/^walletscope: .*suspended.*\n$/i)
    await runJson(given, ['org', 'restore', id])

    const rerolled = await runJson(given, ['key', 'reroll', id, made.id, '--grace', '60'])
    expect(rerolled.key).not.toBe(made.key)
    expect(await runJson(given, ['key', 'list', id])).toHaveLength(2)
    expect((await runCommand(given, ['key', 'revoke', id, 'no-such-key'])).status).toBe(1)
    expect((await runCommand(given, ['org', 'suspend', 'no-such-organization'])).status).toBe(1)
    const { id: gone } = await runJson(given, ['org', 'create', 'Gone'])
    await runJson(given, ['key', 'create', gone])
    await runJson(given, ['org', 'delete', gone])
    expect(await runCommand(given, ['key', 'list', gone])).toEqual({
      status: 1,
      stdout: '',
      stderr: `walletscope: Cannot find the organization "${gone}"\n`,
    })

    expect(await runJson(given, ['org', 'trigger-limit', 'Acme', '30'])).toMatchObject({ id, trigger_limit: 30 })
    expect(await runJson(given, ['org', 'list'])).toContainEqual(
      expect.objectContaining({ id, name: 'Acme', rate_limit: 7, trigger_limit: 30 }),
    )
    expect((await runCommand(given, ['org', 'list'])).stdout).toContain('Acme')
    await database.close()
  }, 120_000)
})
