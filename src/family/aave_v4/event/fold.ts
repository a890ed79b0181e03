import { IncompleteError } from '../../../history/stream.ts'
import type { LendingEvent } from '../../lending/lending_event.ts'
import { STORED, type StoredName } from './decode.ts'
import { fromReserveKey, type SpokeTarget } from './log.ts'

/** What a spoke stores of a wallet in a reserve. */
export type StoredPosition = Readonly<Record<StoredName, bigint>>

const NAMES = Object.keys(STORED) as StoredName[]
const NOTHING: StoredPosition = { suppliedShares: 0n, drawnShares: 0n, premiumShares: 0n, premiumOffsetRay: 0n }

/**
 * Adds up a wallet's rows: what the spoke must have stored of it, by reserve id.
 *
 * Source: Aave V4 `Spoke.supply`, `withdraw`, `borrow`, `repay`, `updateUserRiskPremium`, `liquidationCall`.
 */
export function foldRows(rows: readonly LendingEvent[]): ReadonlyMap<number, StoredPosition> {
  const positions = new Map<number, StoredPosition>()
  for (const { market, kind, amount } of rows) {
    const name = NAMES.find((each) => (STORED[each] as readonly string[]).includes(kind))
    if (name === undefined || market === null) continue
    const reserveId = fromReserveKey(market)
    const position = positions.get(reserveId) ?? NOTHING
    const change = kind === STORED[name][0] ? amount : -amount
    positions.set(reserveId, { ...position, [name]: position[name] + change })
  }
  return positions
}

/**
 * Checks a wallet's complete rows against what the spoke has stored of it at a later block, in the order of its reserves:
 * all four numbers of each must be equal, without any slack. Logs that cancel each other are not missed. Throws
 * `IncompleteError` with the check `fold`.
 */
export function checkFold(
  target: SpokeTarget,
  rows: readonly LendingEvent[],
  { stored, toBlock }: { readonly stored: readonly StoredPosition[]; readonly toBlock: number },
): void {
  const folded = foldRows(rows)
  const isEqual = (reserveId: number, each: StoredPosition) =>
    NAMES.every((name) => (folded.get(reserveId) ?? NOTHING)[name] === each[name])
  const isKnown = [...folded.keys()].every((reserveId) => reserveId < stored.length)
  if (isKnown && stored.every((each, reserveId) => isEqual(reserveId, each))) return
  throw new IncompleteError('fold', { fromBlock: target.startBlock, toBlock })
}
