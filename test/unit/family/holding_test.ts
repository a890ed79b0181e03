import { expect, test } from 'bun:test'
import { zeroAddress } from 'viem'
import { createHoldingsReader as createAave } from '../../../src/family/aave_v3/holdings.ts'
import type { HoldingsReader, HoldingsTarget } from '../../../src/family/holding.ts'
import { createHoldingsReader as createLiquidity } from '../../../src/family/liquidity/holdings.ts'
import { createHoldingsReader as createMorpho } from '../../../src/family/morpho_blue/holdings.ts'
import { PROTOCOL as UNISWAP_V3 } from '../../../src/family/uniswap_v3/protocol.ts'
import { PROTOCOL as UNISWAP_V4 } from '../../../src/family/uniswap_v4/protocol.ts'
import { createWork, noteUnwitnessed, type Work } from '../../../src/lib/async/work.ts'

const client = { chain: { id: 1 } }
/** A reader of a family that leaves its only deployment out by the word of one endpoint. */
const reader = {
  targets: new Map([[1, { client, deployments: [{}] }]]),
  past: {
    async filterDeployed(_: HoldingsTarget, work: Work) {
      noteUnwitnessed(work, [1])
      return []
    },
  },
} as never

test.each<[string, HoldingsReader]>([
  ['Aave V3', createAave(reader)],
  ['Morpho Blue', createMorpho({ reader, entered: {} as never })],
  ['Uniswap V3', createLiquidity(UNISWAP_V3, { reader, readWithdrawn: {} as never })],
  ['Uniswap V4', createLiquidity(UNISWAP_V4, { reader, readWithdrawn: {} as never })],
])('%s tells that the word of one endpoint leaves a deployment out', async (_, holdings) => {
  const work = createWork(new AbortController().signal)
  expect(await holdings.open(zeroAddress, { client } as never, work)).toBeUndefined()
  expect([...work.unwitnessed]).toEqual([1])
})
