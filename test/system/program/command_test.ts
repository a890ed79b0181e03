import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../../package.json'
import { IS_FULL } from '../../support/cases.ts'
import { testDatabase } from '../../support/database.ts'
import { runJson } from './accounts.ts'
import { buildWhatIsStale } from './builds.ts'
import { ask } from './http.ts'
import { untilEmpty } from './processes.ts'
import {
  executableProgram,
  type Finished,
  giveDatabase,
  nodeProgram,
  type Program,
  runCommand,
  sourceProgram,
  spawnService,
} from './program.ts'

describe('commands', async () => {
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

  /** Commands that ask a database, each in its own way: all others ask as `org list` does. */
  const ASKING = ['migrate', 'org list', 'login', 'index --status', 'backup --to copy', 'doctor']
  /** How long a command may wait for a database that accepts its connection and never answers, milliseconds. */
  const SILENT_MS_MAX = 30_000

  /** Runs a command on a silent database. Its time is from its first connection, for a busy machine starts it late. */
  async function runOnSilence(program: Program, command: string) {
    let connectedMs: number | undefined
    const open = () => {
      connectedMs ??= performance.now()
    }
    const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { open, data() {} } })
    const env = { DATABASE_URL: `postgres://me:s3cr3t@127.0.0.1:${silent.port}/x` }
    const { status, stdout, stderr } = await runCommand(program, command.split(' '), env)
    const isInTime = performance.now() - (connectedMs ?? Number.NaN) < SILENT_MS_MAX
    silent.stop(true)
    const text = `${stdout}${stderr}`
    return { command, status, isInTime, isTold: /database.*answer/s.test(text), isSecret: !text.includes('s3cr3t') }
  }

  async function expectEndOnSilence(program: Program): Promise<void> {
    const ends = await Promise.all(ASKING.map((command) => runOnSilence(program, command)))
    expect(ends).toEqual(
      ASKING.map((command) => ({ command, status: 1, isInTime: true, isTold: true, isSecret: true })),
    )
  }

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
    }, 120_000)

    test.if(IS_FULL)('ends in time when the database never answers', () => expectEndOnSilence(program), 60_000)
  })

  describe.each([
    ...(IS_FULL ? [['the source', sourceProgram] as const] : []),
    ['the executable', executableProgram] as const,
  ])('%s', (_, createProgram) => {
    // No chain is ever reached here.
    const program = createProgram({ CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9' })
    const run = (...words: string[]): Promise<Finished> => runCommand(program, words)
    /** In a directory of its own, where commands wait while the other tests run. */
    const waiting = createProgram({ CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9' })
    let ended: Promise<unknown>
    beforeAll(() => {
      ended = expectEndOnSilence(waiting).catch((error: unknown) => error)
    })
    afterAll(() => {
      program.remove()
      waiting.remove()
    })

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
    }, 120_000)

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
      120_000,
    )

    test('openapi prints the document without a database', async () => {
      const { status, stdout } = await run('openapi')
      expect(status).toBe(0)
      expect(JSON.parse(stdout).paths).toHaveProperty(['/v1/positions/uniswap-v3', 'get'])
      expect(existsSync(join(program.directory, 'data'))).toBe(false)
    }, 120_000)

    test.each(WRONG.filter((_, no) => IS_FULL || no % 3 === 0))(
      'wrong usage is told in one line, status 2: $words',
      async ({ words }) => {
        const { status, stdout, stderr } = await runCommand(program, words)
        expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
        expect(stderr).toMatch(/^walletscope: .+\n$/)
        // Before anything is started or made.
        expect(existsSync(join(program.directory, 'data'))).toBe(false)
      },
      120_000,
    )

    test('wrong configuration is reported with a line for every mistake and no secret, status 1', async () => {
      const { status, stdout, stderr } = await runCommand(program, ['serve'], {
        PORT: '99999',
        LOG_LEVEL: 'loud',
        CHAINS: '4242',
        DATABASE_URL: 'mysql://me:s3cr3t@example.org/x',
      })
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
      expect(stderr).toMatch(/^walletscope: Cannot start with this configuration:\n( {2}[A-Z_]+: .+\n){4}$/)
      for (const name of ['PORT', 'LOG_LEVEL', 'CHAINS', 'DATABASE_URL']) expect(stderr).toContain(name)
      expect(stderr).not.toContain('s3cr3t')
    }, 120_000)

    test('an unreachable database is reported in one line without its password, status 1', async () => {
      const { status, stderr } = await runCommand(program, ['org', 'list'], {
        DATABASE_URL: 'postgres://me:s3cr3t@127.0.0.1:1/x',
      })
      expect(status).toBe(1)
      expect(stderr).toMatch(/^walletscope: .+\n$/)
      expect(stderr).not.toContain('s3cr3t')
    }, 120_000)

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
      120_000,
    )

    test('a command beside data of another PostgreSQL version prints how to move it, status 1', async () => {
      const data = join(program.directory, 'old')
      mkdirSync(join(data, 'postgres', 'cluster-17'), { recursive: true })
      const { status, stdout, stderr } = await runCommand(program, ['org', 'list'], { DATA_DIR: data })
      expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
      expect(stderr).toMatch(
        /^walletscope: Cannot start the embedded database: .*PostgreSQL 17.*walletscope backup.*\n$/,
      )
    }, 120_000)

    test('without a service running, a command starts the database and leaves nothing running', async () => {
      await giveDatabase(program)
      expect(await runJson(program, ['migrate'])).toEqual({ applied: [] })
      const { id } = await runJson(program, ['org', 'create', 'Acme'])
      expect(await runJson(program, ['org', 'list'])).toContainEqual(expect.objectContaining({ id, name: 'Acme' }))
      expect(await untilEmpty(program.directory, 20_000)).toEqual([])
    }, 120_000)

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
      const unasked = await runCommand(given, ['org', 'delete', gone])
      expect([unasked.status, unasked.stderr]).toEqual([
        2,
        'walletscope: Cannot delete an organization without asking: expected --yes, or a terminal\n',
      ])
      await runJson(given, ['org', 'delete', gone, '--yes'])
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

    test('ends in time when the database never answers', async () => {
      expect(await ended).toBeUndefined()
    }, 120_000)
  })
})

