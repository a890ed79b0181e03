import { expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../../support/database.ts'

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
