import { afterAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { withDatabase, withNewDatabase } from '../../../src/command/account_database.ts'
import { CommandError, type CommandIo } from '../../../src/command/command.ts'
import { readConfig } from '../../../src/config/config.ts'
import { temporaryDirectory } from '../../support/database.ts'

const dataDir = join(temporaryDirectory(), 'data')
const said: string[] = []
const io: CommandIo = {
  out: (text) => said.push(text),
  err: (text) => said.push(text),
  config: () => readConfig({ DATA_DIR: dataDir }, () => ''),
  environment: {},
  stop: new AbortController().signal,
  stdout: () => expect.unreachable(),
  stdin: () => expect.unreachable(),
}
afterAll(() => expect(said).toEqual([]))

test('withDatabase() creates no database, withNewDatabase() does; then both open it, at the same time and later', async () => {
  const created = withDatabase(io, () => Promise.resolve('opened'))
  await expect(created).rejects.toThrow(`Cannot find a database in data directory "${dataDir}"`)
  await expect(created).rejects.toBeInstanceOf(CommandError)
  expect(existsSync(dataDir)).toBe(false)

  await withNewDatabase(io, async (db, { own, address: { url } }) => {
    expect([own, url.startsWith('postgres://')]).toEqual([true, true])
    await db.run('create table kept as select 7 as value', [])
    const beside = withDatabase(io, async (other, options) => [options.own, await other.run('table kept', [])])
    expect(await beside).toEqual([false, [{ value: 7 }]])
  })
  const alone = withDatabase(io, async (db, { own }) => [own, await db.run('table kept', [])])
  expect(await alone).toEqual([true, [{ value: 7 }]])
}, 60_000)
