import { afterAll, describe, expect, test } from 'bun:test'
import { copyFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildWhatIsStale } from './builds.ts'
import { executableProgram, nodeProgram, type Program, runCommand } from './program.ts'

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
  { form: 'Node', program: onNode(), env: { NODE_OPTIONS: `--import=${SHUT_MODULE}` } },
] as const

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
    }, 60_000)

    test('runs a proof, trusting only the hash of a block', async () => {
      const words = ['verify', 'morpho_blue_proven.json', '--key', 'keys.json']
      const header = await runCommand(program, [...words, '--print-header', '--json'], env)
      const [{ chain_id, hash }] = JSON.parse(header.stdout)
      const { status, stdout } = await runCommand(program, [...words, '--block-hash', `${chain_id}:${hash}`], env)
      expect([status, stdout]).toEqual([0, expect.stringMatching(/^answers +true +run over state/m)])
      const other = `${chain_id}:0x${'1'.repeat(64)}`
      expect((await runCommand(program, [...words, '--block-hash', other], env)).status).toBe(1)
    }, 60_000)

    test('returns unknown for endpoints without a network', async () => {
      const words = ['verify', 'uniswap_v3_position.json', '--rpc', 'http://127.0.0.1:9']
      const { status, stdout } = await runCommand(program, words, env)
      expect([status, /^answers +cannot tell/m.test(stdout)]).toEqual([3, true])
    }, 60_000)

    test('lists what only the signature covers, which stays unknown without the key', async () => {
      const words = ['verify', 'uniswap_v3_full.json']
      const keyless = await runCommand(program, words, env)
      const said = 'Not covered by the replay (signature only): data.pnl, data.pnl_status'
      expect([keyless.status, keyless.stdout]).toEqual([3, expect.stringContaining(said)])
      expect(keyless.stdout).toMatch(/^signature +cannot tell/m)
      const { status, stdout } = await runCommand(program, [...words, '--key', 'keys.json', '--json'], env)
      expect([status, JSON.parse(stdout).uncovered]).toEqual([0, ['data.pnl', 'data.pnl_status']])
    }, 60_000)

    test('ends with 2 for wrong usage', async () => {
      const { status, stderr } = await runCommand(program, ['verify', 'absent.json'], env)
      expect([status, stderr.trim()]).toEqual([2, 'walletscope: Cannot read the receipt: ENOENT'])
    }, 60_000)
  })
}
