import { IPool_ABI } from '@aave-dao/aave-address-book/abis/IPool'
import { type Address, decodeEventLog, type Hex, parseAbi, toHex } from 'viem'
import type { LendingTarget, ReserveToken } from '../../../../../src/family/aave_v3/event/log.ts'
import { LENDING_EVENT_TYPES, type LendingEvent } from '../../../../../src/family/lending/lending_event.ts'
import type { HistoryLog, LogFilter } from '../../../../../src/history/stream.ts'
import type { MarketName } from '../../../../devnet/aave_v3/addresses.ts'
import type { AaveHistory } from '../../../../devnet/aave_v3/history.ts'
import type { AaveDevnet } from '../../../../devnet/aave_v3/mod.ts'
import type { Devnet } from '../../../../devnet/mod.ts'
import type { RpcLog } from '../../../rpc_log.ts'

/** A market of a devnet as a target of history. */
export function toTarget(aave: AaveDevnet, market: MarketName): LendingTarget {
  const { pool, reserves } = aave.markets[market]
  const tokens = new Map<Hex, ReserveToken>()
  for (const { asset, aToken, variableDebtToken, stableDebtToken } of reserves) {
    const of = (token: Address, side: ReserveToken['side']) =>
      tokens.set(token.toLowerCase() as Hex, { asset: asset.toLowerCase() as Hex, side })
    of(aToken, 'supply')
    of(variableDebtToken, 'variable_debt')
    if (BigInt(stableDebtToken) !== 0n) of(stableDebtToken, 'stable_debt')
  }
  return { chainId: 1, contract: pool, startBlock: 0, tokens }
}

/** Logs of a devnet's node that match filters, each once, in order. */
export async function readLogs(
  devnet: Devnet,
  filters: readonly LogFilter[],
  range: { readonly fromBlock?: number; readonly toBlock?: number } = {},
): Promise<HistoryLog[]> {
  const { fromBlock = 0, toBlock } = range
  const answers = await devnet.rpc.batch<RpcLog[]>(
    filters.map(({ addresses, topics }) => ({
      method: 'eth_getLogs',
      params: [
        {
          address: addresses,
          topics,
          fromBlock: toHex(fromBlock),
          toBlock: toBlock === undefined ? 'latest' : toHex(toBlock),
        },
      ],
    })),
  )
  const logs = new Map(answers.flat().map((log) => [`${log.blockNumber} ${log.logIndex}`, historyLog(log)]))
  return [...logs.values()].sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
}

/** All logs of transactions, by hash. */
export async function readReceipts(devnet: Devnet, hashes: readonly Hex[]): Promise<Map<Hex, HistoryLog[]>> {
  const receipts = await devnet.rpc.batch<{ readonly logs: readonly RpcLog[] }>(
    hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
  )
  return new Map(hashes.map((hash, index) => [hash, (receipts[index]?.logs ?? []).map(historyLog)]))
}

/** The same as history has it. */
export function historyLog(log: RpcLog): HistoryLog {
  const { address, topics, data, blockHash, transactionHash, blockTimestamp } = log
  return {
    address,
    topics,
    data,
    blockHash,
    transactionHash,
    blockNumber: Number(log.blockNumber),
    transactionIndex: Number(log.transactionIndex),
    logIndex: Number(log.logIndex),
    timestampSec: blockTimestamp === undefined ? null : Number(blockTimestamp),
  }
}

/** Rows that answers show. */
export function shown(rows: readonly LendingEvent[]): LendingEvent[] {
  return rows.filter(({ kind }) => (LENDING_EVENT_TYPES as readonly string[]).includes(kind))
}

/** A row as text that is easy to compare. */
export function formatEvent({ wallet, block, logIndex, leg, kind, asset, amount, counterparty }: LendingEvent): string {
  return [block, logIndex, leg, kind, wallet, asset, amount, counterparty].join(' ').toLowerCase()
}

const STABLE_ABI = parseAbi([
  'event Borrow(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount, uint8 interestRateMode, uint256 borrowRate, uint16 indexed referralCode)',
])

/** What a market's Pool logged, by Aave's own interface: names and arguments. */
export async function readPoolLogs(devnet: Devnet, pool: Address) {
  const logs = await devnet.rpc.call<RpcLog[]>('eth_getLogs', { address: pool, fromBlock: '0x0', toBlock: 'latest' })
  return logs.map(decoded)
}

/**
 * The events of a market by Aave's own interface and the receipts alone, in the form of `formatEvent`; whose supply the
 * withdrawals were that contracts made for others is what the scenario remembers.
 */
export async function readTruth(devnet: Devnet, pool: Address, history?: AaveHistory): Promise<string[]> {
  const latest = Number(await devnet.rpc.call<Hex>('eth_blockNumber'))
  const receipts = await devnet.rpc.batch<
    readonly { readonly transactionHash: Hex; readonly logs: readonly RpcLog[] }[]
  >(Array.from({ length: latest + 1 }, (_, block) => ({ method: 'eth_getBlockReceipts', params: [toHex(block)] })))
  return receipts.flat().flatMap(({ transactionHash, logs }) => {
    const owners = [...(history?.owners.get(transactionHash) ?? [])]
    return logs
      .filter(({ address }) => address.toLowerCase() === pool.toLowerCase())
      .flatMap((log) => eventTexts(log, owners))
  })
}

function eventTexts(log: RpcLog, owners: Address[]): string[] {
  const { eventName, args } = decoded(log)
  const text = (leg: number, ...rest: readonly unknown[]) =>
    [Number(log.blockNumber), Number(log.logIndex), leg, ...rest].join(' ').toLowerCase()
  switch (eventName) {
    case 'Supply':
      return [text(0, 'supply', args['onBehalfOf'], args['reserve'], args['amount'], args['user'])]
    case 'Borrow':
      return [text(0, 'borrow', args['onBehalfOf'], args['reserve'], args['amount'], args['user'])]
    case 'Repay':
      return [text(0, 'repay', args['user'], args['reserve'], args['amount'], args['repayer'])]
    case 'Withdraw':
      return [text(0, 'withdraw', owners.shift() ?? args['user'], args['reserve'], args['amount'], args['to'])]
    case 'LiquidationCall':
      return [
        text(0, 'liquidation', args['user'], args['debtAsset'], args['debtToCover'], args['liquidator']),
        text(
          1,
          'liquidation',
          args['user'],
          args['collateralAsset'],
          args['liquidatedCollateralAmount'],
          args['liquidator'],
        ),
      ]
    default:
      return []
  }
}

function decoded({ topics, data }: RpcLog): { eventName: string | undefined; args: Record<string, unknown> } {
  try {
    const event = decodeEventLog({
      abi: [...IPool_ABI, ...STABLE_ABI],
      data,
      topics: topics as [Hex, ...Hex[]],
    })
    return { eventName: event.eventName, args: event.args as unknown as Record<string, unknown> }
  } catch {
    return { eventName: undefined, args: {} }
  }
}
