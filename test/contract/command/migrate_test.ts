import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { FUNCTIONS, MIGRATIONS } from '../../../sql/files.ts'
import { migrateCommand } from '../../../src/command/migrate.ts'
import { findRunningEmbedded, startEmbedded } from '../../../src/db/embedded/embedded.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { runInProcess } from '../../support/command.ts'
import { emptyDatabase, temporaryDirectory } from '../../support/database.ts'

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

test('migrate --dry-run starts an embedded database that none runs, says so, and changes no table of it', async () => {
  const dataDir = join(temporaryDirectory(), 'data')
  const created = await startEmbedded({ dataDir, clock: systemClock, log: silentLog })
  await created.close()
  const run = (...words: string[]) =>
    runInProcess([migrateCommand], ['migrate', ...words], { env: { DATA_DIR: dataDir } })
  for (const _ of [1, 2]) expect(await run('--dry-run')).toMatchObject({ status: 3, err: '' })
  expect(await findRunningEmbedded(dataDir)).toBeUndefined()
  expect(migrateCommand.flags?.['dry-run']).toContain('the embedded database is started if no service runs it')
}, 60_000)
