import { expect, test } from 'bun:test'
import { FUNCTIONS, MIGRATIONS } from '../../../sql/files.ts'
import { migrateCommand } from '../../../src/command/migrate.ts'
import { runInProcess } from '../../support/command.ts'
import { emptyDatabase } from '../../support/database.ts'

test('migrate --dry-run lists what would be applied with status 3, and nothing with 0', async () => {
  const empty = await emptyDatabase()
  const run = (...words: string[]) =>
    runInProcess([migrateCommand], ['migrate', ...words], { env: { DATABASE_URL: empty.url } })
  const names = [...MIGRATIONS, ...FUNCTIONS].map(({ name }) => name)
  // Twice: the first one changed nothing.
  for (const _ of [1, 2]) {
    const first = await run('--dry-run')
    expect([first.status, first.out]).toEqual([3, names.map((name) => `Would apply ${name}`).join('\n')])
  }
  const applied = await run('--json')
  expect([applied.status, JSON.parse(applied.out)]).toEqual([0, { applied: names }])
  expect(await run('--dry-run')).toMatchObject({ status: 0, out: 'Everything is up to date' })
  expect(JSON.parse((await run('--dry-run', '--json')).out)).toEqual({ pending: [] })
  await empty.drop()
}, 60_000)
