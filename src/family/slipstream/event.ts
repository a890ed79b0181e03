import { type Hex, pad, slice, toEventSelector, toFunctionSelector } from 'viem'
import { decodeWord } from '../../chain/call/words.ts'
import { type HistoryLog, IncompleteError, toBlockRange } from '../../history/stream.ts'
import { Q128 } from '../../lib/number/fixed_point.ts'
import type { CustodyLog, WalletPayments } from '../liquidity/enumerable/exchange.ts'
import type { CustodyEvent, CustodyEventKind, WalletEvent } from '../liquidity/position_history/custody_event.ts'

/** Events of a gauge that have the wallet in their first topic and the token id in their second. */
const KINDS: ReadonlyMap<Hex, CustodyEventKind> = new Map([
  [toEventSelector('Deposit(address,uint256,uint128)'), 'stake'],
  [toEventSelector('Withdraw(address,uint256,uint128)'), 'unstake'],
  [toEventSelector('EarlyWithdrawPenalty(address,uint256,uint256)'), 'update'],
])
const TOPICS = [...KINDS.keys()]
/** It names the wallet alone. */
const CLAIM = toEventSelector('ClaimRewards(address,uint256)')
const ONE_WORD = /^0x[0-9a-f]{64}$/

/**
 * What a gauge pays to a wallet: `ClaimRewards` has what was transferred. A claim counts the growth until its block and
 * pays all that is counted, so that the words of a position before and after tell what it was paid, with what it
 * forfeited. They stand still while no event of its wallet comes and its liquidity, which gauges of the first generation
 * can change, stays.
 *
 * Source: `CLGauge._updateRewards`, `_getReward`; of v1.1.1 also `increaseStakedLiquidity`, `decreaseStakedLiquidity`.
 */
const PAYMENTS: WalletPayments = {
  streamName: 'slipstream_wallet',
  listFilters: (gauge, wallets) => [
    { addresses: [gauge], topics: [[...TOPICS, CLAIM], wallets.map((wallet): Hex => pad(wallet, { size: 32 }))] },
  ],
  decode: (logs) => logs.flatMap((log) => (log.topics[0] === CLAIM ? decodeClaim(log) : decodeEvent(log))),
  getters: {
    growth: toFunctionSelector('rewardGrowthInside(uint256)'),
    owed: toFunctionSelector('rewards(uint256)'),
    token: toFunctionSelector('rewardToken()'),
    manager: toFunctionSelector('nft()'),
    count: toFunctionSelector('stakedLength(address)'),
    item: toFunctionSelector('stakedByIndex(address,uint256)'),
  },
  computeGrown: ({ before, after }, liquidity) => (BigInt.asUintN(256, after - before) * liquidity) / Q128,
}

/**
 * What a gauge logs of positions. It knows a position from its first deposit on, also after a withdrawal. The amount of
 * an update is what a claim forfeited.
 * Source: `CLGauge.deposit`, `withdraw`, `_getReward`.
 */
export const GAUGE_LOG: CustodyLog = {
  streamName: 'slipstream_custody',
  listFilters: (gauge, subjects) => [{ addresses: [gauge], topics: [TOPICS, null, subjects] }],
  decode: (_, logs) => ({ rows: logs.flatMap(decodeEvent), unsettled: [] }),
  state: {
    selector: toFunctionSelector('lastUpdateTime(uint256)'),
    // Claims change it too, and do not name the position.
    words: [],
    isAbsent: ([updatedSec = 0n]) => updatedSec === 0n,
  },
  payments: PAYMENTS,
}

function decodeEvent(log: HistoryLog): CustodyEvent[] {
  const kind = KINDS.get(log.topics[0] ?? '0x')
  if (kind === undefined) return []
  const [, user, id] = log.topics
  const { blockNumber: block, logIndex, transactionHash, timestampSec, data } = log
  const isWhole = kind !== 'update' || ONE_WORD.test(data)
  if (user === undefined || id === undefined || !isWhole) throw new IncompleteError('shape', toBlockRange(log))
  const amount = kind === 'update' ? decodeWord(data, 0) : 0n
  return [
    { tokenId: BigInt(id), wallet: slice(user, 12), block, logIndex, kind, amount, transactionHash, timestampSec },
  ]
}

function decodeClaim(log: HistoryLog): WalletEvent[] {
  const [, user] = log.topics
  const { blockNumber: block, logIndex, transactionHash, timestampSec, data } = log
  if (user === undefined || !ONE_WORD.test(data)) throw new IncompleteError('shape', toBlockRange(log))
  const payment = { tokenId: undefined, kind: 'reward', amount: decodeWord(data, 0) } as const
  return [{ ...payment, wallet: slice(user, 12), block, logIndex, transactionHash, timestampSec }]
}
