import { expect, test } from 'bun:test'
import { createLog } from '../../../src/lib/log.ts'
import { createAccount } from '../../support/account/scene.ts'
import { testDatabase } from '../../support/database.ts'
import { openProcess, useLink } from '../../support/operator/scene.ts'
import { createTestClock } from '../../support/test_clock.ts'

/** The lines of requests, of which one has a secret key and a query, in a log of level `info`. */
async function listLines(ACCESS_LOG: 'on' | 'off') {
  const { db, close } = await testDatabase()
  const { key, organizationId, apiKeyId } = await createAccount(db)
  const lines: string[] = []
  const log = createLog({ level: 'info', write: (line) => lines.push(line), clock: createTestClock() })
  const { ask, close: end } = await openProcess(db, { ACCESS_LOG }, { log })
  const headers = { 'x-request-id': 'req_of_a_test' }
  await ask('/v1/usage/logs?range=24h', { headers: { ...headers, authorization: `Bearer ${key}` } })
  await ask('/v1/usage/logs?secret=s3cr3t', { headers })
  await end()
  await close()
  return { text: lines.join('\n'), lines: lines.map((line) => JSON.parse(line)), key, organizationId, apiKeyId }
}

test('ACCESS_LOG has a line for each request, which names who pays and nothing secret', async () => {
  const { text, lines, key, organizationId, apiKeyId } = await listLines('on')
  const line = { level: 'info', msg: 'Answered a request', requestId: 'req_of_a_test', route: 'GET /v1/usage/logs' }
  expect(lines).toEqual([
    expect.objectContaining({ ...line, status: 200, credits: 1, organization: organizationId, key: apiKeyId }),
    expect.objectContaining({ ...line, status: 401, credits: 0 }),
  ])
  expect(lines[1]).not.toContainKeys(['organization', 'key'])
  expect(text).not.toContain(key)
  expect(text).not.toMatch(/s3cr3t|24h/)
}, 60_000)

test('every line says where the request came from: pages and refused logins too', async () => {
  const { db, close } = await testDatabase()
  const lines: string[] = []
  const log = createLog({ level: 'info', write: (line) => lines.push(line), clock: createTestClock() })
  const { ask, close: end } = await openProcess(db, { ACCESS_LOG: 'on' }, { log })
  await ask('/admin/v1/organizations', { key: 'guess' })
  await useLink(ask, 'guess')
  await ask('/dashboard/v1/keys')
  await end()
  await close()
  const seen = lines.map((line) => JSON.parse(line)).map(({ route, status, from }) => [route, status, from])
  expect(seen).toEqual([
    ['GET /admin/v1/organizations', 401, '127.0.0.1'],
    ['POST /login', 401, '127.0.0.1'],
    ['GET /dashboard/v1/keys', 401, '127.0.0.1'],
  ])
}, 60_000)

test('without ACCESS_LOG requests have no line', async () => {
  expect((await listLines('off')).lines).toEqual([])
}, 60_000)
