import type { Hex } from 'viem'
import type { LendingEvent } from '../../../finance/lending/lending_event.ts'
import type { BalanceChange, LendingLog, Transfer } from './log.ts'
import { computeShares } from './lots.ts'
import { type Pairing, pairLogs } from './pair.ts'

/** Which logs of a transaction are at hand. */
interface LogScope {
  /** Wallets whose logs were asked for; null: everybody's. */
  readonly subjects: ReadonlySet<Hex> | null
  /** True if all logs of the transaction are here, as its receipt has them. */
  readonly isReceipt: boolean
  /** Assets whose tokens are known; reserves that were dropped are not among them. */
  readonly assets: ReadonlySet<Hex>
}

/**
 * Rows of one transaction, in the order of its logs; undefined if its receipt is needed: because a log of the Pool has
 * no token's log or the reverse, or because a wallet's aTokens went to, or came from, someone who may have withdrawn
 * them for it.
 */
export function decodeTransaction(logs: readonly LendingLog[], sight: LogScope): LendingEvent[] | undefined {
  const { subjects, isReceipt, assets } = sight
  const isInScope = (wallet: Hex): boolean => isReceipt || subjects === null || subjects.has(wallet)
  const pairing = pairLogs(logs, { isInScope, assets })
  if (!isReceipt && (!pairing.isWhole || mayHideOwner(logs, pairing, subjects))) return undefined
  const rows = rowsOf(logs, pairing)
  return subjects === null ? rows : rows.filter(({ wallet }) => subjects.has(wallet))
}

/** True if a wallet's transfer may have been its way of withdrawing, or its withdrawal somebody else's. */
function mayHideOwner(logs: readonly LendingLog[], { seized }: Pairing, subjects: ReadonlySet<Hex> | null): boolean {
  if (subjects === null) return false
  return logs.some((log) => {
    if (log.kind !== 'transfer' || seized.has(log)) return false
    const { from, to, token } = log
    const isSpent = (each: LendingLog) => each.kind === 'withdraw' && each.wallet === to && each.asset === token.asset
    return subjects.has(from) || logs.some(isSpent)
  })
}

function rowsOf(logs: readonly LendingLog[], { changes, collateral, seized, writtenOff }: Pairing): LendingEvent[] {
  const shares = computeShares(logs, seized)
  const own = [...changes].filter(([log]) => log.kind !== 'withdraw' || !shares.has(log)).map(([, change]) => change)
  // What these say is said by the rows of the Pool's logs.
  const shown = new Set<BalanceChange | Transfer>([...own, ...collateral.values()])
  return logs.flatMap((log): LendingEvent[] => {
    switch (log.kind) {
      case 'liquidation': {
        const { wallet, liquidator: counterparty } = log
        return [
          row(log, { wallet, kind: 'liquidation', ...log.debt, counterparty, by: changes.get(log) }),
          row(log, { wallet, kind: 'liquidation', leg: 1, ...log.collateral, counterparty, by: collateral.get(log) }),
        ]
      }
      case 'transfer': {
        const { from, to, value: amount, token } = log
        const moved = { asset: token.asset, amount, by: log }
        const received = row(log, { wallet: to, leg: 1, kind: 'receive', counterparty: from, ...moved })
        return shown.has(log)
          ? [received]
          : [row(log, { wallet: from, kind: 'send', counterparty: to, ...moved }), received]
      }
      case 'change': {
        if (log.net === 0n || shown.has(log)) return []
        const { wallet, token, net } = log
        const kind = `${net < 0n ? 'lower' : 'raise'}_${token.side === 'supply' ? 'supply' : 'debt'}` as const
        return [
          row(log, { wallet, kind, asset: token.asset, amount: net < 0n ? -net : net, counterparty: wallet, by: log }),
        ]
      }
      case 'deficit': {
        const by = writtenOff.get(log)
        const { wallet, asset, amount } = log
        return by === undefined
          ? []
          : [row(log, { wallet, kind: 'lower_debt', asset, amount, counterparty: wallet, by })]
      }
      case 'treasury':
      case 'update':
        return []
      default: {
        const { kind, asset, counterparty, wallet, amount } = log
        // What a gateway withdraws leaves its own balance, which has a row of its own.
        const owners = shares.get(log)?.map((share) => row(log, { ...share, kind, asset, counterparty }))
        return owners ?? [row(log, { wallet, kind, asset, amount, counterparty, by: changes.get(log) })]
      }
    }
  })
}

/** What a row does not take from its log's place in the chain. `by`: the log of the token, which tells the index. */
interface RowFields extends Pick<LendingEvent, 'wallet' | 'kind' | 'asset' | 'amount' | 'counterparty'> {
  readonly leg?: 0 | 1
  readonly by?: BalanceChange | Transfer | undefined
}

function row({ log }: LendingLog, { by, leg = 0, ...facts }: RowFields): LendingEvent {
  const { blockNumber: block, logIndex, transactionHash, timestampSec } = log
  return { ...facts, market: null, leg, block, logIndex, transactionHash, timestampSec, indexRay: by?.indexRay ?? null }
}
