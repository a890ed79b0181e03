import type { Hex } from 'viem'
import type { DecodedRows, HistoryLog } from '../../../history/stream.ts'
import type { LendingEvent } from '../../lending/lending_event.ts'
import { type AccountLog, type CometTarget, NO_ACCOUNT, readLog, type TransferLog } from './log.ts'

/**
 * Most units of base by which the supplied part that a log tells may be less than what came in, by rounding to principal
 * and back: two, and one for each whole of the index, which no market will double.
 */
const ROUNDING_MAX = 3n

/**
 * Decodes the logs of a market: see `Stream.decode`. A supply that repays a debt first, and a withdrawal that borrows the
 * rest, are two rows: what each added to or took from the supplied balance is logged right behind it as a transfer from
 * or to no account. Throws `UpstreamError` for a log without the shape of its event.
 */
export function decodeLogs(
  target: EventSource,
  logs: readonly HistoryLog[],
  { subjects }: { readonly subjects: readonly Hex[] | null },
): DecodedRows<LendingEvent> {
  const wallets = subjects === null ? undefined : new Set(subjects)
  const read = logs.flatMap((log) => readLog(target, log) ?? [])
  const rows: LendingEvent[] = []
  for (let index = 0; index < read.length; index++) {
    const each = read[index]
    if (each === undefined) continue
    if (!('wallet' in each)) {
      rows.push(...toTransferRows(target, each))
      continue
    }
    const part = findPart(each, read[index + 1])
    if (part !== undefined) index++
    rows.push(...toAccountRows(target, each, part))
  }
  return { rows: wallets === undefined ? rows : rows.filter(({ wallet }) => wallets.has(wallet)), unsettled: [] }
}

/** The market that logs are of, and the token that rows without another name. */
type EventSource = Pick<CometTarget, 'contract' | 'base'>

type CometLog = AccountLog | TransferLog

/** The transfer right behind a log that tells what it added to the wallet's supplied balance, or took from it. */
function findPart({ kind, wallet, log }: AccountLog, next: CometLog | undefined): TransferLog | undefined {
  if (next?.kind !== 'transfer' || next.log.blockNumber !== log.blockNumber) return undefined
  if (next.log.logIndex !== log.logIndex + 1) return undefined
  if (kind === 'withdraw') return next.from === wallet && next.to === NO_ACCOUNT ? next : undefined
  if (kind !== 'supply' && kind !== 'absorbDebt') return undefined
  return next.from === NO_ACCOUNT && next.to === wallet ? next : undefined
}

/** Fields of a row besides the place of its log. */
type Change = Pick<LendingEvent, 'wallet' | 'kind' | 'amount' | 'counterparty'> & {
  readonly leg?: 0 | 1
  readonly asset?: Hex | undefined
}

function toRow({ base }: EventSource, { log }: CometLog, { leg = 0, asset = base, ...change }: Change): LendingEvent {
  const { blockNumber: block, logIndex, transactionHash, timestampSec } = log
  return { ...change, leg, asset, market: null, block, logIndex, transactionHash, timestampSec, indexRay: null }
}

function toTransferRows(target: EventSource, read: TransferLog): readonly LendingEvent[] {
  const { from, to, amount, asset } = read
  const moved = { amount, asset }
  return [
    ...(from === NO_ACCOUNT ? [] : [toRow(target, read, { wallet: from, kind: 'send', counterparty: to, ...moved })]),
    ...(to === NO_ACCOUNT
      ? []
      : [toRow(target, read, { wallet: to, leg: 1, kind: 'receive', counterparty: from, ...moved })]),
  ]
}

function toAccountRows(target: EventSource, read: AccountLog, part: TransferLog | undefined): readonly LendingEvent[] {
  const { wallet, counterparty, amount, asset } = read
  const place = { wallet, counterparty }
  const supplied = part?.amount ?? 0n
  switch (read.kind) {
    case 'supplyCollateral':
      return [toRow(target, read, { ...place, kind: 'supply', amount, asset })]
    case 'withdrawCollateral':
      return [toRow(target, read, { ...place, kind: 'withdraw', amount, asset })]
    case 'absorbCollateral':
      return [toRow(target, read, { ...place, kind: 'liquidation', leg: 1, amount, asset })]
    case 'absorbDebt':
      return [
        toRow(target, read, { ...place, kind: 'liquidation', amount: amount - supplied }),
        ...(part === undefined ? [] : [toRow(target, part, { ...place, kind: 'raise_supply', amount: supplied })]),
      ]
    case 'supply':
      if (part === undefined) return [toRow(target, read, { ...place, kind: 'repay', amount })]
      if (amount - supplied <= ROUNDING_MAX) return [toRow(target, read, { ...place, kind: 'supply', amount })]
      return [
        toRow(target, read, { ...place, kind: 'repay', amount: amount - supplied }),
        toRow(target, part, { ...place, kind: 'supply', amount: supplied }),
      ]
    case 'withdraw':
      if (part === undefined) return [toRow(target, read, { ...place, kind: 'borrow', amount })]
      if (supplied >= amount) return [toRow(target, read, { ...place, kind: 'withdraw', amount })]
      return [
        toRow(target, read, { ...place, kind: 'borrow', amount: amount - supplied }),
        toRow(target, part, { ...place, kind: 'withdraw', amount: supplied }),
      ]
  }
}
