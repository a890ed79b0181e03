import { expect, test } from 'bun:test'
import { getAddress } from 'viem'
import { CHAINS } from '../../../src/chain/chains.ts'
import { AAVE_V3_DEPLOYMENTS, MARKET_ALIASES } from '../../../src/family/aave_v3/deployments.ts'

test('every built-in chain has the main market first, and every deployment is on one of them', () => {
  expect([...AAVE_V3_DEPLOYMENTS.keys()].sort()).toEqual(CHAINS.map(({ id }) => id).sort())
  for (const [first] of AAVE_V3_DEPLOYMENTS.values()) expect(first?.market).toBe('main')
  expect(AAVE_V3_DEPLOYMENTS.get(1)?.map(({ market }) => market)).toEqual(['main', 'lido', 'etherfi'])
})

test('addresses are checksummed, and a market and its address are listed once per chain', () => {
  for (const deployments of AAVE_V3_DEPLOYMENTS.values()) {
    for (const field of ['market', 'poolAddressesProvider'] as const) {
      expect(new Set(deployments.map((each) => each[field])).size).toBe(deployments.length)
    }
    for (const { poolAddressesProvider, startBlock } of deployments) {
      expect(getAddress(poolAddressesProvider)).toBe(poolAddressesProvider)
      expect(Number.isSafeInteger(startBlock) && startBlock > 0).toBe(true)
    }
  }
})

test('every other name of a market leads to one that exists', () => {
  const names = new Set([...AAVE_V3_DEPLOYMENTS.values()].flat().map(({ market }) => market))
  for (const [alias, name] of MARKET_ALIASES) expect([names.has(alias), names.has(name)]).toEqual([false, true])
})
