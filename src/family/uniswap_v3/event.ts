import { type Hex, slice, toEventSelector } from 'viem'
import { decodeWord, toChecksumAddress } from '../../chain/call/words.ts'
import { type DecodedRows, type HistoryLog, IncompleteError, toBlockRange } from '../../history/stream.ts'
import { groupBy } from '../../lib/group_by.ts'
import type { CustodyLog } from '../liquidity/enumerable/exchange.ts'
import type { CustodyEvent, CustodyEventKind } from '../liquidity/position_history/custody_event.ts'

/** Events of PancakeSwap's MasterChef V3; each has the wallet in its first topic and the token id in its third. */
const KINDS: ReadonlyMap<Hex, CustodyEventKind> = new Map([
  [toEventSelector('Deposit(address,uint256,uint256,uint256,int24,int24)'), 'stake'],
  [toEventSelector('Withdraw(address,address,uint256,uint256)'), 'unstake'],
  [toEventSelector('Harvest(address,address,uint256,uint256,uint256)'), 'reward'],
  [toEventSelector('UpdateLiquidity(address,uint256,uint256,int128,int24,int24)'), 'update'],
])
const TOPICS = [...KINDS.keys()]
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const USER_POSITION_INFOS = '0x3b1acf74'

/** A reward as it was paid. */
type Payment = Required<Pick<CustodyEvent, 'token' | 'amount'>>

/**
 * What the MasterChef logs of positions. `Harvest` says what was owed: `_safeTransfer`, which comes right before it, pays
 * at most the CAKE that is there. Between these events `liquidity` and `user` of `userPositionInfos` stand still; growth
 * moves into `reward` without an event.
 * Source: `MasterChefV3.onERC721Received`, `harvestOperation`, `withdraw`, `burn`, `updateLiquidityOperation`.
 */
export const MASTER_CHEF_LOG: CustodyLog = {
  streamName: 'uniswap_v3_custody',
  listFilters: (masterChef, subjects) => [{ addresses: [masterChef], topics: [TOPICS, null, null, subjects] }],
  decode: decodeMasterChef,
  state: {
    selector: USER_POSITION_INFOS,
    // Liquidity and user.
    words: [0, 6],
    isAbsent: ({ [6]: user = 0n }) => user === 0n,
  },
}

/** Decodes events in order. Rewards need the receipts of their transactions. Throws `IncompleteError`. */
function decodeMasterChef(
  masterChef: Hex,
  logs: readonly HistoryLog[],
  receipts: ReadonlyMap<Hex, readonly HistoryLog[]>,
): DecodedRows<CustodyEvent> {
  const unsettled = new Set<Hex>()
  const payments = new Map(
    [...receipts].map(([transaction, receipt]) => [transaction, findPayments(masterChef, receipt)]),
  )
  const rows = logs.flatMap((log): CustodyEvent[] => {
    const kind = KINDS.get(log.topics[0] ?? '0x')
    if (kind === undefined) return []
    const [, user, , id] = log.topics
    if (user === undefined || id === undefined) throw new IncompleteError('shape', toBlockRange(log))
    const { blockNumber: block, logIndex, transactionHash, timestampSec } = log
    const event = { tokenId: BigInt(id), wallet: slice(user, 12), block, logIndex, kind, transactionHash, timestampSec }
    if (kind !== 'reward') return [{ ...event, amount: 0n }]
    const known = payments.get(transactionHash)
    if (known === undefined) {
      unsettled.add(transactionHash)
      return []
    }
    const payment = known.get(toText(log))?.shift()
    if (payment === undefined) throw new IncompleteError('payment', toBlockRange(log))
    return [{ ...event, ...payment }]
  })
  return unsettled.size > 0 ? { rows: [], unsettled: [...unsettled] } : { rows, unsettled: [] }
}

/** Finds what each `Harvest` of a transaction paid, by its text and in order: the transfer of CAKE right before it. */
function findPayments(masterChef: Hex, receipt: readonly HistoryLog[]): ReadonlyMap<string, Payment[]> {
  const isOwn = ({ address }: HistoryLog) => address === masterChef
  const found = receipt.flatMap((log, index) => {
    const transfer = receipt[index - 1]
    const isReward = isOwn(log) && KINDS.get(log.topics[0] ?? '0x') === 'reward'
    const isPaid = transfer?.topics[0] === TRANSFER && transfer.topics[1]?.endsWith(masterChef.slice(2))
    if (!isReward || transfer === undefined || !isPaid) return []
    const [amount, owed] = [decodeWord(transfer.data, 0), decodeWord(log.data, 1)]
    return amount > owed ? [] : [{ text: toText(log), token: toChecksumAddress(transfer.address.slice(2)), amount }]
  })
  const groups = groupBy(found, ({ text }) => text)
  return new Map([...groups].map(([text, paid]) => [text, paid.map(({ token, amount }) => ({ token, amount }))]))
}

function toText({ topics, data }: HistoryLog): string {
  return [...topics, data].join()
}
