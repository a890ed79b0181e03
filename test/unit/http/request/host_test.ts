import { describe, expect, test } from 'bun:test'
import { createHostCheck } from '../../../../src/http/request/host.ts'

const fault = createHostCheck(['api.example.org', 'walletscope', 'My_Host.svc'])

describe('a Host', () => {
  test.each([
    // Docker maps another port to ours; probes and load balancers ask by address.
    ['localhost'],
    ['localhost:9090'],
    ['LOCALHOST:1'],
    ['localhost.:80'],
    ['app.localhost:80'],
    ['127.0.0.1:8080'],
    ['10.42.0.17:8080'],
    ['192.0.2.1'],
    ['[::1]:8080'],
    ['[fe80::1]'],
    ['[2001:db8::7]:443'],
    ['[::ffff:10.0.0.1]'],
    // Names that are ours.
    ['api.example.org'],
    ['API.Example.ORG:8443'],
    ['api.example.org.'],
    ['walletscope:8080'],
    ['my_host.svc'],
  ])('%s is answered', (host) => expect(fault(host)).toBeUndefined())

  test.each([
    ['evil.example'],
    ['rebound.evil.example:8080'],
    ['api.example.org.evil.example'],
    ['evil-api.example.org'],
    ['xapi.example.org'],
    ['localhost.evil.example'],
    ['notlocalhost'],
    ['127.0.0.1.evil.example'],
    ['1.2.3'],
    ['0x7f000001'],
    ['2130706433'],
    ['example.org'],
    ['h'],
  ])('%s is refused, and the variable named', (host) => {
    const name = host.split(':')[0]
    expect(fault(host)).toMatchObject({
      code: 'INVALID_REQUEST',
      message: `Cannot answer for host "${name}": expected an address, localhost, the name in PUBLIC_URL or one in ALLOWED_HOSTS`,
    })
  })

  test.each([null, '', 'a b', '<x>', 'u:p@h', 'a:99999', 'a/b', '[::1', '[x]', 'a, b', '::1'])('%p is none', (host) => {
    for (const check of [fault, createHostCheck(['*'])]) {
      expect(check(host)?.message).toBe('Cannot read the request: expected a path as its target and a valid Host')
    }
  })

  test('is shown in 64 characters', () => {
    expect(fault(`${'a'.repeat(200)}.example`)?.message).toContain(`host "${'a'.repeat(64)}": `)
  })

  test('may be any if configured', () => {
    expect(createHostCheck(['*'])('evil.example')).toBeUndefined()
  })
})
