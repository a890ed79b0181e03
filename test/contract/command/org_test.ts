import { afterAll, beforeAll, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { CLI_ACTOR, listAudit } from '../../../src/account/audit.ts'
import { createOrganization, listOrganizations } from '../../../src/account/organization.ts'
import { instanceKeyCommands } from '../../../src/command/account/instance_key.ts'
import { keyCommands } from '../../../src/command/account/key.ts'
import { loginCommand } from '../../../src/command/account/login.ts'
import { creditCommands, organizationCommands } from '../../../src/command/account/org.ts'
import { settingsCommands } from '../../../src/command/account/settings.ts'
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
  expect((await run(['org', 'delete', 'Shop'])).error).toMatchObject({ name: 'CommandError', exitStatus: 2 })
  expect(await listNames()).toEqual(['Shop'])
  expect(await run(['org', 'delete', id], ' Shop \n')).toMatchObject({ status: 0, out: `Deleted organization ${id}` })
  expect(await listNames()).toEqual([])
})

test('org delete takes the name as any keyboard writes it', async () => {
  const { id } = await createOrganization(database.db, { by: CLI_ACTOR, name: 'Caf\u00e9' })
  expect((await run(['org', 'delete', id], 'Cafe\n')).error?.message).toBe('Deleted nothing: that is not its name')
  expect(await run(['org', 'delete', id], 'Cafe\u0301\n')).toMatchObject({ status: 0 })
})

test('org delete --yes deletes without asking', async () => {
  const { id } = await createOrganization(database.db, { by: CLI_ACTOR, name: 'Shop' })
  const { out, err } = await run(['org', 'delete', 'Shop', '--yes', '--json'])
  expect([JSON.parse(out).id, err]).toEqual([id, ''])
  expect(await listNames()).toEqual([])
})

test('every change of a command names the account that ran it', async () => {
  const { db, url } = database
  const commands = [...organizationCommands, ...keyCommands, ...creditCommands, ...settingsCommands]
  const all = [...commands, loginCommand, ...instanceKeyCommands]
  const runJson = async (...words: string[]) => {
    const { out, error } = await runInProcess(all, [...words, '--json'], { env: { DATABASE_URL: url, CHAINS: '1' } })
    expect(error).toBeUndefined()
    return JSON.parse(out)
  }
  const { id: first } = await runJson('org', 'create', 'Books', '--credits', '10', '--key')
  const { id } = await runJson('key', 'create', first)
  await runJson('key', 'revoke', first, (await runJson('key', 'reroll', first, id)).id)
  for (const verb of ['suspend', 'restore']) await runJson('org', verb, first)
  await runJson('org', 'limit', first, '7')
  for (const verb of ['off', 'on']) await runJson('settings', verb, 'mcp')
  await runJson('login', '--org', first)
  await runJson('keys', 'rotate')
  await runJson('org', 'delete', first, '--yes')
  const { items } = await listAudit(db, { organizationId: null, page: 1, limit: 100 })
  const since = items.slice(
    0,
    items.findIndex(({ action, subject }) => action === 'organization.create' && subject === first) + 1,
  )
  const actions = [...new Set(since.map(({ action }) => action))]
  expect(actions.toSorted()).toEqual([
    'credits.grant',
    'instance_key.create',
    'key.create',
    'key.reroll',
    'key.revoke',
    'login_link.create',
    'organization.create',
    'organization.delete',
    'organization.restore',
    'organization.suspend',
    'organization.update',
    'switch.off',
    'switch.on',
  ])
  expect(new Set(since.map(({ actor, account }) => `${actor} ${account}`))).toEqual(new Set([`cli ${askSystem()}`]))
})

test('no variable says whose account ran a command', () => {
  const module = require.resolve('../../../src/command/account/actor.ts')
  const lie = { USER: 'evil', LOGNAME: 'evil', USERNAME: 'evil' }
  const code = `console.log((await (await import('${module}')).findActor({ environment: {} })).account)`
  const out = execFileSync(process.execPath, ['-e', code], { env: { ...process.env, ...lie }, encoding: 'utf8' })
  expect(out.trim()).toBe(askSystem())
})

/** This process's account, as the system's own program tells it. */
function askSystem(): string {
  const [uid, name] = ['-u', '-un'].map((flag) => execFileSync('id', [flag], { encoding: 'utf8' }).trim())
  return `uid ${uid} (${name})`
}
