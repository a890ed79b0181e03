import { expect, test } from 'bun:test'
import { addressesRegistry, deployments } from '@morpho-org/morpho-ts'
import { getAddress } from 'viem'
import { MORPHO_BLUE_DEPLOYMENTS } from '../../../../src/family/morpho_blue/table.ts'

/** Abstract runs EraVM; Camp has no public endpoint. */
const LEFT_OUT = [2_741, 123_420_001_114]

test('Morpho is built in on every chain of Morpho’s own list but two, with the same address and start block', () => {
  const listed = Object.keys(addressesRegistry)
    .map(Number)
    .filter((id) => !LEFT_OUT.includes(id))
  expect([...MORPHO_BLUE_DEPLOYMENTS.keys()]).toEqual(listed.sort((a, b) => a - b))
  expect(listed.length).toBeGreaterThan(40)
  for (const [id, { morpho, startBlock }] of MORPHO_BLUE_DEPLOYMENTS) {
    const chain = id as keyof typeof addressesRegistry & keyof typeof deployments
    expect(morpho).toBe(getAddress(addressesRegistry[chain]?.morpho ?? ''))
    expect(BigInt(startBlock)).toBe(BigInt(deployments[chain]?.morpho ?? -1))
  }
})
