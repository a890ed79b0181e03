import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { CHAINS, DEFAULT_CHAIN_IDS } from '../../src/chain/chains.ts'
import { FEED_ROWS } from '../../src/chain/table/feeds.ts'
import { STABLECOIN_ROWS } from '../../src/chain/table/stablecoins.ts'
import { AAVE_V3_DEPLOYMENTS } from '../../src/family/aave_v3/table/markets.ts'
import { MORPHO_BLUE_DEPLOYMENTS } from '../../src/family/morpho_blue/table/morphos.ts'
import { UNISWAP_V3_DEPLOYMENTS } from '../../src/family/uniswap_v3/table/managers.ts'

const IDS = CHAINS.map(({ id }) => id)
const DEFAULTS = CHAINS.filter(({ id }) => DEFAULT_CHAIN_IDS.includes(id))

test('every built-in chain is listed once, by id, with a name of its own, and seven of them are the default', () => {
  expect(IDS).toEqual([...new Set(IDS)].sort((a, b) => a - b))
  expect(new Set(CHAINS.map(({ name }) => name)).size).toBe(CHAINS.length)
  expect(DEFAULTS.map(({ id }) => id)).toEqual([1, 10, 56, 137, 8_453, 42_161, 43_114])
})

test('the guide lists every built-in chain, and no other', async () => {
  const guide = await Bun.file(join(import.meta.dir, '../../src/dashboard/guide/chains.md')).text()
  const list = CHAINS.map(({ id, name }) => `${id} ${name}`).join(', ')
  expect(guide).toContain(`\n${list}\n`)
  expect(guide).toContain(`\n${CHAINS.length} chains are built in`)
})

test('every built-in chain has a protocol to read, and every table has built-in chains only', () => {
  const families = [...UNISWAP_V3_DEPLOYMENTS.keys(), ...AAVE_V3_DEPLOYMENTS.keys(), ...MORPHO_BLUE_DEPLOYMENTS.keys()]
  expect([...new Set(families)].sort((a, b) => a - b)).toEqual(IDS)
  for (const id of [...Object.keys(FEED_ROWS), ...Object.keys(STABLECOIN_ROWS)]) expect(IDS).toContain(Number(id))
})

test('every built-in chain has an endpoint over TLS without a key in it, none is listed twice, and default chains have three', () => {
  const all = CHAINS.flatMap(({ rpcUrls }) => rpcUrls)
  for (const { rpcUrls } of CHAINS) expect(rpcUrls.length).toBeGreaterThanOrEqual(1)
  for (const { rpcUrls } of DEFAULTS) expect(rpcUrls.length).toBeGreaterThanOrEqual(3)
  expect(new Set(all).size).toBe(all.length)
  for (const url of all) {
    const { protocol, username, password, search, hash, pathname } = new URL(url)
    expect({ url, protocol, rest: username + password + search + hash }).toEqual({ url, protocol: 'https:', rest: '' })
    // A key is longer than any word in these paths.
    for (const part of pathname.split('/')) expect(part).toMatch(/^[a-z0-9-]{0,15}$/i)
  }
})

test('every address about chains and prices has the right checksum, and no token is listed twice', () => {
  for (const { prices, spamTokens } of CHAINS) {
    const { usdFeeds, stablecoins, wrappedNative, aaveOracle } = prices
    const feeds = Object.entries(usdFeeds).flatMap(([token, { feed }]) => [token, feed])
    for (const address of [wrappedNative, aaveOracle, ...stablecoins, ...spamTokens, ...feeds]) {
      if (address !== undefined) expect(address).toBe(getAddress(address))
    }
    expect(new Set(stablecoins).size).toBe(stablecoins.length)
  }
  for (const rows of Object.values(FEED_ROWS)) {
    expect(new Set(rows.map(([, token]) => token)).size).toBe(rows.length)
    expect(new Set(rows.map(([symbol]) => symbol)).size).toBe(rows.length)
  }
})

test('every heartbeat is between ten seconds and a day', () => {
  for (const { prices } of CHAINS) {
    for (const { heartbeatSec } of Object.values(prices.usdFeeds)) {
      expect(heartbeatSec).toBeGreaterThanOrEqual(10)
      expect(heartbeatSec).toBeLessThanOrEqual(86_400)
    }
  }
})

test('every default chain has a feed for its wrapped native token and for its stablecoins, and a block time', () => {
  for (const { prices, blockTimeMs } of DEFAULTS) {
    const fed = Object.keys(prices.usdFeeds)
    for (const token of [prices.wrappedNative, ...prices.stablecoins]) expect(fed).toContain(token ?? '')
    expect(blockTimeMs).toBeGreaterThan(0)
  }
})

test('a chain without a known block time reuses nothing, and may have no new block for ten minutes', () => {
  const quiet = CHAINS.filter(({ blockTimeMs }) => blockTimeMs === 0)
  expect(quiet.length).toBeGreaterThan(0)
  expect(quiet.length).toBeLessThan(CHAINS.length / 2)
  for (const chain of CHAINS) {
    const { blockTimeMs, maxBlockAgeSec } = chain as { blockTimeMs: number; maxBlockAgeSec?: number }
    expect(maxBlockAgeSec).toBe(blockTimeMs === 0 ? 600 : undefined)
  }
})
