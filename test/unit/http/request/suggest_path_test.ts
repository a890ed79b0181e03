import { expect, spyOn, test } from 'bun:test'
import { readConfig } from '../../../../src/config/config.ts'
import { createPathSuggester } from '../../../../src/http/request/suggest_path.ts'
import { describeServices } from '../../../../src/service/routes.ts'

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

const suggestPath = createPathSuggester(TEMPLATES)

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
])('for %p the nearest is %p', (path, template) => expect(suggestPath(path)).toBe(template))

test('long and deep paths have none', () => {
  for (const path of [`/v1/${'a'.repeat(8_000)}`, '/a'.repeat(4_000)]) expect(suggestPath(path)).toBeUndefined()
})

test('however a path is crafted, few words and segments are compared', () => {
  const openapi = JSON.parse(describeServices(readConfig({}, () => '')))
  const suggest = createPathSuggester(Object.keys(openapi.paths))
  const join = (words: readonly string[]) => `/${words.join('/')}`
  const crafted = ['a', 'posizqxk', 'uniswapzzz', 'positionszzz', '{id}'].map((word) => join(Array(8).fill(word)))
  // Every word is another one, as long as many words of templates, and the path as deep as a suggestion allows.
  for (const length of [5, 6, 7, 8, 9, 10, 12]) {
    const toWord = (index: number) => `${'abcdefgh'[index]}${'positionsnapshots'.slice(index % 5)}`.slice(0, length)
    for (const depth of [4, 6, 8]) crafted.push(join(Array.from({ length: depth }, (_, index) => toWord(index))))
  }
  // Each cell of a table of edits takes one minimum, and some 20 ns.
  using minimum = spyOn(Math, 'min')
  const cells = crafted.map((path) => {
    minimum.mockClear()
    suggest(path)
    return minimum.mock.calls.length
  })
  expect(Math.max(...cells)).toBeLessThan(4_000)
  expect(Math.min(...cells)).toBeGreaterThan(0)
})
