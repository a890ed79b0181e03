import type { Hex } from 'viem'
import { RAY } from '../../../finance/math/rate.ts'
import type { Action, BalanceChange, Deficit, LendingLog, Liquidation, Transfer } from './log.ts'
import { isWithinRounding } from './rounding.ts'
import type { TokenSide } from './target.ts'

/** What the logs of one transaction say about each other. */
export interface Pairing {
  /** The token's log of an action; of a liquidation that of the debt. */
  readonly changes: ReadonlyMap<Action | Liquidation, BalanceChange>
  /** The aToken's log of the collateral that a liquidation took. */
  readonly collateral: ReadonlyMap<Liquidation, BalanceChange | Transfer>
  /** Transfers that are part of a liquidation: the collateral itself, and the protocol's fee. */
  readonly seized: ReadonlySet<Transfer>
  /** Debts that the burn of a liquidation wrote off together with what was repaid. */
  readonly writtenOff: ReadonlyMap<Deficit, BalanceChange>
  /** True if each log of the Pool has its token's log, and the reverse. */
  readonly isWhole: boolean
}

const DEBT: readonly TokenSide[] = ['variable_debt', 'stable_debt']
const SUPPLY: readonly TokenSide[] = ['supply']

/**
 * Pairs the Pool's logs of one transaction with those of its tokens, which come just before them. `isInScope` says of
 * which wallets all logs are here, `assets` are those whose tokens are known.
 */
export function pairLogs(
  logs: readonly LendingLog[],
  { isInScope, assets }: { readonly isInScope: (wallet: Hex) => boolean; readonly assets: ReadonlySet<Hex> },
): Pairing {
  const changes = new Map<Action | Liquidation, BalanceChange>()
  const collateral = new Map<Liquidation, BalanceChange | Transfer>()
  const seized = new Set<Transfer>()
  const used = new Set<BalanceChange>()
  const writtenOff = new Map<Deficit, BalanceChange>()
  let isWhole = true

  /** The last unused change before `before` that is about `net`. */
  function take(wanted: {
    readonly wallet?: Hex
    readonly asset: Hex
    readonly sides: readonly TokenSide[]
    readonly nets: readonly bigint[]
    readonly before: number
  }): BalanceChange | undefined {
    for (let at = wanted.before - 1; at >= 0; at--) {
      const log = logs[at]
      if (log?.kind !== 'change' || used.has(log)) continue
      if (wanted.wallet !== undefined && log.wallet !== wanted.wallet) continue
      if (log.token.asset !== wanted.asset || !wanted.sides.includes(log.token.side)) continue
      if (!wanted.nets.some((net) => isWithinRounding(log.net, net, log.indexRay))) continue
      used.add(log)
      return log
    }
    if (assets.has(wanted.asset) && (wanted.wallet === undefined || isInScope(wanted.wallet))) isWhole = false
    return undefined
  }

  function pairLiquidation(liquidation: Liquidation, before: number): void {
    const { wallet, debt, liquidator } = liquidation
    // If no collateral is left, one burn takes what was repaid and what is written off.
    const rest = logs.find(
      (log): log is Deficit =>
        log.kind === 'deficit' && log.wallet === wallet && log.asset === debt.asset && !writtenOff.has(log),
    )
    const nets = [-debt.amount, -debt.amount - (rest?.amount ?? 0n)]
    const change = take({ wallet, asset: debt.asset, sides: DEBT, nets, before })
    if (change !== undefined) changes.set(liquidation, change)
    const isBoth =
      rest !== undefined && isWithinRounding(change?.net ?? 0n, -debt.amount - rest.amount, change?.indexRay)
    if (change !== undefined && isBoth) writtenOff.set(rest, change)
    const { asset, amount } = liquidation.collateral
    const isTaken = (log: LendingLog): log is Transfer =>
      log.kind === 'transfer' && log.from === wallet && log.token.asset === asset && !seized.has(log)
    const moved = logs.findLast(
      (log, at): log is Transfer =>
        at < before &&
        isTaken(log) &&
        log.to === liquidator &&
        getPossibleAmounts(log).some((each) => isWithinRounding(each, amount, log.indexRay)),
    )
    const taken = moved ?? take({ wallet, asset, sides: SUPPLY, nets: [-amount], before })
    if (taken === undefined) return
    collateral.set(liquidation, taken)
    // The fee comes between the collateral and the Pool's log.
    for (const log of logs.slice(logs.indexOf(taken), before)) if (isTaken(log)) seized.add(log)
  }

  logs.forEach((log, before) => {
    if (log.kind === 'liquidation') pairLiquidation(log, before)
    else if (log.kind === 'treasury') take({ asset: log.asset, sides: SUPPLY, nets: [log.amount], before })
    else if (log.kind === 'supply' || log.kind === 'withdraw' || log.kind === 'borrow' || log.kind === 'repay') {
      const { kind, wallet, asset, amount, counterparty } = log
      const net = kind === 'supply' || kind === 'borrow' ? amount : -amount
      const sides = kind === 'supply' || kind === 'withdraw' ? SUPPLY : DEBT
      const change = take({ wallet, asset, sides, nets: [net], before })
      if (change !== undefined) changes.set(log, change)
      if (log.isPaidFromSupply) take({ wallet: counterparty, asset, sides: SUPPLY, nets: [-amount], before })
    }
  })
  // Debts that are written off besides the one that was repaid have a burn of their own each.
  for (const log of logs) {
    if (log.kind !== 'deficit' || writtenOff.has(log)) continue
    take({ wallet: log.wallet, asset: log.asset, sides: DEBT, nets: [-log.amount], before: logs.length })
  }
  const isOrphan = (log: LendingLog) =>
    log.kind === 'change' && log.net !== 0n && !used.has(log) && isInScope(log.wallet)
  return { changes, collateral, seized, writtenOff, isWhole: isWhole && !logs.some(isOrphan) }
}

/** What a transfer may have moved, smallest units: its value is scaled by the index, except by contracts before 3.0.1. */
export function getPossibleAmounts({ value, indexRay }: Transfer): readonly bigint[] {
  return [(value * indexRay) / RAY, value]
}
