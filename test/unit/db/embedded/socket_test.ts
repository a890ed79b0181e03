import { expect, test } from 'bun:test'
import { parseDatabaseUrl } from '../../../../src/db/address.ts'
import { embeddedUrl, resolveSocketDirectory } from '../../../../src/db/embedded/socket.ts'

const LONG = `/data/${'long/'.repeat(30)}postgres`

test('resolveSocketDirectory() returns the home’s directory if a socket can have that path', () => {
  for (const platform of ['linux', 'darwin']) {
    expect(resolveSocketDirectory('/data/my postgres', { uid: 501, fd: 7, platform })).toEqual({
      base: '/data/my postgres',
      socketDir: '/data/my postgres/socket',
    })
  }
})

test.each([LONG, '/a,b/postgres', '/a:5/postgres', '/"a"/postgres'])(
  'socketPlace() of %s is short and plain, the same for every process, another for another home or user',
  (home) => {
    expect(resolveSocketDirectory(home, { uid: 0, fd: 7, platform: 'linux' })).toEqual({
      base: home,
      socketDir: `/proc/${process.pid}/fd/7/socket`,
    })
    const place = (path: string, uid: number) => resolveSocketDirectory(path, { uid, fd: 7, platform: 'darwin' })
    const { base, socketDir } = place(home, 501)
    expect(base).toMatch(/^\/tmp\/walletscope-501-[0-9a-f]{16}$/)
    expect(socketDir).toBe(`${base}/socket`)
    expect(place(home, 501)).toEqual({ base, socketDir })
    expect(new Set([base, place(home, 0).base, place(`${home}2`, 501).base]).size).toBe(3)
  },
)

test('embeddedUrl() connects to a socket in any directory', () => {
  for (const directory of ['/data/postgres/socket', "/it's 5% é\\/socket", '/proc/7/fd/3/socket']) {
    expect(parseDatabaseUrl(embeddedUrl(directory))).toMatchObject({
      listeners: [{ path: `${directory}/.s.PGSQL.5432` }],
      user: 'walletscope',
      database: 'postgres',
      tls: false,
      verified: true,
    })
  }
})
