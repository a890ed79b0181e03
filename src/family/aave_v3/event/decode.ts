import type { Hex } from 'viem'
import { toAddressTopic } from '../../../history/logs/event_table.ts'
import type { DecodedRows, HistoryLog, LogFilter } from '../../../history/stream.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { LendingEvent } from '../../lending/lending_event.ts'
import { TOPICS } from './abi.ts'
import { decodeTransaction } from './decode_transaction.ts'
import { type LendingLog, readLog } from './log.ts'
import { checkReplay } from './replay.ts'
import type { LendingTarget } from './target.ts'

/** Filters for the logs of a market: see `Stream.filters`. */
export function createFilters(target: LendingTarget, subjects: readonly Hex[] | null): readonly LogFilter[] {
  const pool = target.contract.toLowerCase() as Hex
  const addresses = [pool, ...target.tokens.keys()]
  if (subjects === null) return [{ addresses, topics: [Object.values(TOPICS)] }]
  const wallets = subjects.map(toAddressTopic)
  const { supply, withdraw, borrow, repay, mint, burn, transfer, stableMint, stableBurn, deficit, liquidation } = TOPICS
  return [
    { addresses, topics: [[burn, transfer, stableBurn, deficit], wallets] },
    { addresses, topics: [[supply, withdraw, borrow, repay, mint, transfer, stableMint], null, wallets] },
    { addresses: [pool], topics: [[liquidation], null, null, wallets] },
  ]
}

/** Decodes the logs that these filters match: see `Stream.decode`. */
export function decodeLogs(
  target: LendingTarget,
  logs: readonly HistoryLog[],
  context: { readonly subjects: readonly Hex[] | null; readonly receipts: ReadonlyMap<Hex, readonly HistoryLog[]> },
): DecodedRows<LendingEvent> {
  const subjects = context.subjects === null ? null : new Set(context.subjects)
  const assets = new Set([...target.tokens.values()].map(({ asset }) => asset))
  const rows: LendingEvent[] = []
  const unsettled: Hex[] = []
  const parsedLogs: LendingLog[] = []
  for (const [hash, transaction] of groupBy(logs, ({ transactionHash }) => transactionHash)) {
    const receipt = context.receipts.get(hash)
    const parsed = (receipt ?? transaction).flatMap((log) => readLog(target, log) ?? [])
    const decoded = decodeTransaction(parsed, { subjects, isReceipt: receipt !== undefined, assets })
    parsedLogs.push(...parsed)
    if (decoded === undefined) unsettled.push(hash)
    else rows.push(...decoded)
  }
  // Once nothing is unsettled, the logs include those that only receipts have.
  if (unsettled.length === 0) checkReplay(parsedLogs, (wallet) => subjects === null || subjects.has(wallet))
  return { rows, unsettled }
}
