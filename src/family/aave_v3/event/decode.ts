import type { Hex } from 'viem'
import { RAY } from '../../../finance/math/rate.ts'
import { toAddressTopic } from '../../../history/logs/event_table.ts'
import { type DecodedRows, type HistoryLog, IncompleteError, type LogFilter } from '../../../history/stream.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { LendingEvent } from '../../lending/lending_event.ts'
import { getMaxRounding, isIndexTracked, isWithinRounding, mayBeDiscounted } from './balance.ts'
import {
  type Action,
  type BalanceChange,
  type Deficit,
  type LendingLog,
  type LendingTarget,
  type Liquidation,
  readLog,
  TOPICS,
  type TokenSide,
  type Transfer,
} from './log.ts'

/** Filters for the logs of a market: see `Stream.filters`. */
export function createFilters(target: LendingTarget, subjects: readonly Hex[] | null): readonly LogFilter[] {
  const pool = target.contract.toLowerCase() as Hex
  const addresses = [pool, ...target.tokens.keys()]
  if (subjects === null) return [{ addresses, topics: [Object.values(TOPICS)] }]
  const wallets = subjects.map(toAddressTopic)
  const { supply, withdraw, borrow, repay, mint, burn, transfer, stableMint, stableBurn, deficit, liquidation } = TOPICS
  return [
    { addresses, topics: [[burn, transfer, stableBurn, deficit], wallets] },
    { addresses, topics: [[supply, withdraw, borrow, repay, mint, transfer, stableMint], null, wallets] },
    { addresses: [pool], topics: [[liquidation], null, null, wallets] },
  ]
}

/** Decodes the logs that these filters match: see `Stream.decode`. */
export function decodeLogs(
  target: LendingTarget,
  logs: readonly HistoryLog[],
  context: { readonly subjects: readonly Hex[] | null; readonly receipts: ReadonlyMap<Hex, readonly HistoryLog[]> },
): DecodedRows<LendingEvent> {
  const subjects = context.subjects === null ? null : new Set(context.subjects)
  const assets = new Set([...target.tokens.values()].map(({ asset }) => asset))
  const rows: LendingEvent[] = []
  const unsettled: Hex[] = []
  const parsedLogs: LendingLog[] = []
  for (const [hash, transaction] of groupBy(logs, ({ transactionHash }) => transactionHash)) {
    const receipt = context.receipts.get(hash)
    const parsed = (receipt ?? transaction).flatMap((log) => readLog(target, log) ?? [])
    const decoded = decodeTransaction(parsed, { subjects, isReceipt: receipt !== undefined, assets })
    parsedLogs.push(...parsed)
    if (decoded === undefined) unsettled.push(hash)
    else rows.push(...decoded)
  }
  // Once nothing is unsettled, the logs include those that only receipts have.
  if (unsettled.length === 0) checkReplay(parsedLogs, (wallet) => subjects === null || subjects.has(wallet))
  return { rows, unsettled }
}

/** Scope of the available logs of a transaction. */
interface LogScope {
  /** Wallets whose logs were requested; null: all. */
  readonly subjects: ReadonlySet<Hex> | null
  /** True if all logs of the transaction are here, as its receipt has them. */
  readonly isReceipt: boolean
  /** Assets whose tokens are known; dropped reserves are missing. */
  readonly assets: ReadonlySet<Hex>
}

/**
 * Rows of one transaction, in the order of its logs; undefined if its receipt is needed: a log of the Pool has no token
 * log or the reverse, or a wallet's aTokens went to, or came from, an account that may have withdrawn them for it.
 */
function decodeTransaction(logs: readonly LendingLog[], scope: LogScope): LendingEvent[] | undefined {
  const { subjects, isReceipt, assets } = scope
  const isInScope = (wallet: Hex): boolean => isReceipt || subjects === null || subjects.has(wallet)
  const pairing = pairLogs(logs, { isInScope, assets })
  if (!isReceipt && (!pairing.isWhole || mayHideOwner(logs, pairing, subjects))) return undefined
  const rows = toRows(logs, pairing)
  return subjects === null ? rows : rows.filter(({ wallet }) => subjects.has(wallet))
}

