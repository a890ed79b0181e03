import type { Hex } from 'viem'
import { RAY } from '../../../finance/math/rate.ts'
import type { Action, BalanceChange, Deficit, LendingLog, Liquidation, Transfer } from './log.ts'
import { isWithinRounding } from './rounding.ts'
import type { TokenSide } from './target.ts'

/** The pairs among the logs of one transaction. */
export interface Pairing {
  /** The token's log of each action; for a liquidation the log of the debt token. */
  readonly changes: ReadonlyMap<Action | Liquidation, BalanceChange>
  /** The aToken's log of the collateral that a liquidation took. */
  readonly collateral: ReadonlyMap<Liquidation, BalanceChange | Transfer>
  /** Transfers that are part of a liquidation: the collateral itself, and the protocol's fee. */
  readonly seized: ReadonlySet<Transfer>
  /** Deficits that the burn of a liquidation includes besides the repaid amount. */
  readonly writtenOff: ReadonlyMap<Deficit, BalanceChange>
  /** True if each log of the Pool has its token's log, and the reverse. */
  readonly isWhole: boolean
}

const DEBT: readonly TokenSide[] = ['variable_debt', 'stable_debt']
const SUPPLY: readonly TokenSide[] = ['supply']

/**
 * Pairs the Pool's logs of one transaction with those of its tokens, which come just before them. `isInScope` is true
 * for wallets whose logs are all here, `assets` are those whose tokens are known.
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

  /** The last unused change before index `before` that matches one of `nets` within rounding. */
  function takeChange(criteria: {
    readonly wallet?: Hex
    readonly asset: Hex
    readonly sides: readonly TokenSide[]
    readonly nets: readonly bigint[]
    readonly before: number
  }): BalanceChange | undefined {
    for (let index = criteria.before - 1; index >= 0; index--) {
      const log = logs[index]
      if (log?.kind !== 'change' || used.has(log)) continue
      if (criteria.wallet !== undefined && log.wallet !== criteria.wallet) continue
      if (log.token.asset !== criteria.asset || !criteria.sides.includes(log.token.side)) continue
      if (!criteria.nets.some((net) => isWithinRounding(log.net, net, log.indexRay))) continue
      used.add(log)
      return log
    }
    if (assets.has(criteria.asset) && (criteria.wallet === undefined || isInScope(criteria.wallet))) isWhole = false
    return undefined
  }

  function pairLiquidation(liquidation: Liquidation, before: number): void {
    const { wallet, debt, liquidator } = liquidation
    // If no collateral remains, one burn covers the repaid amount and the deficit.
    const deficit = logs.find(
      (log): log is Deficit =>
        log.kind === 'deficit' && log.wallet === wallet && log.asset === debt.asset && !writtenOff.has(log),
    )
    const nets = [-debt.amount, -debt.amount - (deficit?.amount ?? 0n)]
    const change = takeChange({ wallet, asset: debt.asset, sides: DEBT, nets, before })
    if (change !== undefined) changes.set(liquidation, change)
    const isBoth =
      deficit !== undefined && isWithinRounding(change?.net ?? 0n, -debt.amount - deficit.amount, change?.indexRay)
    if (change !== undefined && isBoth) writtenOff.set(deficit, change)
    const { asset, amount } = liquidation.collateral
    const isTaken = (log: LendingLog): log is Transfer =>
      log.kind === 'transfer' && log.from === wallet && log.token.asset === asset && !seized.has(log)
    const moved = logs.findLast(
      (log, index): log is Transfer =>
        index < before &&
        isTaken(log) &&
        log.to === liquidator &&
        getPossibleAmounts(log).some((each) => isWithinRounding(each, amount, log.indexRay)),
    )
    const seizedLog = moved ?? takeChange({ wallet, asset, sides: SUPPLY, nets: [-amount], before })
    if (seizedLog === undefined) return
    collateral.set(liquidation, seizedLog)
    // The fee comes between the collateral and the Pool's log.
    for (const log of logs.slice(logs.indexOf(seizedLog), before)) if (isTaken(log)) seized.add(log)
  }

  logs.forEach((log, before) => {
    if (log.kind === 'liquidation') pairLiquidation(log, before)
    else if (log.kind === 'treasury') takeChange({ asset: log.asset, sides: SUPPLY, nets: [log.amount], before })
    else if (log.kind === 'supply' || log.kind === 'withdraw' || log.kind === 'borrow' || log.kind === 'repay') {
      const { kind, wallet, asset, amount, counterparty } = log
      const net = kind === 'supply' || kind === 'borrow' ? amount : -amount
      const sides = kind === 'supply' || kind === 'withdraw' ? SUPPLY : DEBT
      const change = takeChange({ wallet, asset, sides, nets: [net], before })
      if (change !== undefined) changes.set(log, change)
      if (log.isPaidFromSupply) takeChange({ wallet: counterparty, asset, sides: SUPPLY, nets: [-amount], before })
    }
  })
  // Each deficit besides that of the repaid debt has its own burn.
  for (const log of logs) {
    if (log.kind !== 'deficit' || writtenOff.has(log)) continue
    takeChange({ wallet: log.wallet, asset: log.asset, sides: DEBT, nets: [-log.amount], before: logs.length })
  }
  const isOrphan = (log: LendingLog) =>
    log.kind === 'change' && log.net !== 0n && !used.has(log) && isInScope(log.wallet)
  return { changes, collateral, seized, writtenOff, isWhole: isWhole && !logs.some(isOrphan) }
}

/** Amounts that a transfer may have moved, smallest units: its value is scaled by the index, except before 3.0.1. */
export function getPossibleAmounts({ value, indexRay }: Transfer): readonly bigint[] {
  return [(value * indexRay) / RAY, value]
}
