import type { Hex } from 'viem'
import {
  LENDING_EVENT_TYPES,
  type LendingEvent,
  type LendingEventKind,
} from '../../../finance/lending/lending_event.ts'
import { createEventTable } from '../../../history/logs/event_table.ts'
import type { HistoryLog, LogFilter } from '../../../history/stream.ts'
import { groupBy } from '../../../lib/group_by.ts'
import { TOPICS } from './abi.ts'
import { decodeLogs } from './decode.ts'
import type { LendingTarget } from './target.ts'

/** Events of the Pool that change what an account's holdings count for. Source: `IPool` 3.0 to 3.6. */
const SWITCHES = createEventTable({
  collateralOn: 'ReserveUsedAsCollateralEnabled(address indexed, address indexed)',
  collateralOff: 'ReserveUsedAsCollateralDisabled(address indexed, address indexed)',
  eMode: 'UserEModeSet(address indexed, uint8)',
  rateMode: 'SwapBorrowRateMode(address indexed, address indexed, uint8)',
  rebalanced: 'RebalanceStableBorrowRate(address indexed, address indexed)',
})

const { update: _, treasury: __, ...MOVES } = TOPICS

const EVENTS = [...Object.values(MOVES), ...Object.values(SWITCHES.topics)]
/** Nodes refuse filters of too many contracts; these events are rare enough to be asked of all. */
const CONTRACTS_MAX = 500

/**
 * What finds every log that changes an account of these markets. Wallets are matched afterwards: they would make a filter
 * too long. Without places, or with too many contracts: the same of all contracts.
 */
export function createChangeFilter(places: readonly LendingTarget[]): LogFilter {
  const contracts = contractsOf(places)
  const isNarrow = contracts.length > 0 && contracts.length <= CONTRACTS_MAX
  return { addresses: isNarrow ? contracts : null, topics: [EVENTS] }
}

/** Wallets whose accounts the logs may have changed, lower case: all these events name them in topics. */
export function listWallets(logs: readonly HistoryLog[], places: readonly LendingTarget[]): ReadonlySet<Hex> {
  const contracts = new Set(contractsOf(places))
  return new Set(
    logs.flatMap(({ address, topics: [event, ...named] }) =>
      event === undefined || !EVENTS.includes(event) || (contracts.size > 0 && !contracts.has(address))
        ? []
        : named.map((topic): Hex => `0x${topic.slice(26)}`),
    ),
  )
}

function contractsOf(places: readonly LendingTarget[]): readonly Hex[] {
  return places.flatMap(({ contract, tokens }) => [contract, ...tokens.keys()])
}

/**
 * The events of a market in blocks that answers show, as its history would have them, each log once: of a liquidation the debt. `logs` are
 * all of the blocks that `createChangeFilter` found. Throws as `decodeLogs`.
 */
export function listEvents(place: LendingTarget, logs: readonly HistoryLog[]): LendingEvent[] {
  const here = new Set(contractsOf([place]))
  const own = logs.filter(({ address }) => here.has(address))
  // A block holds whole transactions.
  const receipts = groupBy(own, ({ transactionHash }) => transactionHash)
  const { rows } = decodeLogs(place, own, { subjects: null, receipts })
  return rows.filter(({ kind, leg }) => leg === 0 && SHOWN.includes(kind))
}

const SHOWN: readonly LendingEventKind[] = LENDING_EVENT_TYPES
