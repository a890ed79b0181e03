import { expect, test } from 'bun:test'
import { toOrganizationBase } from '../../../src/service/planes.ts'

const PAGE = new URL('http://192.168.1.4:8081/admin/v1/login-links')

test.each([
  ['one port', { publicUrl: undefined, port: 8080, operatorPort: undefined }, undefined],
  ['a port of the operator', { publicUrl: undefined, port: 8080, operatorPort: 8081 }, 'http://192.168.1.4:8080'],
  [
    'a public address',
    { publicUrl: 'https://api.example.org/scope/', port: 8080, operatorPort: 8081 },
    'https://api.example.org/scope',
  ],
  [
    'both on a public address',
    { publicUrl: 'https://api.example.org', port: 8080, operatorPort: undefined },
    'https://api.example.org',
  ],
])('with %s, a link of an organization that the operator makes leads there', (_, config, base) => {
  expect(toOrganizationBase(config, PAGE)).toBe(base)
})
