import { expect, test } from 'bun:test'
import { parseDatabaseUrl } from '../../../src/db/address.ts'

test('parseDatabaseUrl() reads user, password, host, port and database, percent-encoded if needed', () => {
  expect(parseDatabaseUrl('postgresql://me%40home:a%3Ab%2F@localhost:5433/my%20app?application_name=x')).toEqual({
    listeners: [{ host: 'localhost', port: 5433 }],
    database: 'my app',
    user: 'me@home',
    password: 'a:b/',
    tls: false,
    verified: true,
    caFile: undefined,
    startup: { application_name: 'x' },
  })
})

test('parseDatabaseUrl() reads sockets, several hosts and IPv6', () => {
  expect(parseDatabaseUrl('postgres://me@/app?host=/run/postgresql').listeners).toEqual([
    { path: '/run/postgresql/.s.PGSQL.5432' },
  ])
  expect(parseDatabaseUrl('postgres://me@%2Frun%2Fpostgresql/app').listeners).toEqual([
    { path: '/run/postgresql/.s.PGSQL.5432' },
  ])
  expect(parseDatabaseUrl('postgres://me@one.example.org:6432,two.example.org/app').listeners).toEqual([
    { host: 'one.example.org', port: 6432 },
    { host: 'two.example.org', port: 5432 },
  ])
  expect(parseDatabaseUrl('postgres://me@[::1]:5433/app').listeners).toEqual([{ host: '::1', port: 5433 }])
})

test.each([
  ['localhost', '', false],
  ['127.0.0.1', '', false],
  ['127.8.8.8', 'sslmode=disable', false],
  ['[::1]', 'sslmode=prefer', false],
  ['localhost', 'sslmode=require', true],
  ['localhost', 'sslmode=verify-ca', true],
  ['db.example.org', '', true],
  ['db.example.org', 'sslmode=allow', true],
  ['db.example.org', 'sslmode=prefer', true],
  ['localhost.example.org', '', true],
  ['10.0.0.1', '', true],
  ['127.0.0.1.example.org', '', true],
])('parseDatabaseUrl() of %s with "%s" asks for checked TLS: %p', (host, search, tls) => {
  expect(parseDatabaseUrl(`postgres://me@${host}/app?${search}`).tls).toBe(tls)
})

test.each([
  ['verify', '', { tls: true, verified: true }],
  ['unverified', 'sslmode=require', { tls: true, verified: false }],
  ['unverified', '', { tls: true, verified: false }],
  ['off', '', { tls: false }],
  ['off', 'sslmode=disable', { tls: false }],
] as const)('parseDatabaseUrl() of a remote host with DATABASE_TLS=%s and "%s"', (policy, search, expected) => {
  expect(parseDatabaseUrl(`postgres://me@db.example.org/app?${search}`, policy)).toMatchObject(expected)
})

test('parseDatabaseUrl() refuses a mode that contradicts the policy', () => {
  const parse = (policy: 'verify' | 'unverified' | 'off', mode: string) => () =>
    parseDatabaseUrl(`postgres://me@db.example.org/app?sslmode=${mode}`, policy)
  expect(parse('off', 'verify-full')).toThrow('sslmode=verify-full contradicts DATABASE_TLS=off')
  for (const policy of ['verify', 'unverified'] as const) expect(parse(policy, 'disable')).toThrow('DATABASE_TLS=off')
})
