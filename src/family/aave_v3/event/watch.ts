import type { Hex } from 'viem'
import {
  LENDING_EVENT_TYPES,
  type LendingEvent,
  type LendingEventType,
} from '../../../finance/lending/lending_event.ts'
import { eventShapes } from '../../../history/logs/event_shapes.ts'
import type { HistoryLog, LogFilter } from '../../../history/stream.ts'
import { grouped } from '../../../lib/grouped.ts'
import { TOPICS } from './abi.ts'
import { decodeLogs } from './decode.ts'
import type { LendingPlace } from './place.ts'

/** Events of the Pool that change what an account's holdings count for. Source: `IPool` 3.0 to 3.6. */
const SWITCHES = eventShapes({
  collateralOn: 'ReserveUsedAsCollateralEnabled(address indexed, address indexed)',
  collateralOff: 'ReserveUsedAsCollateralDisabled(address indexed, address indexed)',
  eMode: 'UserEModeSet(address indexed, uint8)',
  rateMode: 'SwapBorrowRateMode(address indexed, address indexed, uint8)',
  rebalanced: 'RebalanceStableBorrowRate(address indexed, address indexed)',
})

const { update: _, treasury: __, ...MOVES } = TOPICS

/**
 * What finds every log that changes an account of these markets. Wallets are matched afterwards: they would make a filter
 * too long. Without places: the same of every market.
 */
export function changesOf(places: readonly LendingPlace[]): LogFilter {
  const addresses = places.flatMap(({ contract, tokens }) => [contract, ...tokens.keys()])
  const topics = [[...Object.values(MOVES), ...Object.values(SWITCHES.topics)]]
  return { addresses: places.length === 0 ? null : addresses, topics }
}

/** Wallets whose accounts the logs may have changed, lower case: all these events name them in topics. */
export function walletsIn(logs: readonly HistoryLog[], places: readonly LendingPlace[]): ReadonlySet<Hex> {
  const { addresses, topics } = changesOf(places)
  const [contracts, events] = [addresses === null ? undefined : new Set(addresses), new Set(topics[0])]
  return new Set(
    logs.flatMap(({ address, topics: [event, ...named] }) =>
      event === undefined || !events.has(event) || contracts?.has(address) === false
        ? []
        : named.map((topic): Hex => `0x${topic.slice(26)}`),
    ),
  )
}

/** An event that answers show, and where its log stands. */
export interface LendingHappening {
  readonly event: LendingEvent
  readonly type: LendingEventType
}

/**
 * The events of a market in a block, as its history would have them, each log once: of a liquidation the debt. `logs`
 * are all of the block that `changesOf` found. Throws as `decodeLogs`.
 */
export function happeningsIn(place: LendingPlace, logs: readonly HistoryLog[]): LendingHappening[] {
  const here = new Set([place.contract, ...place.tokens.keys()])
  const own = logs.filter(({ address }) => here.has(address))
  // A block holds whole transactions.
  const receipts = grouped(own, ({ transactionHash }) => transactionHash)
  return decodeLogs(place, own, { subjects: null, receipts }).rows.flatMap((event) => {
    const type = LENDING_EVENT_TYPES.find((each) => each === event.kind)
    return type === undefined || event.leg !== 0 ? [] : { event, type }
  })
}
