import { expect, test } from 'bun:test'
import { addressesRegistry, deployments } from '@morpho-org/morpho-ts'
import { getAddress } from 'viem'
import { MIDNIGHT_EVENTS } from '../../../../src/family/morpho_midnight/event/log.ts'
import { MORPHO_MIDNIGHT_DEPLOYMENTS } from '../../../../src/family/morpho_midnight/table.ts'
import { readVectors } from '../../../devnet/morpho_midnight/vectors.ts'

test('Midnight on Base is where Morpho’s own list has it', () => {
  const { midnight, startBlock } = MORPHO_MIDNIGHT_DEPLOYMENTS.get(8453) ?? {}
  expect(midnight).toBe(getAddress(addressesRegistry[8453].midnight))
  expect(BigInt(startBlock ?? 0)).toBe(deployments[8453].midnight)
})

test('events have the topics that the real contract emitted', () => {
  const emitted = new Set(readVectors().logs.map(([, , [topic]]) => topic))
  expect(Object.values(MIDNIGHT_EVENTS.topics).sort()).toEqual([...emitted].sort() as never)
})