/** True if a transfer may hide the real owner of a withdrawal, or a withdrawal was made for another wallet. */
function mayHideOwner(logs: readonly LendingLog[], { seized }: Pairing, subjects: ReadonlySet<Hex> | null): boolean {
  if (subjects === null) return false
  return logs.some((log) => {
    if (log.kind !== 'transfer' || seized.has(log)) return false
    const { from, to, token } = log
    const isSpent = (each: LendingLog) => each.kind === 'withdraw' && each.wallet === to && each.asset === token.asset
    return subjects.has(from) || logs.some(isSpent)
  })
}

function toRows(logs: readonly LendingLog[], { changes, collateral, seized, writtenOff }: Pairing): LendingEvent[] {
  const shares = computeShares(logs, seized)
  const ownChanges = [...changes]
    .filter(([log]) => log.kind !== 'withdraw' || !shares.has(log))
    .map(([, change]) => change)
  // The rows of the Pool's logs already contain these.
  const shownLogs = new Set<BalanceChange | Transfer>([...ownChanges, ...collateral.values()])
  return logs.flatMap((log): LendingEvent[] => {
    switch (log.kind) {
      case 'liquidation': {
        const { wallet, liquidator: counterparty } = log
        return [
          toRow(log, { wallet, kind: 'liquidation', ...log.debt, counterparty, by: changes.get(log) }),
          toRow(log, { wallet, kind: 'liquidation', leg: 1, ...log.collateral, counterparty, by: collateral.get(log) }),
        ]
      }
      case 'transfer': {
        const { from, to, value: amount, token } = log
        const moved = { asset: token.asset, amount, by: log }
        const received = toRow(log, { wallet: to, leg: 1, kind: 'receive', counterparty: from, ...moved })
        return shownLogs.has(log)
          ? [received]
          : [toRow(log, { wallet: from, kind: 'send', counterparty: to, ...moved }), received]
      }
      case 'change': {
        if (log.net === 0n || shownLogs.has(log)) return []
        const { wallet, token, net } = log
        const kind = `${net < 0n ? 'lower' : 'raise'}_${token.side === 'supply' ? 'supply' : 'debt'}` as const
        return [
          toRow(log, {
            wallet,
            kind,
            asset: token.asset,
            amount: net < 0n ? -net : net,
            counterparty: wallet,
            by: log,
          }),
        ]
      }
      case 'deficit': {
        const by = writtenOff.get(log)
        const { wallet, asset, amount } = log
        return by === undefined
          ? []
          : [toRow(log, { wallet, kind: 'lower_debt', asset, amount, counterparty: wallet, by })]
      }
      case 'treasury':
      case 'update':
        return []
      default: {
        const { kind, asset, counterparty, wallet, amount } = log
        // A gateway's withdrawal is from its own balance; each owner gets a row with their share.
        const owners = shares.get(log)?.map((share) => toRow(log, { ...share, kind, asset, counterparty }))
        return owners ?? [toRow(log, { wallet, kind, asset, amount, counterparty, by: changes.get(log) })]
      }
    }
  })
}

/** Fields of a row besides the position of its log in the chain. `by`: the token's log, which has the index. */
interface RowFields extends Pick<LendingEvent, 'wallet' | 'kind' | 'asset' | 'amount' | 'counterparty'> {
  readonly leg?: 0 | 1
  readonly by?: BalanceChange | Transfer | undefined
}

function toRow({ log }: LendingLog, { by, leg = 0, ...facts }: RowFields): LendingEvent {
  const { blockNumber: block, logIndex, transactionHash, timestampSec } = log
  return { ...facts, market: null, leg, block, logIndex, transactionHash, timestampSec, indexRay: by?.indexRay ?? null }
}

/** A part of a withdrawal and the wallet whose supply it was. */
interface Share {
  readonly wallet: Hex
  readonly amount: bigint
}

/** aTokens that a contract received in this transaction, and the first wallet that sent them. */
interface Lot {
  readonly origin: Hex
  readonly transfer: Transfer
}

