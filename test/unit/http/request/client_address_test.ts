import { expect, test } from 'bun:test'
import { createClientAddress } from '../../../../src/http/request/client_address.ts'
import { parseNetwork } from '../../../../src/lib/text/network.ts'

const TRUSTED = ['10.0.0.0/8', '2001:db8:ffff::/48'].flatMap((text) => parseNetwork(text) ?? [])

function getClientIp(ip: string, headers: Readonly<Record<string, string>>, trusted = TRUSTED): string {
  return createClientAddress(trusted)({ ip, request: { headers: new Headers(headers) } }).ip
}

test.each([
  [
    'a connection that no trusted proxy made says nothing',
    '192.0.2.7',
    { 'x-forwarded-for': '198.51.100.1' },
    '192.0.2.7',
  ],
  ['without a header it is the proxy', '10.0.0.1', {}, '10.0.0.1'],
  [
    'the last address that no trusted proxy has',
    '10.0.0.1',
    { 'x-forwarded-for': '203.0.113.9, 198.51.100.1, 10.0.0.2' },
    '198.51.100.1',
  ],
  ['all of them trusted', '10.0.0.1', { 'x-forwarded-for': '10.0.0.3, 10.0.0.2' }, '10.0.0.3'],
  ['with ports', '10.0.0.1', { 'x-forwarded-for': '198.51.100.1:4711' }, '198.51.100.1'],
  ['a proxy and a client of IPv6', '2001:db8:ffff::1', { 'x-forwarded-for': '[2001:db8::7]:443' }, '2001:db8::7'],
  ['a mapped connection', '::ffff:10.0.0.1', { 'x-forwarded-for': '198.51.100.1' }, '198.51.100.1'],
  [
    'RFC 7239',
    '10.0.0.1',
    { forwarded: 'for=203.0.113.9;proto=http, by=x; for="[2001:db8::7]:4711";proto=https' },
    '2001:db8::7',
  ],
  ['RFC 7239 in capitals', '10.0.0.1', { forwarded: 'By=10.0.0.9;For=198.51.100.1' }, '198.51.100.1'],
  [
    'both, alike',
    '10.0.0.1',
    { forwarded: 'for=198.51.100.1', 'x-forwarded-for': '9.9.9.9, 198.51.100.1' },
    '198.51.100.1',
  ],
  [
    "both, and one may be the client's own",
    '10.0.0.1',
    { forwarded: 'for=10.2.3.4', 'x-forwarded-for': '198.51.100.1' },
    '',
  ],
  ['an unknown hop hides what is before it', '10.0.0.1', { 'x-forwarded-for': '203.0.113.9, unknown, 10.0.0.2' }, ''],
  ['nonsense', '10.0.0.1', { forwarded: 'proto=https' }, ''],
  ['an empty header', '10.0.0.1', { 'x-forwarded-for': '' }, ''],
] as const)('the address of a client behind proxies: %s', (_, ip, headers, expected) => {
  expect(getClientIp(ip, headers)).toBe(expected)
})

test('without trusted proxies headers are not read', () => {
  expect(getClientIp('10.0.0.1', { 'x-forwarded-for': '198.51.100.1' }, [])).toBe('10.0.0.1')
})
