import { toLowerHex } from '../../chain/call/words.ts'
import type { LiquidityProtocol } from '../liquidity/protocol.ts'
import { isOwed, splitOwed } from './math/fees.ts'
import { computeHeldAmounts } from './math/figures.ts'
import { listUncoveredFields, OUTPUTS, presentPool } from './present.ts'
import type { BriefPosition, Position } from './read/position.ts'
import { createUniswapV3HistoryReader } from './read/position_history/reader.ts'
import { createFlowStream } from './read/position_history/stream.ts'
import { createPositionReader } from './read/read.ts'
import type { UniswapV3Deployment } from './table/deployments.ts'

/** Uniswap V3 and its forks. */
export const PROTOCOL: LiquidityProtocol<UniswapV3Deployment, BriefPosition, Position, never> = {
  name: 'uniswap-v3',
  words: {
    exchange: 'Uniswap V3',
    tool: 'uniswap',
    noun: 'liquidity position',
    describeMissing: (tokenId) => `Position ${tokenId} does not exist on the queried position managers`,
  },
  getManager: ({ manager }) => manager,
  getCode: ({ code }) => code,
  createReader: createPositionReader,
  isEnumerable: true,
  computeHeldAmounts,
  splitOwed(position, { principal, owed }, { withdrawn }) {
    const split = splitOwed(owed, { stored: position.owed, withdrawn })
    return { fees: split?.fees, withdrawn: split?.withdrawn, total: [principal, owed] }
  },
  toHeldParts(position, { withdrawn }) {
    const { principal, owed } = computeHeldAmounts(position)
    const split = splitOwed(owed, { stored: position.owed, withdrawn })
    // Where the flows do not tell fees and withdrawn principal apart, both together are `owed`.
    const parts = { principal, ...(split ?? { owed }) }
    return Object.entries(parts).map(([part, amounts]) => ({ part, amounts }))
  },
  presentPool,
  outputs: OUTPUTS,
  listUncoveredFields,
  createHistoryReader: createUniswapV3HistoryReader,
  listHistories({ chainId, deployment: { manager, code, startBlock } }, clock) {
    const stream = createFlowStream(clock)
    const target = { chainId, contract: toLowerHex(manager), startBlock }
    return [
      {
        title: `uniswap-v3 ${code}`,
        complete: (reader, signal) => reader.complete({ stream, target }, signal),
      },
    ]
  },
  pnlStatusOfState: 'pending',
  withdrawn: {
    isOwed,
    listState: ({ liquidity, owed, insideLast }) => [
      liquidity,
      owed.amount0,
      owed.amount1,
      insideLast.growth0,
      insideLast.growth1,
    ],
  },
}