/**
 * Assigns each withdrawal of one transaction to the wallets whose supply it was, if not that of the withdrawing
 * contract: gateways and adapters take a wallet's aTokens and withdraw exactly these, also for several wallets in one
 * transaction. A withdrawal missing from the result belongs to the wallet in its log. `logs` hold every aToken transfer
 * of the transaction that is not part of a liquidation.
 */
function computeShares(
  logs: readonly LendingLog[],
  seized: ReadonlySet<Transfer>,
): ReadonlyMap<Action, readonly Share[]> {
  const lots = new Map<string, Lot[]>()
  const shares = new Map<Action, readonly Share[]>()
  const getLots = (asset: Hex, holder: Hex): Lot[] => {
    const key = `${asset}${holder}`
    const walletLots = lots.get(key) ?? []
    lots.set(key, walletLots)
    return walletLots
  }
  for (const log of logs) {
    if (log.kind === 'transfer' && !seized.has(log)) {
      const senderLots = getLots(log.token.asset, log.from)
      const passedOnIndex = senderLots.findLastIndex(({ transfer }) => isWithinRounding(transfer.value, log.value))
      const origin = passedOnIndex < 0 ? log.from : (senderLots.splice(passedOnIndex, 1)[0]?.origin ?? log.from)
      if (origin !== log.to) getLots(log.token.asset, log.to).push({ origin, transfer: log })
    } else if (log.kind === 'withdraw') {
      const claimed = claim(getLots(log.asset, log.wallet), log.amount)
      if (claimed.length > 0) shares.set(log, claimed)
    }
  }
  return shares
}

/** Removes the lots that make up the amount: the last one that equals it, else all of them if their sum does. */
function claim(lots: Lot[], amount: bigint): Share[] {
  const matchIndex = lots.findLastIndex(({ transfer }) =>
    getPossibleAmounts(transfer).some((each) => isWithinRounding(each, amount, transfer.indexRay)),
  )
  if (matchIndex >= 0) return lots.splice(matchIndex, 1).map(({ origin }) => ({ wallet: origin, amount }))
  const amounts = lots.map(({ transfer }) => getPossibleAmounts(transfer)[0] ?? 0n)
  const sum = amounts.reduce((total, each) => total + each, 0n)
  const [first] = lots
  // Each lot was rounded separately.
  if (first === undefined || !isWithinRounding(sum, amount, first.transfer.indexRay * BigInt(lots.length))) return []
  const byWallet = new Map<Hex, bigint>()
  let remaining = amount
  for (const [index, { origin }] of lots.entries()) {
    const part = index === lots.length - 1 ? remaining : (amounts[index] ?? 0n)
    byWallet.set(origin, (byWallet.get(origin) ?? 0n) + part)
    remaining -= part
  }
  lots.length = 0
  return [...byWallet].map(([wallet, each]) => ({ wallet, amount: each }))
}

/** Maximum number of assumptions about one balance; with more, all are dropped. */
const ASSUMPTIONS_MAX = 8

/** A possible balance after its last log. Bounds of the scaled balance; undefined: no upper bound. */
interface Assumption {
  readonly indexRay: bigint | undefined
  readonly min: bigint
  readonly max: bigint | undefined
}

/** Interest is the difference of two rounded balances. */
const INTEREST_SLACK = 2n
const UNKNOWN: Assumption = { indexRay: undefined, min: 0n, max: undefined }

/**
 * Checks that no log is missing between the logs of one balance: the interest in each log must be what the previous
 * balance earns while the index moves from that of the previous log. Needs no archive and no stored state; the initial
 * balance follows from the interest itself. `logs` are of any number of transactions, in order, and hold every token
 * log of the wallets `isInScope`. Throws `IncompleteError` with the check `state`. The check does not detect movements
 * that cancel out while the index is unchanged, or amounts of a few smallest units.
 */
