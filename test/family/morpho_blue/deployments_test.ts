import { expect, test } from 'bun:test'
import { addressesRegistry, deployments } from '@morpho-org/morpho-ts'
import { getAddress } from 'viem'
import { CHAINS } from '../../../src/chain/chains.ts'
import { MORPHO_BLUE_DEPLOYMENTS } from '../../../src/family/morpho_blue/deployments.ts'

test('MORPHO_BLUE_DEPLOYMENTS has Morpho on every built-in chain that Morpho itself lists, where and since when it says', () => {
  const listed = CHAINS.map(({ id }) => id).filter((id) => id in addressesRegistry)
  expect([...MORPHO_BLUE_DEPLOYMENTS.keys()].sort()).toEqual(listed.sort())
  expect(listed.length).toBe(6)
  for (const [id, { morpho, startBlock }] of MORPHO_BLUE_DEPLOYMENTS) {
    const chain = id as keyof typeof addressesRegistry & keyof typeof deployments
    expect(morpho).toBe(getAddress(addressesRegistry[chain]?.morpho ?? ''))
    expect(BigInt(startBlock)).toBe(BigInt(deployments[chain]?.morpho ?? -1))
  }
})
