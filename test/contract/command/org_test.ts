import { afterAll, beforeAll, expect, test } from 'bun:test'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { createOrganization, listOrganizations } from '../../../src/account/organization.ts'
import { organizationCommands } from '../../../src/command/account/org.ts'
import { UsageError } from '../../../src/command/command.ts'
import { runInProcess } from '../../support/command.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(() => database.close(), 60_000)

function run(words: readonly string[], typed?: string) {
  return runInProcess(organizationCommands, words, { env: { DATABASE_URL: database.url }, ...(typed && { typed }) })
}

async function listNames(): Promise<readonly string[]> {
  const { items } = await listOrganizations(database.db, { page: 1, limit: 10 })
  return items.map(({ name }) => name)
}

test('org delete asks for the name, and deletes nothing for another answer or without a terminal', async () => {
  const { id } = await createOrganization(database.db, { by: CLI_ACTOR, name: 'Shop' })
  for (const answer of ['shop\n', 'yes\n', '\n', `${id}\n`]) {
    const { error, err } = await run(['org', 'delete', 'Shop'], answer)
    expect(error?.message).toBe('Deleted nothing: that is not its name')
    expect(err).toBe(
      `This deletes organization ${id}, "Shop", for good: its keys stop working and its 0 credits are lost. Type its name to go on:`,
    )
  }
  expect((await run(['org', 'delete', 'Shop'])).error).toBeInstanceOf(UsageError)
  expect(await listNames()).toEqual(['Shop'])
  expect(await run(['org', 'delete', id], ' Shop \n')).toMatchObject({ status: 0, out: `Deleted organization ${id}` })
  expect(await listNames()).toEqual([])
})

test('org delete --yes deletes without asking', async () => {
  const { id } = await createOrganization(database.db, { by: CLI_ACTOR, name: 'Shop' })
  const { out, err } = await run(['org', 'delete', 'Shop', '--yes', '--json'])
  expect([JSON.parse(out).id, err]).toEqual([id, ''])
  expect(await listNames()).toEqual([])
})
