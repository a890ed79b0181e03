import { expect, test } from 'bun:test'
import { getAddress } from 'viem'
import { CHAINS } from '../../../src/chain/chains.ts'
import { UNISWAP_V3_DEPLOYMENTS } from '../../../src/family/uniswap_v3/deployments.ts'

test('every built-in chain has a position manager, and every deployment is on one of them', () => {
  expect([...UNISWAP_V3_DEPLOYMENTS.keys()].sort()).toEqual(CHAINS.map(({ id }) => id).sort())
})

test('addresses are checksummed, and a manager is listed once per chain', () => {
  for (const deployments of UNISWAP_V3_DEPLOYMENTS.values()) {
    const managers = deployments.map(({ manager }) => manager)
    expect(new Set(managers).size).toBe(managers.length)
    for (const { manager, factory, startBlock } of deployments) {
      expect([getAddress(manager), getAddress(factory)]).toEqual([manager, factory])
      expect(Number.isSafeInteger(startBlock)).toBe(true)
    }
  }
})
