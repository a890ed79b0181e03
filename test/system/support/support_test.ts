import { describe, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../../support/database.ts'
import { formatFailures, listStrayErrors } from '../../support/failures.ts'
import { withProcessLock } from '../../support/process_lock.ts'
import { waitFor } from '../../support/wait_for.ts'

describe('failures', async () => {
  const FILE = `import { describe, expect, test } from 'bun:test'
test('passes', () => {})
describe('a group', () => {
  test('says "no" to <this>', () => {
    expect({ left: 1 }).toEqual({ left: 2 })
  })
  test('is late', () => Bun.sleep(1_000), 20)
})
`

  test('formatFailures() names place, test and reason of every failure, and the command that repeats it', async () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, 'test'))
    await Bun.write(join(directory, 'test/odd_test.ts'), FILE)
    const report = join(directory, 'report.xml')
    const run = (...words: string[]) => Bun.spawnSync([process.execPath, 'test', ...words], { cwd: directory })
    expect(run('--reporter=junit', `--reporter-outfile=${report}`).exitCode).toBe(1)

    const [no = '', late = '', ...rest] = formatFailures(await Bun.file(report).text()).split('\n\n')
    expect(rest).toEqual([])
    expect(no.split('\n')).toEqual([
      'test/odd_test.ts:5  says "no" to <this>',
      '  expect(received).toEqual(expected)',
      ...['    {', '  -   "left": 2,', '  +   "left": 1,', '    }', '  - Expected  - 1', '  + Received  + 1'],
      "  again: bun test test/odd_test.ts --timeout=60000 -t 'says .no. to .this.'",
    ])
    expect(late).toMatch(/^test\/odd_test\.ts:7 {2}is late\n {2}test timed out\n {2}again: .+ -t 'is late'$/)
    const again = run('test/odd_test.ts', '-t', 'says .no. to .this.').stderr.toString()
    expect(again).toContain(' 1 fail\n')
    expect(again).not.toContain(' 2 fail\n')
  })

  test('listStrayErrors() tells errors outside of tests, which the report leaves out', () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, 'test'))
    writeFileSync(join(directory, 'test/nameless_test.ts'), "throw 'no place'")
    const { exitCode, stderr } = Bun.spawnSync([process.execPath, 'test'], { cwd: directory })
    expect(exitCode).toBe(1)
    expect(listStrayErrors(stderr.toString())).toEqual([expect.stringContaining('no place')])
  })
})

describe('locks', async () => {
  /** Records when it gets and releases the lock. */
  const child = (stayMs: number) => `
  const { withProcessLock } = await import(${JSON.stringify(`${import.meta.dir}/../../support/process_lock.ts`)})
  await withProcessLock('alone_test', async () => { console.log('in'); await Bun.sleep(${stayMs}); console.log('out') })`

  test('withProcessLock() runs one process after another, also after one that was killed', async () => {
    const seen: string[] = []
    const start = async (stayMs: number, onStart: (running: Bun.Subprocess) => void = () => {}) => {
      const running = Bun.spawn([process.execPath, '-e', child(stayMs)], { stdout: 'pipe', stderr: 'inherit' })
      onStart(running)
      const decoder = new TextDecoder()
      for await (const chunk of running.stdout) seen.push(...decoder.decode(chunk).trim().split('\n'))
    }
    let victim: Bun.Subprocess | undefined
    const killed = start(60_000, (running) => {
      victim = running
    })
    await waitFor('the first to be in', () => seen.length === 1)
    const others = [start(50), start(50), withProcessLock('alone_test', () => seen.push('here'))]
    victim?.kill('SIGKILL')
    await Promise.all([killed, ...others])
    const after = seen.slice(1).join(' ')
    expect(after.replace('here', '').trim().split(/ +/).join(' ')).toBe('in out in out')
    expect(after).not.toContain('in here')
    expect(await withProcessLock('alone_test', async () => 7)).toBe(7)
  }, 120_000)
})

describe('the guard', async () => {
  const GUARD = join(import.meta.dir, '../../support/unit_guard.ts')
  const CLOCK = join(import.meta.dir, '../../../src/lib/clock.ts')

  /** What a unit test must not do; `PORT` is that of another process. */
  const FORBIDDEN = {
    fetches: 'await fetch("http://127.0.0.1:PORT/")',
    'asks by node:http': 'await new Promise((resolve) => http.get("http://127.0.0.1:PORT/", resolve))',
    connects: 'await new Promise((resolve) => net.connect(PORT, "127.0.0.1", resolve))',
    'connects by Bun': 'await Bun.connect({ hostname: "127.0.0.1", port: PORT, socket: { data() {} } })',
    'finds no server': 'await fetch("http://127.0.0.1:1/").catch(() => {})',
    spawns: 'await Bun.spawn(["true"]).exited',
    executes: 'childProcess.execFileSync("true")',
    sleeps: 'await Bun.sleep(6)',
    'waits for a timer': 'await new Promise((resolve) => setTimeout(resolve, 6))',
    'waits for the machine': 'await systemClock.sleep(6)',
    'waits for a deadline': 'await new Promise((resolve) => AbortSignal.timeout(6).addEventListener("abort", resolve))',
  }

  const ALLOWED = {
    'asks a double': 'const s = Bun.serve({ port: 0, fetch: () => new Response() }); await fetch(s.url); s.stop(true)',
    'lets others run': 'await Bun.sleep(1)',
    'cancels a timer': 'clearTimeout(setTimeout(() => {}, 50))',
  }

  const HEAD = `import { test } from 'bun:test'
import childProcess from 'node:child_process'
import http from 'node:http'
import net from 'node:net'
import { systemClock } from ${JSON.stringify(CLOCK)}
`

  test('a test of test/unit that leaves its process or waits for the machine fails, elsewhere it does not', async () => {
    using other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
    const body = Object.entries({ ...FORBIDDEN, ...ALLOWED })
      .map(([name, code]) => `test('${name}', async () => { ${code.replaceAll('PORT', String(other.port))} })`)
      .join('\n')
    expect(await run('test/unit', HEAD + body)).toEqual(Object.keys(FORBIDDEN))
    expect(await run('test/contract', HEAD + body)).toEqual([])
  })

  /** Runs a file of tests in a folder, in a process of its own. Returns the names of those that failed. */
  async function run(folder: string, text: string): Promise<string[]> {
    const root = temporaryDirectory()
    mkdirSync(join(root, folder), { recursive: true })
    const path = join(root, folder, 'odd_test.ts')
    writeFileSync(path, text)
    const child = Bun.spawn([process.execPath, 'test', '--preload', GUARD], {
      cwd: root,
      stderr: 'pipe',
      stdout: 'ignore',
    })
    const said = await child.stderr.text()
    expect(said).toMatch(/^Ran \d+ tests/m)
    return [...said.matchAll(/^\(fail\) (.+?) \[/gm)].map(([, name = '']) => name)
  }
})
