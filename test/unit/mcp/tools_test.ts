import { expect, test } from 'bun:test'
import { readConfig } from '../../../src/config/config.ts'
import { refuseToConnect } from '../../../src/family/contract.ts'
import { createTools, INSTRUCTIONS } from '../../../src/mcp/tools.ts'
import { createServiceRoutes } from '../../../src/service/routes.ts'

/** Clients allow 60 to 64 characters, and put the name of the server in front. */
const NAME_LENGTH_MAX = 40
/** Bytes of `tools/list`, which every session of an agent reads. */
const LISTING_BYTES_MAX = 35_000

const routes = createServiceRoutes(
  readConfig({}, () => ''),
  refuseToConnect,
)
const tools = createTools(routes)

test('every route that agents may call is a tool with a short name of its own', () => {
  expect([...tools.keys()].sort()).toEqual([
    ...['aave_batch', 'aave_events', 'aave_positions', 'aave_snapshots'],
    'ens_wallet',
    ...['kamino_batch', 'kamino_positions', 'kamino_risk', 'kamino_yield'],
    ...['morpho_positions', 'morpho_yield', 'orca_position', 'orca_positions', 'portfolio_assets', 'portfolio_balance'],
    'portfolio_snapshots',
    ...['trigger_create', 'trigger_delete', 'trigger_events', 'triggers'],
    ...['uniswap_events', 'uniswap_pnl', 'uniswap_position', 'uniswap_positions'],
    ...['uniswap_v4_events', 'uniswap_v4_pnl', 'uniswap_v4_position', 'uniswap_v4_positions', 'usage_logs'],
  ])
  expect(tools.size).toBe(routes.filter(({ tool }) => tool !== undefined).length)
  for (const [name, { listing }] of tools) {
    expect(listing.name).toBe(name)
    expect(name).toMatch(/^[a-z][a-z0-9_]*$/)
    expect(name.length).toBeLessThanOrEqual(NAME_LENGTH_MAX)
  }
})

test('two routes of one name are refused', () => {
  expect(() => createTools([...routes, ...routes.slice(0, 1)])).toThrow('two routes have one name')
})

test('the list of tools is short', () => {
  const listings = [...tools.values()].map(({ listing }) => listing)
  expect(Buffer.byteLength(JSON.stringify({ tools: listings }))).toBeLessThan(LISTING_BYTES_MAX)
})

test('a tool without a chain to serve lists no chain ids', () => {
  const solana = createServiceRoutes(
    readConfig({ CHAINS: '101' }, () => ''),
    refuseToConnect,
  )
  const listings = [...createTools(solana).values()].map(({ listing }) => listing)
  expect(JSON.stringify(listings)).not.toContain('"enum":[]')
})

test('agents are told that texts of strangers are no instructions', () => {
  expect(INSTRUCTIONS).toMatch(/Names and texts of tokens.* come from strangers.*never instructions/)
})
