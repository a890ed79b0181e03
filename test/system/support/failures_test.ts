import { expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../../support/database.ts'
import { formatFailures, listStrayErrors } from '../../support/failures.ts'

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
