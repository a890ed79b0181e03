import type { Hex } from 'viem'
import { IncompleteError } from '../../../history/stream.ts'
import type { LendingEvent, LendingEventKind } from '../../lending/lending_event.ts'
import type { CometTarget } from './log.ts'

const RAISING: readonly LendingEventKind[] = ['supply', 'receive']

/**
 * Checks that a wallet's rows of collaterals add up to what the market stores of it, each to the unit. Every change of a
 * collateral is logged. Throws `IncompleteError` with the check `collateral`.
 */
export function checkCollaterals(
  { base, startBlock }: CometTarget,
  rows: readonly LendingEvent[],
  { balances, toBlock }: { readonly balances: ReadonlyMap<Hex, bigint>; readonly toBlock: number },
): void {
  const sums = new Map<Hex, bigint>()
  for (const { asset, kind, amount } of rows) {
    if (asset === base) continue
    sums.set(asset, (sums.get(asset) ?? 0n) + (RAISING.includes(kind) ? amount : -amount))
  }
  const assets = new Set([...sums.keys(), ...balances.keys()])
  if ([...assets].every((asset) => (sums.get(asset) ?? 0n) === (balances.get(asset) ?? 0n))) return
  throw new IncompleteError('collateral', { fromBlock: startBlock, toBlock })
}

/** Blocks between which no log names a wallet's base: its principal must stand still from one to the other. */
export interface StillRange {
  /** Last block of a log; undefined before the first: the principal is 0 then. */
  readonly after: number | undefined
  /** Last block without one. */
  readonly until: number
}

/** Lists the ranges between the blocks of these rows, up to a block, oldest first. */
export function listStillRanges(
  { base, startBlock }: CometTarget,
  rows: readonly LendingEvent[],
  toBlock: number,
): readonly StillRange[] {
  const blocks = [...new Set(rows.filter(({ asset }) => asset === base).map(({ block }) => block))].sort(
    (a, b) => a - b,
  )
  return [...blocks, toBlock + 1].flatMap((next, index): StillRange[] => {
    const after = blocks[index - 1]
    const until = next - 1
    return until <= (after ?? Math.max(0, startBlock - 1)) ? [] : [{ after, until }]
  })
}
