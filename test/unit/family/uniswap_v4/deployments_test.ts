import { expect, test } from 'bun:test'
import { getAddress } from 'viem'
import { CHAINS } from '../../../../src/chain/chains.ts'
import { UNISWAP_V4_DEPLOYMENTS } from '../../../../src/family/uniswap_v4/table.ts'
import { UNISWAP_V4_SDK } from '../../../support/registries.ts'

test('every manager of Uniswap V4 is that of Uniswap’s SDK, and every one of its chains that is served is listed', () => {
  const served = new Set(CHAINS.map(({ id }) => id))
  const registry = [...UNISWAP_V4_SDK].sort(([a], [b]) => a - b)
  expect(registry.filter(([id]) => !served.has(id))).toEqual([])
  const listed = [...UNISWAP_V4_DEPLOYMENTS].map(
    ([id, { positionManager, poolManager }]) => [id, { positionManager, poolManager }] as const,
  )
  expect(listed).toEqual(registry)
  expect(listed.length).toBeGreaterThan(20)
})

test('addresses are checksummed, and every chain has the start block of its history', () => {
  for (const { positionManager, poolManager, startBlock } of UNISWAP_V4_DEPLOYMENTS.values()) {
    expect([positionManager, poolManager].map((each) => getAddress(each))).toEqual([positionManager, poolManager])
    expect(Number.isSafeInteger(startBlock) && startBlock > 0).toBe(true)
  }
})
