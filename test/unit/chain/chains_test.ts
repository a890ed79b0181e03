import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { getAddress } from 'viem'
import { CHAINS, DEFAULT_CHAIN_IDS } from '../../../src/chain/chains.ts'
import { AAVE_V3_DEPLOYMENTS } from '../../../src/family/aave_v3/table.ts'
import { MORPHO_BLUE_DEPLOYMENTS } from '../../../src/family/morpho_blue/table.ts'
import { UNISWAP_V3_DEPLOYMENTS } from '../../../src/family/uniswap_v3/table.ts'
import { AAVE_ORACLE_ROWS } from '../../../src/finance/price/table/aave_oracles.ts'
import { FEED_ROWS } from '../../../src/finance/price/table/feeds.ts'
import { STABLECOIN_ROWS } from '../../../src/finance/price/table/stablecoins.ts'

const IDS = CHAINS.map(({ id }) => id)
const DEFAULTS = CHAINS.filter(({ id }) => DEFAULT_CHAIN_IDS.includes(id))

test('every built-in chain is listed once, by id, with a name of its own, and seven of them are the default', () => {
  expect(IDS).toEqual([...new Set(IDS)].sort((a, b) => a - b))
  expect(new Set(CHAINS.map(({ name }) => name)).size).toBe(CHAINS.length)
  expect(DEFAULTS.map(({ id }) => id)).toEqual([1, 10, 56, 137, 8_453, 42_161, 43_114])
})

test('the guide lists every built-in chain, and no other', async () => {
  const guide = await Bun.file(join(import.meta.dir, '../../../src/dashboard/guide/chains.md')).text()
  const list = CHAINS.map(({ id, name }) => `${id} ${name}`).join(', ')
  expect(guide).toContain(`\n${list}\n`)
  expect(guide).toContain(`\n${CHAINS.length} chains are built in`)
})

test('every built-in chain has a protocol to read, and every table has built-in chains only', () => {
  const families = [...UNISWAP_V3_DEPLOYMENTS.keys(), ...AAVE_V3_DEPLOYMENTS.keys(), ...MORPHO_BLUE_DEPLOYMENTS.keys()]
  expect([...new Set(families)].sort((a, b) => a - b)).toEqual(IDS)
  for (const table of [AAVE_ORACLE_ROWS, FEED_ROWS, STABLECOIN_ROWS]) {
    for (const id of Object.keys(table)) expect(IDS).toContain(Number(id))
  }
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

test('every wrapped native token has the right checksum, and every default chain has one, and a block time', () => {
  for (const { nativeCurrency } of CHAINS) {
    const wrapped = nativeCurrency?.wrapped
    if (wrapped !== undefined) expect(wrapped).toBe(getAddress(wrapped))
  }
  for (const { nativeCurrency, blockTimeMs = 0 } of DEFAULTS) {
    expect(nativeCurrency?.wrapped).toBeDefined()
    expect(blockTimeMs).toBeGreaterThan(0)
  }
})

test('a chain reuses answers for a block time; without a known one it does not, and may be quiet for ten minutes', () => {
  const quiet = CHAINS.filter(({ blockTimeMs }) => blockTimeMs === undefined)
  expect(quiet.length).toBeGreaterThan(0)
  expect(quiet.length).toBeLessThan(CHAINS.length / 2)
  for (const { blockTimeMs, reuseMs, maxBlockAgeSec } of CHAINS) {
    expect(reuseMs).toBe(blockTimeMs ?? 0)
    expect(maxBlockAgeSec).toBe(blockTimeMs === undefined ? 600 : undefined)
  }
})

test('every built-in chain is final by the tag that endpoints give its final block', () => {
  for (const { finality } of CHAINS) expect(finality).toEqual({ tag: 'finalized' })
})
