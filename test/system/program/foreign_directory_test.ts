import { afterAll, describe, expect, test } from 'bun:test'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildWhatIsStale } from './builds.ts'
import { ask } from './http.ts'
import { executableProgram, giveDatabase, type Program, runCommand, spawnService } from './program.ts'

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
  }, 30_000)

  test('verifies a receipt, whose proof runs in a thread, without their code', async () => {
    for (const name of ['morpho_blue_proven.json', 'keys.json'])
      copyFileSync(join(GOLDEN, name), join(program.directory, name))
    const words = ['verify', 'morpho_blue_proven.json', '--key', 'keys.json']
    const header = await runCommand(program, [...words, '--print-header', '--json'])
    const [{ chain_id, hash }] = JSON.parse(header.stdout)
    const { status, stdout } = await runCommand(program, [...words, '--block-hash', `${chain_id}:${hash}`])
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^answers +true +run over state/m)])
    expect(listPlantedRuns(program)).toBe('')
  }, 60_000)

  test.each(process.platform === 'linux' ? ['1', '2'] : ['1'])(
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
    60_000,
  )
})