describe('a foreign directory', async () => {
  await buildWhatIsStale()

  const GOLDEN = join(import.meta.dir, '../../support/receipt/golden')
  /** The token that only the files of the directory know. */
  const PLANTED_TOKEN = 'planted-token-of-the-directory-0123456789'
  /** The code that `bunfig.toml` names notes the command line of each process and thread that runs it. */
  const PLANTED_CODE = `
  import { appendFileSync } from 'node:fs'
  appendFileSync(import.meta.dir + '/ran', process.argv.join(' ') + '\\n')
`
  /** Each of these variables would change what the commands below do. */
  const PLANTED_VARIABLES = [
    'PORT=banana',
    'LOG_LEVEL=loud',
    'DATABASE_URL=postgres://me:s3cr3t@127.0.0.1:1/planted',
    `ADMIN_TOKEN=${PLANTED_TOKEN}`,
    'HTTP_PROXY=http://127.0.0.1:1',
  ].join('\n')

  /** Writes every file that Bun reads by itself in the working directory. */
  function plantFiles({ directory }: Program): void {
    for (const name of ['.env', '.env.local', '.env.production', '.env.development'])
      writeFileSync(join(directory, name), PLANTED_VARIABLES)
    writeFileSync(join(directory, 'bunfig.toml'), 'preload = ["./planted.mjs"]\n[run]\npreload = ["./planted.mjs"]\n')
    writeFileSync(join(directory, 'planted.mjs'), PLANTED_CODE)
  }

  /** Returns the command lines that ran the planted code. */
  function listPlantedRuns({ directory }: Program): string {
    const path = join(directory, 'ran')
    return existsSync(path) ? readFileSync(path, 'utf8') : ''
  }

  describe('the executable in a directory with bunfig.toml and .env', () => {
    // No chain is ever reached here.
    const program = executableProgram({ CHAINS: '1', RPC_URL_1: 'http://127.0.0.1:9' })
    plantFiles(program)
    afterAll(() => program.remove())

    test('runs commands without their code and variables', async () => {
      for (const words of [['--help'], ['openapi']]) {
        const { status, stderr } = await runCommand(program, words)
        expect({ words, status, stderr, runs: listPlantedRuns(program) }).toEqual({
          words,
          status: 0,
          stderr: '',
          runs: '',
        })
      }
      // The database of `.env` would be unreachable, and its other variables invalid.
      const { status, stderr } = await runCommand(program, ['org', 'list'])
      expect({ status, stderr, runs: listPlantedRuns(program) }).toEqual({
        status: 1,
        stderr: expect.stringContaining('Cannot find a database in data directory'),
        runs: '',
      })
    }, 120_000)

    test('verifies a receipt, whose proof runs in a thread, without their code', async () => {
      for (const name of ['morpho_blue_proven.json', 'keys.json'])
        copyFileSync(join(GOLDEN, name), join(program.directory, name))
      const words = ['verify', 'morpho_blue_proven.json', '--key', 'keys.json']
      const header = await runCommand(program, [...words, '--print-header', '--json'])
      const [{ chain_id, hash }] = JSON.parse(header.stdout)
      const { status, stdout } = await runCommand(program, [...words, '--block-hash', `${chain_id}:${hash}`])
      expect([status, stdout]).toEqual([0, expect.stringMatching(/^answers +true +run over state/m)])
      expect(listPlantedRuns(program)).toBe('')
    }, 120_000)

    test.each(process.platform === 'linux' && IS_FULL ? ['1', '2'] : ['1'])(
      'serves with %s workers and its own database without their code and variables',
      async (workers) => {
        if (!existsSync(join(program.directory, 'data'))) await giveDatabase(program)
        const service = await spawnService(program, { WORKERS: workers })
        const answer = await ask(service.port, {
          method: 'GET',
          target: '/admin/v1/organizations',
          headers: { authorization: `Bearer ${PLANTED_TOKEN}` },
        })
        expect(answer.status).not.toBe(200)
        expect((await service.stop()).status).toBe(0)
        expect(service.stderr()).toContain('Started the embedded database')
        expect(listPlantedRuns(program)).toBe('')
      },
      120_000,
    )
  })
})

