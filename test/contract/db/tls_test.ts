import { afterAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import type { DatabaseTls } from '../../../src/db/address.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { UnavailableError } from '../../../src/lib/error.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { slowClock } from '../../support/test_clock.ts'
import { waitFor } from '../../support/wait_for.ts'

const DIRECTORY = join(import.meta.dir, 'tls')
const AUTHORITY = `sslrootcert=${encodeURIComponent(join(DIRECTORY, 'authority.pem'))}`
const closers: (() => void)[] = []
afterAll(() => {
  for (const close of closers) close()
})

/** A server that offers TLS with `certificate`, or refuses it; records what it receives in the clear and inside TLS. */
async function tlsServer(certificate: 'server' | 'other' | 'none') {
  const clear: string[] = []
  const inside: string[] = []
  const server = createServer((socket: Socket) => {
    closers.push(() => socket.destroy())
    socket.on('error', () => {})
    socket.once('data', (request) => {
      clear.push(request.toString('latin1'))
      if (certificate === 'none') {
        socket.on('data', (data) => clear.push(data.toString('latin1')))
        socket.write('N')
        return
      }
      socket.write('S')
      const key = readFileSync(join(DIRECTORY, `${certificate}.key`))
      const cert = readFileSync(join(DIRECTORY, `${certificate}.pem`))
      const secure = new TLSSocket(socket, { isServer: true, key, cert })
      secure.on('error', () => {})
      secure.on('data', (data) => inside.push(data.toString('latin1')))
    })
  })
  closers.push(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return { port: typeof address === 'object' && address !== null ? address.port : 0, clear, inside }
}

/** Runs a statement. Ends with its failure, or once the server, which never answers, has heard of `alice`. */
async function attempt(url: string, { tls, heard }: { tls?: DatabaseTls; heard?: readonly string[] } = {}) {
  const db = openDatabase({ url, ...(tls === undefined ? {} : { tls }), clock: slowClock, log: silentLog })
  const running = db.run('select 1', [], { deadlineMs: 10_000 }).catch((error: unknown) => error)
  const outcome = await (heard === undefined ? running : waitFor('alice', () => heard.join('').includes('alice')))
  await db.close()
  return outcome
}

test('a session is opened inside TLS with a certificate of a trusted authority for the host', async () => {
  const { port, clear, inside } = await tlsServer('server')
  await attempt(`postgres://alice@localhost:${port}/app?sslmode=verify-full&${AUTHORITY}`, { heard: inside })
  expect(clear.join('')).not.toContain('alice')
})

test.each([
  ['no known authority signed the certificate', 'server', 'sslmode=require', /certificate/],
  ['the certificate is for another host', 'other', `sslmode=require&${AUTHORITY}`, /is for another host/],
  ['the server does not speak TLS', 'none', `sslmode=require&${AUTHORITY}`, /does not offer TLS/],
] as const)('nothing is said to the server when %s, and the reason is told', async (_, certificate, search, says) => {
  const { port, clear, inside } = await tlsServer(certificate)
  const outcome = await attempt(`postgres://alice@localhost:${port}/app?${search}`)
  expect(outcome).toBeInstanceOf(UnavailableError)
  expect(String(outcome instanceof Error ? outcome.cause : outcome)).toMatch(says)
  expect(inside).toEqual([])
  expect(clear.join('')).not.toContain('alice')
})

// Linux leads 0.0.0.0 to this machine, and it is not an address of loopback.
test.if(process.platform === 'linux')(
  'DATABASE_TLS lets a host of a private network be reached with less',
  async () => {
    const unknown = await tlsServer('other')
    await attempt(`postgres://alice@0.0.0.0:${unknown.port}/app`, { tls: 'unverified', heard: unknown.inside })
    expect(unknown.clear.join('')).not.toContain('alice')
    const without = await tlsServer('none')
    await attempt(`postgres://alice@0.0.0.0:${without.port}/app`, { tls: 'unverified' })
    expect(without.clear.join('')).not.toContain('alice')
    await attempt(`postgres://alice@0.0.0.0:${without.port}/app`, { tls: 'off', heard: without.clear })
  },
)
