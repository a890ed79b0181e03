import { expect, test } from 'bun:test'
import { BlockList } from 'node:net'
import fc from 'fast-check'
import { isIn, parseNetwork } from '../../../src/lib/text/network.ts'

function networkOf(text: string) {
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
  ['::1', '0:0:0:0:0:0:0:1', true],
  ['fe80::/10', 'fe80::1%eth0', true],
  ['::/0', '', false],
  ['0.0.0.0/0', 'localhost', false],
])('%s holds %s: %p', (network, address, expected) => {
  // A mapped network cannot be read: its addresses count as those of IPv4.
  const parsed = parseNetwork(network)
  expect(parsed !== undefined && isIn([parsed], address)).toBe(expected)
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

test('it agrees with the list of the runtime', () => {
  const ipv4 = fc.ipV4()
  const ipv6 = fc.ipV6()
  fc.assert(
    fc.property(
      fc.oneof(fc.tuple(ipv4, ipv4, fc.nat(32)), fc.tuple(ipv6, ipv6, fc.nat(128))),
      ([base, address, prefix]) => {
        const version = base.includes(':') ? 'ipv6' : 'ipv4'
        fc.pre(!base.toLowerCase().includes('ffff:'))
        const whole = networkOf(base)
        const rest = BigInt((whole.version === 4 ? 32 : 128) - prefix)
        const network = { ...whole, prefix, bits: (whole.bits >> rest) << rest }
        const list = new BlockList()
        list.addSubnet(base, prefix, version)
        for (const each of [base, address]) expect(isIn([network], each)).toBe(list.check(each, version))
      },
    ),
  )
})
