import type { Hex } from 'viem'
import type { LendingEvent } from '../../lending/lending_event.ts'
import type { BalanceChange, LendingLog, Transfer } from './log.ts'
import { computeShares } from './lots.ts'
import { type Pairing, pairLogs } from './pair.ts'

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
export function decodeTransaction(logs: readonly LendingLog[], scope: LogScope): LendingEvent[] | undefined {
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
