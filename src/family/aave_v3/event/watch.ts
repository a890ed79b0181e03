import type { Hex } from 'viem'
import { createEventTable } from '../../../history/logs/event_table.ts'
import type { HistoryLog, LogFilter } from '../../../history/stream.ts'
import { groupBy } from '../../../lib/group_by.ts'
import { LENDING_EVENT_TYPES, type LendingEvent, type LendingEventKind } from '../../lending/lending_event.ts'
import { decodeLogs } from './decode.ts'
import { type LendingTarget, TOPICS } from './log.ts'

/** Events of the Pool that change how an account's holdings count. Source: `IPool` 3.0 to 3.6. */
const SWITCHES = createEventTable({
  collateralOn: 'ReserveUsedAsCollateralEnabled(address indexed, address indexed)',
  collateralOff: 'ReserveUsedAsCollateralDisabled(address indexed, address indexed)',
  eMode: 'UserEModeSet(address indexed, uint8)',
  rateMode: 'SwapBorrowRateMode(address indexed, address indexed, uint8)',
  rebalanced: 'RebalanceStableBorrowRate(address indexed, address indexed)',
})

const { update: _, treasury: __, ...MOVES } = TOPICS

const EVENTS = [...Object.values(MOVES), ...Object.values(SWITCHES.topics)]
/** Nodes refuse filters of too many contracts; these events are rare enough to request them of all contracts. */
const CONTRACTS_MAX = 500

/**
 * Filter for every log that changes an account of these markets. Wallets are matched afterwards, because they would
 * make the filter too long. Without targets, or with too many contracts, it matches all contracts.
 */
export function createChangeFilter(targets: readonly LendingTarget[]): LogFilter {
  const contracts = listContracts(targets)
  const isNarrow = contracts.length > 0 && contracts.length <= CONTRACTS_MAX
  return { addresses: isNarrow ? contracts : null, topics: [EVENTS] }
}

/** Wallets whose accounts the logs may have changed, lower case: all these events name them in topics. */
export function listWallets(logs: readonly HistoryLog[], targets: readonly LendingTarget[]): ReadonlySet<Hex> {
  const contracts = new Set(listContracts(targets))
  return new Set(
    logs.flatMap(({ address, topics: [event, ...named] }) =>
      event === undefined || !EVENTS.includes(event) || (contracts.size > 0 && !contracts.has(address))
        ? []
        : named.map((topic): Hex => `0x${topic.slice(26)}`),
    ),
  )
}

function listContracts(targets: readonly LendingTarget[]): readonly Hex[] {
  return targets.flatMap(({ contract, tokens }) => [contract, ...tokens.keys()])
}

/**
 * Events of a market that answers show, as in its history, with one event per log: the debt of a liquidation. `logs`
 * are all logs of whole blocks that match `createChangeFilter`. Throws as `decodeLogs`.
 */
export function listEvents(target: LendingTarget, logs: readonly HistoryLog[]): LendingEvent[] {
  const contracts = new Set(listContracts([target]))
  const own = logs.filter(({ address }) => contracts.has(address))
  // A block holds whole transactions.
  const receipts = groupBy(own, ({ transactionHash }) => transactionHash)
  const { rows } = decodeLogs(target, own, { subjects: null, receipts })
  return rows.filter(({ kind, leg }) => leg === 0 && SHOWN.includes(kind))
}

const SHOWN: readonly LendingEventKind[] = LENDING_EVENT_TYPES
