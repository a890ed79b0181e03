import { expect, test } from 'bun:test'
import { getAddress } from 'viem'
import { CHAINS } from '../../src/chain/chains.ts'

test('CHAINS lists the seven chains once each, by id', () => {
  const ids = CHAINS.map((chain) => chain.id)
  expect(ids).toEqual([1, 42_161, 10, 8_453, 137, 56, 43_114])
  expect(new Set(CHAINS.map((chain) => chain.name)).size).toBe(CHAINS.length)
})

test('CHAINS gives every chain at least three different endpoints over TLS, without a key in them', () => {
  const all = CHAINS.flatMap((chain) => chain.rpcUrls)
  for (const chain of CHAINS) expect(chain.rpcUrls.length).toBeGreaterThanOrEqual(3)
  expect(new Set(all).size).toBe(all.length)
  for (const url of all) expect(url).toMatch(/^https:\/\/[a-z0-9.-]+(\/[a-zA-Z/]*)?$/)
})

test('CHAINS carries checksummed addresses and no duplicate stablecoins', () => {
  for (const { multicall3, prices, spamTokens } of CHAINS) {
    const { usdFeeds, stablecoins, wrappedNative, aaveOracle } = prices
    const feeds = Object.entries(usdFeeds).flatMap(([token, { feed }]) => [token, feed])
    const addresses = [multicall3, wrappedNative, aaveOracle, ...stablecoins, ...spamTokens, ...feeds]
    for (const address of addresses) expect(address).toBe(getAddress(address ?? ''))
    expect(new Set(stablecoins).size).toBe(stablecoins.length)
  }
})

test('CHAINS prices the wrapped native token of every chain, with a heartbeat between a minute and a day', () => {
  for (const { prices } of CHAINS) {
    expect(Object.keys(prices.usdFeeds)).toContain(prices.wrappedNative ?? '')
    for (const { heartbeatSec } of Object.values(prices.usdFeeds)) {
      expect(heartbeatSec).toBeGreaterThanOrEqual(60)
      expect(heartbeatSec).toBeLessThanOrEqual(86_400)
    }
  }
})

test('CHAINS has positive block times and a finality', () => {
  for (const chain of CHAINS) {
    expect(chain.blockTimeMs).toBeGreaterThan(0)
    expect('tag' in chain.finality || chain.finality.depth >= 0).toBe(true)
  }
})
