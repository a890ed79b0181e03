import type { Hex } from 'viem'
import listSql from '../../../sql/queries/lending_event_list.sql' with { type: 'text' }
import storeSql from '../../../sql/queries/lending_event_store.sql' with { type: 'text' }
import type { Database } from '../../db/database.ts'
import { query } from '../../db/query.ts'
import type { StoredPart, StreamPlace, StreamTable } from '../stream.ts'
import { fromBytes, NotStoredError, partParams, STORE_DEADLINE_MS, toDigits } from './part.ts'

const store = query(storeSql, 'background')
const list = query(listSql, 'read')

/** What a wallet did in a lending market. */
export type LendingEventKind = 'supply' | 'withdraw' | 'borrow' | 'repay' | 'liquidation'

/** One thing that a wallet did in a lending market. Addresses and hashes are lower case. */
export interface LendingEvent {
  readonly wallet: Hex
  readonly block: number
  readonly logIndex: number
  /** 0; of a liquidation 0 for the debt repaid and 1 for the collateral taken. */
  readonly leg: 0 | 1
  readonly kind: LendingEventKind
  readonly asset: Hex
  /** In units of the asset. */
  readonly amount: bigint
  readonly counterparty: Hex | null
  readonly transactionHash: Hex
  /** Unix seconds; null if no endpoint gave it with the log. */
  readonly timestampSec: number | null
}

/** Lending events as a stream stores them. */
export const LENDING_EVENTS: StreamTable<LendingEvent> = {
  subjectOf: ({ wallet }) => wallet,
  blockOf: ({ block }) => block,
  store: storeEvents,
}

async function storeEvents(db: Database, part: StoredPart<LendingEvent>): Promise<void> {
  const { place, rows } = part
  const [answer] = await store(
    db,
    [
      ...partParams(part),
      rows.map(({ wallet }) => toDigits(wallet)),
      rows.map(({ block }) => block),
      rows.map(({ logIndex }) => logIndex),
      rows.map(({ leg }) => leg),
      rows.map(({ kind }) => kind),
      rows.map(({ asset }) => toDigits(asset)),
      rows.map(({ amount }) => String(amount)),
      rows.map(({ counterparty }) => (counterparty === null ? '' : toDigits(counterparty))),
      rows.map(({ transactionHash }) => toDigits(transactionHash)),
      rows.map(({ timestampSec }) => timestampSec ?? -1),
    ],
    { deadlineMs: STORE_DEADLINE_MS },
  )
  if (answer?.stored !== true) throw new NotStoredError(place)
}

/** A page of a wallet's events. */
interface LendingEventPage {
  readonly total: number
  readonly events: readonly LendingEvent[]
}

/**
 * One page of a wallet's stored events up to a block, newest first: by block, then log index, then the debt of a
 * liquidation before its collateral. Undefined if not all of them are stored, from the place's start on. Throws as
 * `Database.run`.
 */
export async function readLendingEvents(
  db: Database,
  options: {
    readonly place: StreamPlace
    readonly stream: string
    readonly wallet: Hex
    readonly toBlock: number
    /** Absent: all kinds. */
    readonly kind?: LendingEventKind
    readonly skip: number
    readonly max: number
  },
): Promise<LendingEventPage | undefined> {
  const { place, stream, wallet, toBlock, kind = '', skip, max } = options
  const rows = await list(db, [
    ...([place.chainId, toDigits(place.contract), stream, toDigits(wallet)] as const),
    ...([place.startBlock, Math.max(place.startBlock, toBlock), kind, max, skip] as const),
  ])
  const [first] = rows
  if (first === undefined || !first.covered) return undefined
  const events = rows.flatMap(({ block, log_index, leg, kind, asset, amount, counterparty, tx_hash, time }) =>
    block === null || log_index === null || asset === null || amount === null || tx_hash === null
      ? []
      : {
          wallet,
          block: Number(block),
          logIndex: log_index,
          leg: leg === 1 ? (1 as const) : (0 as const),
          kind: kind as LendingEventKind,
          asset: fromBytes(asset),
          amount: BigInt(amount),
          counterparty: counterparty === null ? null : fromBytes(counterparty),
          transactionHash: fromBytes(tx_hash),
          timestampSec: time === null ? null : Number(time),
        },
  )
  return { total: Number(first.total), events }
}
