import type { Hex } from 'viem'
import type { Action, LendingLog, Transfer } from './log.ts'
import { getPossibleAmounts } from './pair.ts'
import { isWithinRounding } from './rounding.ts'

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
export function computeShares(
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