function checkReplay(logs: readonly LendingLog[], isInScope: (wallet: Hex) => boolean): void {
  const balances = new Map<string, { readonly block: number; readonly assumptions: readonly Assumption[] }>()
  const replayLog = (
    log: BalanceChange | Transfer,
    wallet: Hex,
    next: (before: Assumption) => readonly Assumption[],
  ): void => {
    if (!isInScope(wallet)) return
    if (!isIndexTracked(log.token) || mayBeDiscounted(log.token.asset, log.log.timestampSec)) return
    const key = `${log.log.address}${wallet}`
    const before = balances.get(key)
    const assumptions = (before?.assumptions ?? [UNKNOWN]).flatMap(next)
    if (assumptions.length === 0) {
      throw new IncompleteError('state', {
        fromBlock: before?.block ?? log.log.blockNumber,
        toBlock: log.log.blockNumber,
      })
    }
    const followed = assumptions.length > ASSUMPTIONS_MAX ? [UNKNOWN] : assumptions
    balances.set(key, { block: log.log.blockNumber, assumptions: followed })
  }
  for (const log of logs) {
    if (log.kind === 'change') replayLog(log, log.wallet, (before) => applyChange(before, log))
    else if (log.kind === 'transfer' && log.from !== log.to) {
      replayLog(log, log.from, (before) => applyTransfer(before, log, -1n))
      replayLog(log, log.to, (before) => applyTransfer(before, log, 1n))
    }
  }
}

function applyChange(before: Assumption, { net, interest, indexRay }: BalanceChange): Assumption[] {
  if (indexRay === undefined) return [UNKNOWN]
  const earned = applyInterest(before, { interest, indexRay })
  // A log of interest alone moves nothing.
  if (earned === undefined || net === 0n) return earned === undefined ? [] : [earned]
  const slack = getMaxRounding(indexRay)
  return addRange(earned, [((net - slack) * RAY) / indexRay - 1n, ((net + slack) * RAY) / indexRay + 1n])
}

/**
 * Since 3.0.1 a transfer stores both balances' indexes, and its value is scaled. Earlier contracts stored no index, and
 * their value was not scaled. The logs do not show the version, so both are assumed.
 */
function applyTransfer(before: Assumption, { value, indexRay }: Transfer, sign: 1n | -1n): Assumption[] {
  const earned = applyInterest(before, { interest: 0n, indexRay })
  const written = earned === undefined ? [] : addRange(earned, [sign * value, sign * value])
  if (indexRay === before.indexRay || indexRay === RAY) return written
  const unscaled = (sign * value * RAY) / indexRay
  return [...written, ...addRange(before, [unscaled - 1n, unscaled + 1n])]
}

/** The balance after adding an amount within this range; empty if it would be negative. */
function addRange({ indexRay, min, max }: Assumption, [low, high]: readonly [bigint, bigint]): Assumption[] {
  if (max !== undefined && max + high < 0n) return []
  const newMin = min + low
  return [{ indexRay, min: newMin < 0n ? 0n : newMin, max: max === undefined ? undefined : max + high }]
}

/** The balance that earned this interest while the index moved; undefined if none can have. */
function applyInterest(
  { indexRay: from, min, max }: Assumption,
  { interest, indexRay }: { readonly interest: bigint; readonly indexRay: bigint },
): Assumption | undefined {
  // The first log of the balance in this range.
  if (from === undefined) return { indexRay, min, max }
  const grown = indexRay - from
  if (grown < 0n) return undefined
  if (grown === 0n) return interest > INTEREST_SLACK ? undefined : { indexRay, min, max }
  const lowest = ((interest - INTEREST_SLACK) * RAY) / grown
  const highest = ((interest + INTEREST_SLACK) * RAY) / grown + 1n
  const earned = {
    indexRay,
    min: lowest > min ? lowest : min,
    max: max === undefined || highest < max ? highest : max,
  }
  return earned.max < earned.min ? undefined : earned
}

/** The pairs among the logs of one transaction. */
interface Pairing {
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
function pairLogs(
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
function getPossibleAmounts({ value, indexRay }: Transfer): readonly bigint[] {
  return [(value * indexRay) / RAY, value]
}