describe('verify', async () => {
  await buildWhatIsStale()

  const GOLDEN = join(import.meta.dir, '../../support/receipt/golden')
  const SHUT = 'globalThis.fetch = () => { throw new Error("The network is shut") }'
  const SHUT_MODULE = `data:text/javascript,${encodeURIComponent(SHUT)}`

  /** The bundle on Node, whose commands elsewhere are the executable's. */
  function onNode(): Program {
    const program = nodeProgram({})
    return { ...program, command: program.serve }
  }

  /** Each form of the product in an empty directory, without any configuration, and with a `fetch` that throws. */
  const PROGRAMS = [
    { form: 'the executable', program: executableProgram({}), env: { BUN_OPTIONS: '--preload=./shut.mjs' } },
    ...(IS_FULL
      ? [{ form: 'Node', program: onNode(), env: { NODE_OPTIONS: `--import=${SHUT_MODULE}` } } as const]
      : []),
  ]

  afterAll(() => {
    for (const { program } of PROGRAMS) program.remove()
  })

  for (const { form, program, env } of PROGRAMS) {
    describe(`verify, by ${form}`, () => {
      writeFileSync(join(program.directory, 'shut.mjs'), SHUT)
      for (const name of readdirSync(GOLDEN)) {
        if (name.endsWith('.json')) copyFileSync(join(GOLDEN, name), join(program.directory, name))
      }

      test('needs no network', async () => {
        for (const name of ['uniswap_v3_middle_page.json', 'aave_v3_batch.json', 'morpho_blue_both.json']) {
          const { status, stdout, stderr } = await runCommand(program, ['verify', name, '--key', 'keys.json'], env)
          expect([name, status, stderr, /^figures +true/m.test(stdout)]).toEqual([name, 0, '', true])
        }
      }, 120_000)

      test('runs a proof, trusting only the hash of a block', async () => {
        const words = ['verify', 'morpho_blue_proven.json', '--key', 'keys.json']
        const header = await runCommand(program, [...words, '--print-header', '--json'], env)
        const [{ chain_id, hash }] = JSON.parse(header.stdout)
        const { status, stdout } = await runCommand(program, [...words, '--block-hash', `${chain_id}:${hash}`], env)
        expect([status, stdout]).toEqual([0, expect.stringMatching(/^answers +true +run over state/m)])
        const other = `${chain_id}:0x${'1'.repeat(64)}`
        expect((await runCommand(program, [...words, '--block-hash', other], env)).status).toBe(1)
      }, 120_000)

      test('returns unknown for endpoints without a network', async () => {
        const words = ['verify', 'uniswap_v3_position.json', '--rpc', 'http://127.0.0.1:9']
        const { status, stdout } = await runCommand(program, words, env)
        expect([status, /^answers +cannot tell/m.test(stdout)]).toEqual([3, true])
      }, 120_000)

      test('lists what only the signature covers, which stays unknown without the key', async () => {
        const words = ['verify', 'uniswap_v3_full.json']
        const keyless = await runCommand(program, words, env)
        const said = 'Not covered by the replay (signature only): data.pnl, data.pnl_status'
        expect([keyless.status, keyless.stdout]).toEqual([3, expect.stringContaining(said)])
        expect(keyless.stdout).toMatch(/^signature +cannot tell/m)
        const { status, stdout } = await runCommand(program, [...words, '--key', 'keys.json', '--json'], env)
        expect([status, JSON.parse(stdout).uncovered]).toEqual([0, ['data.pnl', 'data.pnl_status']])
      }, 120_000)

      test('ends with 2 for wrong usage', async () => {
        const { status, stderr } = await runCommand(program, ['verify', 'absent.json'], env)
        expect([status, stderr.trim()]).toEqual([2, 'walletscope: Cannot read the receipt: ENOENT'])
      }, 120_000)
    })
  }
})
