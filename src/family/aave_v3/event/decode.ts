import type { Hex } from 'viem'
import type { LendingEvent } from '../../../finance/lending/lending_event.ts'
import { toAddressTopic } from '../../../history/logs/event_table.ts'
import type { DecodedRows, HistoryLog, LogFilter } from '../../../history/stream.ts'
import { groupBy } from '../../../lib/group_by.ts'
import { TOPICS } from './abi.ts'
import { decodeTransaction } from './decode_transaction.ts'
import { type LendingLog, readLog } from './log.ts'
import { checkReplay } from './replay.ts'
import type { LendingTarget } from './target.ts'

/** What of a market's logs is asked for: see `Stream.filters`. */
export function createFilters(place: LendingTarget, subjects: readonly Hex[] | null): readonly LogFilter[] {
  const pool = place.contract.toLowerCase() as Hex
  const addresses = [pool, ...place.tokens.keys()]
  if (subjects === null) return [{ addresses, topics: [Object.values(TOPICS)] }]
  const wallets = subjects.map(toAddressTopic)
  const { supply, withdraw, borrow, repay, mint, burn, transfer, stableMint, stableBurn, deficit, liquidation } = TOPICS
  return [
    { addresses, topics: [[burn, transfer, stableBurn, deficit], wallets] },
    { addresses, topics: [[supply, withdraw, borrow, repay, mint, transfer, stableMint], null, wallets] },
    { addresses: [pool], topics: [[liquidation], null, null, wallets] },
  ]
}

/** Rows of logs that these filters found: see `Stream.decode`. */
export function decodeLogs(
  place: LendingTarget,
  logs: readonly HistoryLog[],
  context: { readonly subjects: readonly Hex[] | null; readonly receipts: ReadonlyMap<Hex, readonly HistoryLog[]> },
): DecodedRows<LendingEvent> {
  const subjects = context.subjects === null ? null : new Set(context.subjects)
  const assets = new Set([...place.tokens.values()].map(({ asset }) => asset))
  const rows: LendingEvent[] = []
  const unsettled: Hex[] = []
  const seen: LendingLog[] = []
  for (const [hash, transaction] of groupBy(logs, ({ transactionHash }) => transactionHash)) {
    const receipt = context.receipts.get(hash)
    const read = (receipt ?? transaction).flatMap((log) => readLog(place, log) ?? [])
    const settled = decodeTransaction(read, { subjects, isReceipt: receipt !== undefined, assets })
    seen.push(...read)
    if (settled === undefined) unsettled.push(hash)
    else rows.push(...settled)
  }
  // Logs that only a receipt has are here as well by the time that nothing is unsettled.
  if (unsettled.length === 0) checkReplay(seen, (wallet) => subjects === null || subjects.has(wallet))
  return { rows, unsettled }
}
