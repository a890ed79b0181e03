import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createAccount } from '../../support/account/scene.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { openProcess, type Process } from '../../support/operator/scene.ts'
import { startReceiver } from '../../support/receiver.ts'
import { waitFor } from '../../support/wait_for.ts'
import { runJson } from '../program/accounts.ts'
import { buildWhatIsStale } from '../program/builds.ts'
import { executableProgram, type Program, runCommand } from '../program/program.ts'

await buildWhatIsStale()

let database: TestDatabase
let served: Process
let program: Program
let receiver: Awaited<ReturnType<typeof startReceiver>>

beforeAll(async () => {
  database = await testDatabase()
  served = await openProcess(database.db, { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' })
  program = executableProgram({ DATABASE_URL: database.url })
  receiver = await startReceiver({ plain: true })
}, 60_000)
afterAll(async () => {
  program.remove()
  await receiver.stop()
  await served.close()
  await database.close()
}, 60_000)

test('beside a service, triggers are listed as the route lists them, and a test message arrives', async () => {
  const { key, organizationId } = await createAccount(database.db)
  const post = async (path: string, body: unknown) => {
    const headers = { 'content-type': 'application/json' }
    return (await served.ask(path, { method: 'POST', key, headers, body: JSON.stringify(body) })).body.data
  }
  const webhook = await post('/v1/webhooks', { url: `http://127.0.0.1:${receiver.port}/ok` })
  const made = await post('/v1/triggers', {
    chain_id: 1,
    family: 'aave-v3',
    subject: { wallet: '0x00000000000000000000000000000000000000AA' },
    when: { figure: 'health_factor', below: '1.05' },
    name: 'Main vault',
    webhook_id: webhook.id,
  })

  const listed = (await served.ask('/v1/triggers', { key })).body.data
  expect(await runJson(program, ['trigger', 'list', organizationId])).toEqual(listed)
  const shown = await runCommand(program, ['trigger', 'list', organizationId])
  expect(shown.stdout).toContain(`${made.id}  Main vault  1         aave-v3  health_factor below 1.05  armed`)

  const { id } = await runJson(program, ['trigger', 'test', organizationId, made.id])
  await waitFor('the test message', () => receiver.received.length === 1, 10_000)
  expect(receiver.received[0]?.headers['webhook-id']).toBe(id)
  expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
    type: 'webhook.test',
    text: 'This is a test message about the trigger Main vault: nothing has happened.',
    data: { trigger_id: made.id },
  })
}, 60_000)

test('each command has help, and reports wrong usage and missing triggers', async () => {
  const { organizationId } = await createAccount(database.db)
  for (const name of ['list', 'test']) {
    const { status, stdout } = await runCommand(program, ['trigger', name, '--help'])
    expect([status, stdout]).toEqual([0, expect.stringContaining(`walletscope trigger ${name} <organization>`)])
  }
  expect((await runCommand(program, ['trigger', 'list', organizationId])).stdout).toStartWith('No trigger yet')
  const wrong = await runCommand(program, ['trigger', 'list', 'org_none'])
  expect([wrong.status, wrong.stderr]).toEqual([1, 'walletscope: Cannot find the organization "org_none"\n'])
  const unknown = await runCommand(program, ['trigger', 'test', organizationId, 'trg_none'])
  expect([unknown.status, unknown.stderr]).toEqual([1, 'walletscope: Cannot find trigger "trg_none"\n'])
  expect((await runCommand(program, ['trigger', 'test', organizationId])).status).toBe(2)
}, 60_000)
