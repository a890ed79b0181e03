import { expect, test } from 'bun:test'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../../support/database.ts'
import { formatFailures, listFailedFiles, listStrayErrors } from '../../support/failures.ts'

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

const PLAIN = "import { expect, test } from 'bun:test'\n"
const FILES = {
  'holds_test.ts': `${PLAIN}test('holds', () => {})`,
  'fails_test.ts': `${PLAIN}test('fails', () => expect(1).toBe(2))`,
  'absent_test.ts': `${PLAIN}import './nowhere.ts'\ntest('never runs', () => {})`,
  'nameless_test.ts': `${PLAIN}throw 'no place'`,
  // Throws while the next file is loaded, as a test does that was given up.
  'late_test.ts': `${PLAIN}test('holds', () => void setTimeout(() => { throw new Error('late') }, 20))`,
  'loads_test.ts': `${PLAIN}await Bun.sleep(200)\ntest('fails', () => expect(1).toBe(2))`,
}

test('listFailedFiles() omits no file that failed or was not run, and names none if it cannot tell', () => {
  const cases: readonly (readonly [
    files: readonly (keyof typeof FILES)[],
    failed: readonly string[],
    strays: number,
  ])[] = [
    [['holds_test.ts', 'fails_test.ts'], ['fails_test.ts'], 0],
    [['fails_test.ts', 'absent_test.ts'], ['fails_test.ts', 'absent_test.ts'], 1],
    [['late_test.ts', 'loads_test.ts'], ['late_test.ts', 'loads_test.ts'], 2],
    [['holds_test.ts', 'nameless_test.ts'], [], 1],
    [['fails_test.ts', 'nameless_test.ts'], [], 1],
  ]
  for (const [files, failed, strays] of cases) {
    const root = temporaryDirectory()
    mkdirSync(join(root, 'test'))
    for (const file of files) writeFileSync(join(root, 'test', file), FILES[file])
    const path = join(root, 'report.xml')
    const words = ['test', '--no-isolate', '--reporter=junit', `--reporter-outfile=${path}`]
    // In this order, whatever that of the directory is.
    const paths = files.map((file) => `./test/${file}`)
    const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...words, ...paths], { cwd: root })
    const run = { root, said: stderr.toString(), report: readFileSync(path, 'utf8') }
    expect([exitCode, listFailedFiles(run), listStrayErrors(run.said).length]).toEqual([
      1,
      failed.map((file) => `test/${file}`),
      strays,
    ])
  }
})
