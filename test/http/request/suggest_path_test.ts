import { expect, test } from 'bun:test'
import { suggestPath } from '../../../src/http/request/suggest_path.ts'

const TEMPLATES = [
  '/v1/positions/uniswap-v3',
  '/v1/positions/uniswap-v3/{id}',
  '/v1/positions/uniswap-v3/{id}/pnl',
  '/v1/positions/uniswap-v3/{id}/events',
  '/v1/lending/aave-v3',
  '/v1/lending/aave-v3/batch',
  '/v1/lending/aave-v3/position/{chain_id}/events',
  '/v1/lending/aave-v3/position/{chain_id}/snapshots',
  '/v1/lending/kamino/position/{obligation_address}/yield',
  '/v1/lending/kamino/position/{obligation_address}/risk',
  '/v1/usage/logs',
  ...['/mcp', '/docs', '/healthz', '/readyz', '/openapi.json', '/admin/v1', '/login', '/'],
]

test.each([
  ['/v1/position/uniswap-v3', '/v1/positions/uniswap-v3'],
  ['/v1/positions/uniswap_v3', '/v1/positions/uniswap-v3'],
  ['/positions/uniswap-v3', '/v1/positions/uniswap-v3'],
  ['/V1/Positions/Uniswap-V3/5', '/v1/positions/uniswap-v3/{id}'],
  ['/v1/positions/uniswap-v3/5/', '/v1/positions/uniswap-v3/{id}'],
  ['/v1//positions/uniswap-v3/5', '/v1/positions/uniswap-v3/{id}'],
  ['/v1/positions/uniswap-v3/5/pln', '/v1/positions/uniswap-v3/{id}/pnl'],
  ['/v1/lending/aave-v3/events', '/v1/lending/aave-v3/position/{chain_id}/events'],
  ['/v1/lending/aave-v3/position/1/snapshot', '/v1/lending/aave-v3/position/{chain_id}/snapshots'],
  ['/v1/lending/kamino/risk', '/v1/lending/kamino/position/{obligation_address}/risk'],
  ['/v1/lending/aave', '/v1/lending/aave-v3'],
  ['/v1/usage/log', '/v1/usage/logs'],
  ['/v1/logs', '/v1/usage/logs'],
  ['/doc', '/docs'],
  ['/health', '/healthz'],
  ['/ready', '/readyz'],
  ['/admin/v2', '/admin/v1'],
  ['/mpc', '/mcp'],
  ['/favicon.ico', undefined],
  ['/wp-admin/setup.php', undefined],
  ['/v1/nothing', undefined],
  ['/.env', undefined],
  ['/', undefined],
])('for %p the nearest is %p', (path, template) => expect(suggestPath(path, TEMPLATES)).toBe(template))

test('long and deep paths have none', () => {
  for (const path of [`/v1/${'a'.repeat(8_000)}`, '/a'.repeat(4_000)])
    expect(suggestPath(path, TEMPLATES)).toBeUndefined()
})
