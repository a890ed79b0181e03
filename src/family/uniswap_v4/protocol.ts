import type { LiquidityProtocol } from '../liquidity/protocol.ts'
import { exitPosition } from './exit.ts'
import { computeCountedAmounts, computeHeldAmounts, computeInside, type Withdrawal } from './math/figures.ts'
import { listUncoveredFields, OUTPUTS, presentPool, presentWithdrawal, toHeldParts } from './present.ts'
import { createOwnedFinder } from './read/owned/mod.ts'
import { TRANSFER_STREAM } from './read/owned/transfers.ts'
import { testifyOwned } from './read/ownership.ts'
import { CHANGE_STREAM, toChangeTarget } from './read/pool_events.ts'
import type { ListedPosition, Position } from './read/position.ts'
import { createUniswapV4HistoryReader, isPnlImpossible } from './read/position_history.ts'
import { createPositionReader } from './read/read.ts'
import type { UniswapV4Deployment } from './table.ts'

/** Uniswap V4, whose manager does not list the positions of a wallet and whose hooks may change what is paid. */
export const PROTOCOL: LiquidityProtocol<UniswapV4Deployment, ListedPosition, Position, Withdrawal> = {
  name: 'uniswap-v4',
  words: {
    exchange: 'Uniswap V4',
    operation: 'uniswap_v4',
    title: 'Uniswap V4',
    noun: 'Uniswap V4 position',
    listNote: 'The first call for a wallet may answer 503 while they are searched.',
    describeMissing: (tokenId) => `There is no position ${tokenId} on any manager asked`,
  },
  getManager: ({ positionManager }) => positionManager,
  getCode: () => 'uniswap_v4',
  createReader({ db, history, ...services }) {
    const find = db && history ? createOwnedFinder({ ...services, db, history }) : async () => []
    return createPositionReader({ ...services, find: testifyOwned(find, services) })
  },
  isEnumerable: false,
  computeHeldAmounts(position) {
    const { principal, fees: owed } = computeHeldAmounts(position)
    return { principal, owed }
  },
  computeInside,
  splitOwed(_, { principal, owed: fees }, { withdrawal }) {
    const counted = computeCountedAmounts({ principal, fees }, withdrawal)
    return { fees, total: counted && [counted] }
  },
  toHeldParts,
  computeRewards: () => [],
  exitPosition,
  listLenders: ({ poolManager }) => [poolManager],
  presentPool,
  presentWithdrawal,
  outputs: OUTPUTS,
  listUncoveredFields,
  createHistoryReader: createUniswapV4HistoryReader,
  listHistories({ chainId, deployment }) {
    const target = toChangeTarget(chainId, deployment)
    return [
      {
        title: 'uniswap-v4 transfers',
        complete: (reader, work) => reader.complete({ stream: TRANSFER_STREAM, target }, work),
      },
      {
        title: 'uniswap-v4 changes',
        complete: (reader, work) => reader.complete({ stream: CHANGE_STREAM, target }, work),
      },
    ]
  },
  isPnlImpossible,
  pnlStatusOfState: 'failed',
}
