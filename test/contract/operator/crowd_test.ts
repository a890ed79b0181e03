import { afterAll, beforeAll, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import type { Database } from '../../../src/db/database.ts'
import { serveBun } from '../../../src/http/server/bun.ts'
import type { ListeningServer } from '../../../src/http/server/listening.ts'
import { createAccount } from '../../support/account/scene.ts'
import { sendRaw } from '../../support/client.ts'
import { testDatabase } from '../../support/database.ts'
import { ORIGIN, openBrowser, openProcess, type Process, TOKEN } from '../../support/operator/scene.ts'
import { waitFor } from '../../support/wait_for.ts'

const CONNECTIONS = 200

let db: Database
let service: Process
let served: ListeningServer
const sockets: Socket[] = []

beforeAll(async () => {
  db = (await testDatabase()).db
  service = await openProcess(db)
  served = serveBun(service.app, { port: 0, host: '127.0.0.1' })
}, 60_000)

afterAll(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await served.stop()
  await service.close()
}, 60_000)

/** Connections that send the head of a request and never its body. */
async function hang(head: string): Promise<void> {
  const lines = `Host: test.local\r\nOrigin: ${ORIGIN}\r\nContent-Length: 9\r\n`
  for (let count = 0; count < CONNECTIONS; count += 1) {
    const socket = connect(served.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(`${head}\r\n${lines}\r\n`)
    sockets.push(socket)
  }
}

async function readStatus(target: string, headers: Readonly<Record<string, string>>): Promise<number> {
  const lines = Object.entries({ host: 'test.local', connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return (await sendRaw(served.port, `GET ${target} HTTP/1.1\r\n${lines.join('')}\r\n`)).status
}

test('200 connections that hang on the login lock out neither the token, nor sessions, nor keys', async () => {
  const { organizationId, key } = await createAccount(db, { credits: 100 })
  const operator = await openBrowser(db, service.ask, null)
  const organization = await openBrowser(db, service.ask, organizationId)
  const form = 'Content-Type: application/x-www-form-urlencoded'
  await hang(`POST /login HTTP/1.1\r\n${form}`)
  // Unknown callers on other paths are answered at once, and take no slot.
  await hang('POST /admin/v1/organizations HTTP/1.1\r\nContent-Type: application/json')
  await hang(
    `POST /admin/v1/organizations HTTP/1.1\r\nContent-Type: application/json\r\nAuthorization: Bearer ${'x'.repeat(20)}`,
  )
  await waitFor('as many logins hang as may', async () => service.app.inFlight() >= 64)

  expect(await readStatus('/admin/v1/settings', { authorization: `Bearer ${TOKEN}` })).toBe(200)
  expect(await readStatus('/admin/v1/settings', operator.headers)).toBe(200)
  expect(await readStatus('/dashboard/v1/organization', organization.headers)).toBe(200)
  expect(await readStatus('/v1/usage/logs', { authorization: `Bearer ${key}` })).toBe(200)
  for (const page of ['/healthz', '/readyz', '/admin/v1/openapi.json', '/login'])
    expect(await readStatus(page, {})).toBe(200)
  // All of this while they hung.
  expect(service.app.inFlight()).toBeGreaterThanOrEqual(64)
}, 30_000)
