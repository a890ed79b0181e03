import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { parseDatabaseUrl } from '../../../../src/db/address.ts'
import { openSession } from '../../../../src/db/connection/session.ts'
import { SqlError } from '../../../../src/db/database.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { waitFor } from '../../../support/wait_for.ts'

const TLS = join(import.meta.dir, '../tls')
let database: TestDatabase
const closers: (() => void)[] = []

beforeAll(async () => {
  database = await testDatabase()
  await database.db.run('create table step (name text)', [])
}, 60_000)
afterAll(async () => {
  for (const close of closers) close()
  await database.close()
}, 60_000)

/** The test's server behind TLS, for a client that wants it. */
async function urlWithTls(): Promise<string> {
  const { database: name, user, listeners } = parseDatabaseUrl(database.url)
  const server = createServer((socket: Socket) => {
    closers.push(() => socket.destroy())
    socket.once('data', () => {
      socket.write('S')
      const [key, cert] = ['server.key', 'server.pem'].map((file) => readFileSync(join(TLS, file)))
      const secure = new TLSSocket(socket, { isServer: true, key, cert })
      const [listener] = listeners
      const behind = 'path' in listener ? connect(listener.path) : connect(listener.port, listener.host)
      secure.pipe(behind).pipe(secure)
      for (const each of [socket, secure, behind]) each.on('error', () => each.destroy())
      behind.on('close', () => socket.destroy())
    })
  })
  closers.push(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : 0
  const authority = encodeURIComponent(join(TLS, 'authority.pem'))
  return `postgres://${user}@localhost:${port}/${name}?sslmode=verify-full&sslrootcert=${authority}`
}

async function backends(name: string): Promise<readonly number[]> {
  const rows = await database.db.run<{ pid: number }>(
    'select pid from pg_stat_activity where application_name = $1 order by pid',
    [name],
  )
  return rows.map(({ pid }) => pid)
}

test.each([
  ['plain', () => Promise.resolve(database.url)],
  ['inside TLS', urlWithTls],
] as const)(
  'after a connection that was lost, %s, nothing more is done and nothing of the transaction remains',
  async (way, url) => {
    const name = `session ${way}`
    const session = await openSession({ url: await url(), applicationName: name, clock: systemClock })
    await session.run('begin', [])
    await session.run('insert into step values ($1)', ['before'])
    await database.db.run('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [await backends(name)])
    await waitFor('the backend to end', async () => (await backends(name)).length === 0)
    for (const step of ['after', 'later']) {
      const failure = await session.run('insert into step values ($1)', [step], { deadlineMs: 3_000 }).catch((e) => e)
      expect(failure).toBeInstanceOf(Error)
    }
    expect(await session.run('commit', []).catch((error) => error)).toBeInstanceOf(UnavailableError)
    expect(await database.db.run('select name from step', [])).toEqual([])
    expect(await backends(name)).toEqual([])
    await session.close()
  },
)

test('a failure of the server, such as a full disk, is reported as it is', async () => {
  const session = await openSession({ url: database.url, applicationName: 'session', clock: systemClock })
  const failure = await session
    .run(`do $$ begin raise exception 'No space left on device' using errcode = '53100'; end $$`, [])
    .catch((error) => error)
  expect(failure).toBeInstanceOf(SqlError)
  expect(failure.message).toBe('No space left on device')
  await session.close()
})

test('an unreachable database fails at once', async () => {
  const opening = openSession({
    url: 'postgres://user@127.0.0.1:1/nothing',
    applicationName: 'session',
    clock: systemClock,
  })
  await expect(opening).rejects.toBeInstanceOf(UnavailableError)
})
