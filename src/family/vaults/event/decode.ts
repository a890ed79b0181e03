import type { Hex } from 'viem'
import {
  type DecodedRows,
  type HistoryLog,
  IncompleteError,
  type StreamTarget,
  toBlockRange,
} from '../../../history/stream.ts'
import { groupBy } from '../../../lib/group_by.ts'
import type { VaultFlow } from './flow.ts'
import { type AssetLog, NO_HOLDER, readLog, type ShareLog } from './log.ts'

/**
 * Decodes the logs of a vault: see `Stream.decode`. A deposit and the shares that it makes are one row, as a withdrawal and
 * those that it destroys. Shares that are made or destroyed without either leave their transaction unsettled: its receipt
 * shows whether a log is missing or the vault logs none, as of fees that it pays in shares. Throws `UpstreamError` for a
 * log without the shape of its event, `IncompleteError` with the check `shares` for a deposit or a withdrawal whose shares
 * the transaction does not move.
 */
export function decodeLogs(
  target: StreamTarget,
  logs: readonly HistoryLog[],
  {
    subjects,
    receipts,
  }: { readonly subjects: readonly Hex[] | null; readonly receipts: ReadonlyMap<Hex, readonly HistoryLog[]> },
): DecodedRows<VaultFlow> {
  const wallets = subjects === null ? undefined : new Set(subjects)
  const isFollowed = (wallet: Hex): boolean => wallet !== NO_HOLDER && wallets?.has(wallet) !== false
  const rows: VaultFlow[] = []
  const unsettled: Hex[] = []
  for (const [transaction, own] of groupBy(logs, ({ transactionHash }) => transactionHash)) {
    const receipt = receipts.get(transaction)
    const read = (receipt ?? own).flatMap((log) => readLog(target, log) ?? [])
    const assets = read.filter((each): each is AssetLog => each.kind !== 'transfer' && isFollowed(each.owner))
    const shares = read.filter((each): each is ShareLog => each.kind === 'transfer' && each.shares > 0n)
    const { unexplained, unpaid } = matchShares(assets, shares)
    const isOpen = unpaid !== undefined || unexplained.some((each) => isFollowed(findOnlyHolder(each) ?? NO_HOLDER))
    if (receipt === undefined && isOpen) unsettled.push(transaction)
    else if (unpaid !== undefined) throw new IncompleteError('shares', toBlockRange(unpaid.log))
    else rows.push(...assets.flatMap((each) => toAssetRow(target, each)), ...toShareRows(unexplained, isFollowed))
  }
  return { rows: rows.sort((a, b) => a.block - b.block || a.logIndex - b.logIndex), unsettled }
}

/** Pairs each deposit with shares that are made for its owner, each withdrawal with those of its owner that are destroyed. */
function matchShares(
  assets: readonly AssetLog[],
  shares: readonly ShareLog[],
): {
  /** Moves of shares that are part of neither. */
  readonly unexplained: readonly ShareLog[]
  /** A deposit or withdrawal without its shares. */
  readonly unpaid: AssetLog | undefined
} {
  const left = new Set(shares)
  const unpaid = assets.filter((each) => {
    if (each.shares === 0n) return false
    const [from, to] = each.kind === 'deposit' ? [NO_HOLDER, each.owner] : [each.owner, NO_HOLDER]
    const match = shares.find(
      (move) => left.has(move) && move.from === from && move.to === to && move.shares === each.shares,
    )
    return match === undefined || !left.delete(match)
  })
  return { unexplained: [...left], unpaid: unpaid[0] }
}

/** The holder of shares that are made or destroyed; undefined of those that go from one holder to another. */
function findOnlyHolder({ from, to }: ShareLog): Hex | undefined {
  return from === NO_HOLDER ? to : to === NO_HOLDER ? from : undefined
}

function toPlace({ blockNumber: block, logIndex, transactionHash, timestampSec }: HistoryLog) {
  return { block, logIndex, transactionHash, timestampSec }
}

function toAssetRow({ contract }: StreamTarget, read: AssetLog): VaultFlow | [] {
  const { kind, owner: wallet, counterparty, assets, shares, log } = read
  // A stranger can deposit nothing for a wallet.
  if (assets === 0n && shares === 0n) return []
  const isPenalty = kind === 'withdraw' && counterparty === contract
  return { wallet, kind: isPenalty ? 'penalty' : kind, assets, shares, counterparty, ...toPlace(log) }
}

function toShareRows(moves: readonly ShareLog[], isFollowed: (wallet: Hex) => boolean): VaultFlow[] {
  return moves
    .filter(({ from, to }) => from !== to)
    .flatMap(({ from, to, shares, log }) => {
      const moved = { shares, assets: undefined, ...toPlace(log) }
      return [
        ...(isFollowed(from) ? [{ ...moved, wallet: from, kind: 'send' as const, counterparty: to }] : []),
        ...(isFollowed(to) ? [{ ...moved, wallet: to, kind: 'receive' as const, counterparty: from }] : []),
      ]
    })
}
