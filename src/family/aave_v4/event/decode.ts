import type { Hex } from 'viem'
import type { DecodedRows, HistoryLog } from '../../../history/stream.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { LendingEvent, LendingEventKind } from '../../lending/lending_event.ts'
import {
  type PremiumChange,
  readLog,
  type SpokeLiquidation,
  type SpokeLog,
  type SpokeTarget,
  toReserveKey,
} from './log.ts'

/**
 * Decodes the logs of a spoke: see `Stream.decode`. Each gives what answers show of it, and a row for each number that
 * the spoke stores of the wallet and that it changes. Throws `UpstreamError` for a log without the shape of its event,
 * or with a reserve that the spoke does not have.
 */
export function decodeLogs(
  target: SpokeTarget,
  logs: readonly HistoryLog[],
  { subjects }: { readonly subjects: readonly Hex[] | null },
): DecodedRows<LendingEvent> {
  const wallets = subjects === null ? undefined : new Set(subjects)
  const rows = logs.flatMap((log) => {
    const read = readLog(target, log)
    return read === undefined ? [] : toRows(target, read)
  })
  return { rows: wallets === undefined ? rows : rows.filter(({ wallet }) => wallets.has(wallet)), unsettled: [] }
}

/** Stored numbers of a wallet in a reserve, by the kinds of rows that raise and lower them. */
export const STORED = {
  suppliedShares: ['raise_supplied_shares', 'lower_supplied_shares'],
  drawnShares: ['raise_drawn_shares', 'lower_drawn_shares'],
  premiumShares: ['raise_premium_shares', 'lower_premium_shares'],
  premiumOffsetRay: ['raise_premium_offset', 'lower_premium_offset'],
} as const satisfies Record<string, readonly [LendingEventKind, LendingEventKind]>

export type StoredName = keyof typeof STORED

/** A row besides the place of its log. */
type Change = Pick<LendingEvent, 'wallet' | 'kind' | 'leg' | 'amount' | 'counterparty'> & { readonly reserveId: number }

/** Legs of stored changes: of the log's wallet from the first on, of the liquidator from the second. */
const LEGS = { wallet: 2, liquidator: 12 } as const

function toRows(target: SpokeTarget, read: SpokeLog): LendingEvent[] {
  const { blockNumber: block, logIndex, transactionHash, timestampSec } = read.log
  return toChanges(read).map(({ reserveId, ...change }) => {
    const asset = target.assets[reserveId]
    if (asset === undefined) {
      throw new UpstreamError(`Cannot decode a log of block ${block}: the spoke does not have reserve ${reserveId}`)
    }
    const place = { block, logIndex, transactionHash, timestampSec }
    return { ...change, ...place, asset, market: toReserveKey(reserveId), indexRay: null }
  })
}

function toChanges(read: SpokeLog): readonly Change[] {
  const { wallet, reserveId } = read
  switch (read.kind) {
    case 'liquidation':
      return toLiquidationChanges(read)
    case 'deficit':
    case 'refresh':
      return toStoredChanges({ wallet, reserveId }, { drawnShares: -read.drawnShares, ...toPremium(read.premium) })
    default: {
      const { kind, amount, shares, premium, counterparty } = read
      const signed = kind === 'supply' || kind === 'borrow' ? shares : -shares
      const name = kind === 'supply' || kind === 'withdraw' ? 'suppliedShares' : 'drawnShares'
      return [
        { wallet, reserveId, kind, leg: 0, amount, counterparty },
        ...toStoredChanges({ wallet, reserveId }, { [name]: signed, ...toPremium(premium) }),
      ]
    }
  }
}

function toLiquidationChanges(read: SpokeLiquidation): readonly Change[] {
  const { wallet, reserveId, liquidator, collateralId, liquidatorShares } = read
  const shown = { wallet, kind: 'liquidation', counterparty: liquidator } as const
  return [
    { ...shown, leg: 0, reserveId, amount: read.repaid },
    { ...shown, leg: 1, reserveId: collateralId, amount: read.seized },
    ...toStoredChanges({ wallet, reserveId }, { drawnShares: -read.drawnShares, ...toPremium(read.premium) }),
    ...toStoredChanges(
      { wallet, reserveId: collateralId, leg: LEGS.wallet + 4 },
      { suppliedShares: -read.seizedShares },
    ),
    ...toStoredChanges(
      { wallet: liquidator, reserveId: collateralId, leg: LEGS.liquidator },
      { suppliedShares: liquidatorShares },
    ),
  ]
}

function toPremium(change: PremiumChange | undefined): Partial<Record<StoredName, bigint>> {
  return change === undefined ? {} : { premiumShares: change.shares, premiumOffsetRay: change.offsetRay }
}

/** Rows of the stored numbers that change, each with a leg of its own. */
function toStoredChanges(
  { leg = LEGS.wallet, ...place }: Pick<Change, 'wallet' | 'reserveId'> & { readonly leg?: number },
  changes: Partial<Record<StoredName, bigint>>,
): Change[] {
  return (Object.keys(STORED) as StoredName[]).flatMap((name, index) => {
    const change = changes[name] ?? 0n
    const [raise, lower] = STORED[name]
    if (change === 0n) return []
    const kind = change > 0n ? raise : lower
    return { ...place, kind, leg: leg + index, amount: change > 0n ? change : -change, counterparty: null }
  })
}
