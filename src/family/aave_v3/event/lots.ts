import type { Hex } from 'viem'
import type { Action, LendingLog, Transfer } from './log.ts'
import { getPossibleAmounts } from './pair.ts'
import { isWithinRounding } from './rounding.ts'

/** A part of a withdrawal and whose supply it was. */
interface Share {
  readonly wallet: Hex
  readonly amount: bigint
}

/** aTokens that came to a contract in this transaction, and from whom they came first. */
interface Lot {
  readonly origin: Hex
  readonly transfer: Transfer
}

/**
 * Whose supply each withdrawal of one transaction was, if not that of the contract that withdrew: gateways and adapters
 * take a wallet's aTokens and withdraw exactly them. Of two wallets in one transaction each gets its own. Withdrawals
 * that are not listed are those of the wallet that they name. `logs` hold every aToken transfer of the transaction that
 * is not part of a liquidation.
 */
export function computeShares(
  logs: readonly LendingLog[],
  seized: ReadonlySet<Transfer>,
): ReadonlyMap<Action, readonly Share[]> {
  const lots = new Map<string, Lot[]>()
  const shares = new Map<Action, readonly Share[]>()
  const at = (asset: Hex, holder: Hex): Lot[] => {
    const key = `${asset}${holder}`
    const held = lots.get(key) ?? []
    lots.set(key, held)
    return held
  }
  for (const log of logs) {
    if (log.kind === 'transfer' && !seized.has(log)) {
      const held = at(log.token.asset, log.from)
      const passedOn = held.findLastIndex(({ transfer }) => isWithinRounding(transfer.value, log.value))
      const origin = passedOn < 0 ? log.from : (held.splice(passedOn, 1)[0]?.origin ?? log.from)
      if (origin !== log.to) at(log.token.asset, log.to).push({ origin, transfer: log })
    } else if (log.kind === 'withdraw') {
      const found = claim(at(log.asset, log.wallet), log.amount)
      if (found.length > 0) shares.set(log, found)
    }
  }
  return shares
}

/** Takes from the lots those that the amount consists of: the last one that equals it, else all of them together. */
function claim(held: Lot[], amount: bigint): Share[] {
  const one = held.findLastIndex(({ transfer }) =>
    getPossibleAmounts(transfer).some((each) => isWithinRounding(each, amount, transfer.indexRay)),
  )
  if (one >= 0) return held.splice(one, 1).map(({ origin }) => ({ wallet: origin, amount }))
  const amounts = held.map(({ transfer }) => getPossibleAmounts(transfer)[0] ?? 0n)
  const sum = amounts.reduce((total, each) => total + each, 0n)
  const [first] = held
  // Each lot was rounded by itself.
  if (first === undefined || !isWithinRounding(sum, amount, first.transfer.indexRay * BigInt(held.length))) return []
  const byWallet = new Map<Hex, bigint>()
  let rest = amount
  for (const [index, { origin }] of held.entries()) {
    const part = index === held.length - 1 ? rest : (amounts[index] ?? 0n)
    byWallet.set(origin, (byWallet.get(origin) ?? 0n) + part)
    rest -= part
  }
  held.length = 0
  return [...byWallet].map(([wallet, each]) => ({ wallet, amount: each }))
}
