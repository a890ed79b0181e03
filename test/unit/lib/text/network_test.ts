import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { isInNetworks, parseNetwork } from '../../../../src/lib/text/network.ts'

function parseOrThrow(text: string) {
  const network = parseNetwork(text)
  if (network === undefined) throw new Error(`Cannot read ${text}`)
  return network
}

test.each([
  ['10.0.0.0/8', '10.255.255.255', true],
  ['10.0.0.0/8', '11.0.0.0', false],
  ['0.0.0.0/0', '255.1.2.3', true],
  ['0.0.0.0/0', '::1', false],
  ['192.0.2.7', '192.0.2.7', true],
  ['192.0.2.7/32', '192.0.2.6', false],
  ['192.0.2.0/25', '192.0.2.128', false],
  ['192.0.2.0/24', '::ffff:192.0.2.9', true],
  ['192.0.2.0/24', '::ffff:c000:209', true],
  ['::ffff:192.0.2.0/120', '192.0.2.9', false],
  ['2001:db8::/32', '2001:db8:ffff::1', true],
  ['2001:db8::/32', '2001:db9::', false],
  ['::/0', '2001:db9::', true],
  ['::/0', '192.0.2.7', false],
  ['::/0', '::ffff:192.0.2.7', false],
  ['::ffff:192.0.2.7', '192.0.2.7', true],
  ['::ffff:192.0.2.7', '192.0.2.8', false],
  ['::1', '0:0:0:0:0:0:0:1', true],
  ['fe80::/10', 'fe80::1%eth0', true],
  ['::/0', '', false],
  ['0.0.0.0/0', 'localhost', false],
])('%s holds %s: %p', (network, address, expected) => {
  // A mapped network cannot be read: its addresses count as those of IPv4.
  const parsed = parseNetwork(network)
  expect(parsed !== undefined && isInNetworks([parsed], address)).toBe(expected)
})

test.each([
  '',
  '/',
  '10.0.0.5/8',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/08',
  '10.0.0.0/8/8',
  '010.0.0.0/8',
  '10.0.0/8',
  '2001:db8::1/32',
  '::/129',
  ':::',
  '1::2::3',
  'fe80::%eth0/64',
  'a.b.c.d',
  '10.0.0.0/ 8',
])('%p is no network', (text) => {
  expect(parseNetwork(text)).toBeUndefined()
})

test('parseNetwork() rejects host bits at any position after the prefix', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }), fc.integer({ min: 0, max: 128 }), (bits, prefix) => {
      const groups = [...Array(8).keys()].map((group) => ((bits >> BigInt(112 - 16 * group)) & 0xffffn).toString(16))
      fc.pre(bits >> 32n !== 0xffffn)
      const isFirst = (bits & ((1n << BigInt(128 - prefix)) - 1n)) === 0n
      expect(parseNetwork(`${groups.join(':')}/${prefix}`) !== undefined).toBe(isFirst)
      const first = (bits >> BigInt(128 - prefix)) << BigInt(128 - prefix)
      const start = [...Array(8).keys()].map((group) => ((first >> BigInt(112 - 16 * group)) & 0xffffn).toString(16))
      expect(isInNetworks([parseOrThrow(`${start.join(':')}/${prefix}`)], groups.join(':'))).toBe(true)
    }),
  )
})
