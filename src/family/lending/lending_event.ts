import type { Hex } from 'viem'
import { lendingEventList } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import { createRowTable, hexFromBytes, toHexDigits, toNameParams } from '../../history/stored_part.ts'
import type { StreamTable, StreamTarget } from '../../history/stream.ts'

/** Rows of one read from the database, and most rows in all, more than any wallet has. */
const PAGE_ROWS = 5_000
const ROWS_MAX = 200_000

/** Types of events of a wallet in a lending market that answers show. */
export const LENDING_EVENT_TYPES = ['supply', 'borrow', 'withdraw', 'repay', 'liquidation'] as const

/** Type of an event that answers show. */
export type LendingEventType = (typeof LENDING_EVENT_TYPES)[number]

/** True for a kind that answers show as an event. */
export function isLendingEventType(kind: string): kind is LendingEventType {
  return LENDING_EVENT_TYPES.some((type) => type === kind)
}

/** What a market may store of a wallet in an asset beside amounts: their changes prove that no log is missing. */
const STORED_KINDS = [
  ...(['raise_supplied_shares', 'lower_supplied_shares', 'raise_drawn_shares', 'lower_drawn_shares'] as const),
  ...(['raise_premium_shares', 'lower_premium_shares', 'raise_premium_offset', 'lower_premium_offset'] as const),
] as const

/**
 * Kinds of changes of a wallet's balances. Besides the events that answers show: supply tokens sent or received, supply
 * or debt that changed for another reason, such as a debt written off, and changes of what a market stores.
 */
const LENDING_EVENT_KINDS = [
  ...LENDING_EVENT_TYPES,
  ...(['send', 'receive', 'raise_supply', 'lower_supply', 'raise_debt', 'lower_debt'] as const),
  ...STORED_KINDS,
] as const

/** Kind of a change. */
export type LendingEventKind = (typeof LENDING_EVENT_KINDS)[number]

/** One change of a wallet's balances in a lending market. Addresses and hashes are lower case. */
export interface LendingEvent {
  readonly wallet: Hex
  /** The market within the target; null if the target is one market. */
  readonly market: Hex | null
  readonly block: number
  readonly logIndex: number
  /**
   * Tells changes of one log apart: 1 for the collateral of a liquidation and for received tokens, 0 for other events,
   * also for a liquidation's debt; from 2 on for changes of what a market stores.
   */
  readonly leg: number
  readonly kind: LendingEventKind
  readonly asset: Hex
  /** Raw units of the asset; scaled by the index for tokens sent or received. */
  readonly amount: bigint
  readonly counterparty: Hex | null
  readonly transactionHash: Hex
  /** Unix seconds; null if no endpoint gave it with the log. */
  readonly timestampSec: number | null
  /** The reserve's index at which the balance was scaled, in ray; null if there is none. */
  readonly indexRay: bigint | null
}

/** Lending events as a stream stores them. */
export const LENDING_EVENTS: StreamTable<LendingEvent> = createRowTable({
  name: 'lending_event',
  toSubject: ({ wallet }) => wallet,
  subjectColumn: 'wallet',
  columns: {
    wallet: ({ wallet }) => toHexDigits(wallet),
    market: ({ market }) => toDigitsOrNull(market),
    block: ({ block }) => block,
    log_index: ({ logIndex }) => logIndex,
    leg: ({ leg }) => leg,
    kind: ({ kind }) => kind,
    asset: ({ asset }) => toHexDigits(asset),
    amount: ({ amount }) => amount,
    counterparty: ({ counterparty }) => toDigitsOrNull(counterparty),
    tx_hash: ({ transactionHash }) => toHexDigits(transactionHash),
    time: ({ timestampSec }) => timestampSec,
    index_ray: ({ indexRay }) => indexRay,
  },
})

function toDigitsOrNull(bytes: Hex | null): string | null {
  return bytes === null ? null : toHexDigits(bytes)
}

/**
 * Reads one page of a wallet's stored events up to a block, newest first: by block, then log index, then the debt of a
 * liquidation before its collateral. Undefined if some since the target's start block are not stored. Throws as
 * `Database.run`.
 */
export async function readLendingEvents(
  db: Database,
  options: {
    readonly target: StreamTarget
    readonly stream: string
    readonly wallet: Hex
    readonly toBlock: number
    readonly kinds: readonly LendingEventKind[]
    /** One of the target's markets; absent: all. */
    readonly market?: Hex | undefined
    readonly skip: number
    readonly max: number
  },
): Promise<{ readonly total: number; readonly events: readonly LendingEvent[] } | undefined> {
  const { target, stream, wallet, toBlock, kinds, market, skip, max } = options
  const rows = await lendingEventList(db, {
    ...toNameParams({ target, stream }),
    wallet: toHexDigits(wallet),
    fromBlock: target.startBlock,
    toBlock: Math.max(target.startBlock, toBlock),
    kinds,
    market: market === undefined ? null : toHexDigits(market),
    max,
    skip,
  })
  const [first] = rows
  if (first === undefined || !first.covered) return undefined
  const events = rows.flatMap(
    ({ market, block, log_index, leg, kind, asset, amount, counterparty, tx_hash, time, index_ray }) =>
      block === null || log_index === null || leg === null || asset === null || amount === null || tx_hash === null
        ? []
        : {
            wallet,
            market: toHexOrNull(market),
            block: Number(block),
            logIndex: log_index,
            leg,
            kind: kind as LendingEventKind,
            asset: hexFromBytes(asset),
            amount: BigInt(amount),
            counterparty: toHexOrNull(counterparty),
            transactionHash: hexFromBytes(tx_hash),
            timestampSec: time === null ? null : Number(time),
            indexRay: index_ray === null ? null : BigInt(index_ray),
          },
  )
  return { total: Number(first.total), events }
}

/** Reads all stored rows of a wallet, of all kinds, as `readLendingEvents`; undefined also for too many rows. */
export async function readAllLendingEvents(
  db: Database,
  options: Pick<Parameters<typeof readLendingEvents>[1], 'target' | 'stream' | 'wallet' | 'toBlock'>,
): Promise<LendingEvent[] | undefined> {
  const rows: LendingEvent[] = []
  for (let skip = 0; skip < ROWS_MAX; skip += PAGE_ROWS) {
    const page = await readLendingEvents(db, { ...options, kinds: LENDING_EVENT_KINDS, skip, max: PAGE_ROWS })
    if (page === undefined) return undefined
    rows.push(...page.events)
    if (rows.length >= page.total) return rows
  }
  return undefined
}

function toHexOrNull(bytes: Uint8Array | null): Hex | null {
  return bytes === null ? null : hexFromBytes(bytes)
}
