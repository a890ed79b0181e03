import { expect, test } from 'bun:test'
import { loginUrl } from '../../../src/service/serve/login_url.ts'

const BASE = { host: '127.0.0.1', port: 8080, operatorPort: undefined, publicUrl: undefined }

test.each([
  ['where the service listens', {}, 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['an address that a browser can reach', { host: '0.0.0.0' }, 'http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['an IPv6 host in brackets', { host: '::1' }, 'http://[::1]:8080', 'http://[::1]:8080'],
  ['the operator’s port', { operatorPort: 9090 }, 'http://127.0.0.1:9090', 'http://127.0.0.1:8080'],
  ['the public address', { publicUrl: 'https://x.test/api' }, 'https://x.test/api', 'https://x.test/api'],
  [
    'the operator’s port, which the public address does not lead to',
    { publicUrl: 'https://x.test', operatorPort: 9090 },
    'http://127.0.0.1:9090',
    'https://x.test',
  ],
])('loginUrl() leads to %s', (_, config, operator, organization) => {
  const url = (isOperator: boolean) => loginUrl({ ...BASE, ...config }, { secret: 's', isOperator })
  expect([url(true), url(false)]).toEqual([`${operator}/login?s`, `${organization}/login?s`])
})

test('loginUrl() takes the ports that the system chose', () => {
  const listens = { port: 1234, operatorPort: 5678 }
  const config = { ...BASE, port: 0, operatorPort: 0 }
  expect(loginUrl(config, { secret: 's', isOperator: true, listens })).toBe('http://127.0.0.1:5678/login?s')
  expect(loginUrl(config, { secret: 's', isOperator: false, listens })).toBe('http://127.0.0.1:1234/login?s')
})
