import { describe, expect, test } from 'bun:test'
import { AddressError, createNameResolver, resolveWebhookTarget } from '../../../../src/trigger/deliver/address.ts'
import { startNameServer } from '../../../support/name_server.ts'
import { parseNetworks } from '../../../support/networks.ts'

const PUBLIC = '93.184.216.34'

/** Why a URL is refused; its addresses if it is not. */
async function verdict(
  url: string,
  { found = [PUBLIC], allowed = [] }: { readonly found?: readonly string[]; readonly allowed?: readonly string[] } = {},
): Promise<unknown> {
  const rules = { allowed: parseNetworks(...allowed), resolve: async () => found }
  try {
    return (await resolveWebhookTarget(url, rules)).addresses
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    expect(error.message).not.toMatch(/\d+\.\d+\.\d+|::/)
    return error.reason
  }
}

/** Each leads to this machine if it is not checked. */
const LOOPBACK = [
  ...['127.0.0.1', '127.1', '127.0.1', '127.255.255.254', '2130706433', '017700000001', '0x7f000001', '0x7f.1'],
  ...['0177.0.0.1', '0x7f.0x0.0x0.0x1', '0177.0x0.1', '127.0.0.1.', '127.000.000.001', '１２７.０.０.１', '①②⑦.⓪.⓪.①'],
  ...['127。0。0。1', '127．0．0．1', '%31%32%37.0.0.1', '0', '0.0.0.0', '0x0', '000000000000'],
  ...[
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]',
  ],
  ...['[64:ff9b::127.0.0.1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001:0:7f00:1::]', '[fe80::1]', '[fc00::1]'],
]

describe('reachableTarget()', () => {
  test(`refuses ${LOOPBACK.length} spellings of this machine`, async () => {
    expect(LOOPBACK.length).toBeGreaterThan(30)
    for (const host of LOOPBACK) expect([host, await verdict(`https://${host}/`)]).toEqual([host, 'address'])
  })

  test('refuses addresses of other networks than the public one', async () => {
    const others = [
      ...[
        '10.0.0.1',
        '172.16.0.1',
        '172.31.255.255',
        '192.168.1.1',
        '100.64.0.1',
        '100.100.100.200',
        '169.254.169.254',
        '168.63.129.16',
      ],
      ...[
        '192.0.0.1',
        '192.0.2.1',
        '192.88.99.1',
        '198.18.0.1',
        '198.51.100.1',
        '203.0.113.1',
        '224.0.0.1',
        '240.0.0.1',
      ],
      ...['255.255.255.255', '[fd00:ec2::254]', '[fec0::1]', '[ff02::1]', '[2001:db8::1]', '[100::1]', '[3fff::1]'],
    ]
    for (const host of others) expect([host, await verdict(`https://${host}/`)]).toEqual([host, 'address'])
  })

  test('takes public addresses, IPv4 first, and unwraps mapped ones', async () => {
    expect(await verdict('https://8.8.8.8:8443/x?y=z')).toEqual(['8.8.8.8'])
    expect(await verdict('https://[2606:4700::1111]/')).toEqual(['2606:4700::1111'])
    expect(await verdict('https://[::ffff:8.8.8.8]/')).toEqual(['8.8.8.8'])
    expect(await verdict('https://hook.test/', { found: ['2606:4700::1111', '1.1.1.1'] })).toEqual([
      '1.1.1.1',
      '2606:4700::1111',
    ])
  })

  test('looks at every address of a name', async () => {
    expect(await verdict('https://hook.test/')).toEqual([PUBLIC])
    for (const other of ['127.0.0.1', '::1', '10.0.0.1', 'fe80::1%eth0', '0177.0.0.1', 'nonsense', '']) {
      expect([other, await verdict('https://hook.test/', { found: [PUBLIC, other] })]).toEqual([other, 'address'])
      expect([other, await verdict('https://hook.test/', { found: [other, PUBLIC] })]).toEqual([other, 'address'])
    }
    expect(await verdict('https://hook.test/', { found: [] })).toBe('dns')
  })

  test('refuses what is not https, and credentials', async () => {
    const urls = ['http://hook.test/', 'ftp://hook.test/', 'file:///etc/passwd', 'hook.test', '', 'https://', 'data:,x']
    const named = ['https://me@hook.test/', 'https://me:secret@hook.test/', 'https://:secret@hook.test/']
    for (const url of [...urls, ...named, `https://hook.test/${'x'.repeat(2_100)}`]) {
      expect([url, await verdict(url)]).toEqual([url, 'address'])
    }
  })

  test('opens the networks that the operator allows, by http too, and never link-local ones', async () => {
    const allowed = ['10.0.0.0/8', 'fd00::/8', '169.254.0.0/16', 'fe80::/10', '0.0.0.0/0', '::/0']
    const own = { allowed: ['10.0.0.0/8', 'fd00::/8'] }
    expect(await verdict('https://10.1.2.3/', own)).toEqual(['10.1.2.3'])
    expect(await verdict('http://[fd00::1]/', own)).toEqual(['fd00::1'])
    expect(await verdict('http://hook.test/', { ...own, found: ['10.0.0.1'] })).toEqual(['10.0.0.1'])
    expect(await verdict('https://hook.test/', { ...own, found: ['10.0.0.1', PUBLIC] })).toEqual(['10.0.0.1', PUBLIC])
    expect(await verdict('http://hook.test/', { ...own, found: ['10.0.0.1', PUBLIC] })).toBe('address')
    expect(await verdict('http://hook.test/', own)).toBe('address')
    expect(await verdict('https://192.168.0.1/', own)).toBe('address')
    for (const host of ['169.254.169.254', '168.63.129.16', '[fe80::1]', '[::ffff:169.254.169.254]']) {
      expect([host, await verdict(`https://${host}/`, { allowed })]).toEqual([host, 'address'])
    }
  })
})

test('createNameResolver() asks name servers, and machine tables only if networks are allowed', async () => {
  const names: Readonly<Record<string, readonly string[]>> = { 'two.test': [PUBLIC, '10.0.0.1'], 'one.test': [PUBLIC] }
  const server = await startNameServer((name) => names[name] ?? [])
  try {
    const resolve = createNameResolver([], server.resolver)
    const rules = { allowed: [], resolve }
    expect([...(await resolve('two.test'))].sort()).toEqual(['10.0.0.1', PUBLIC])
    expect((await resolveWebhookTarget('https://one.test/', rules)).addresses).toEqual([PUBLIC])
    expect(await resolve('none.test')).toEqual([])
    expect(resolveWebhookTarget('https://localhost/', rules)).rejects.toThrow('has an address')
    const own = createNameResolver(parseNetworks('127.0.0.0/8'), server.resolver)
    expect(await own('localhost')).toContain('127.0.0.1')
  } finally {
    await server.stop()
  }
})
