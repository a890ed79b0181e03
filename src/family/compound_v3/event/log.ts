import { type Hex, zeroAddress } from 'viem'
import { createEventTable, createLogFieldReader, toAddressTopic } from '../../../history/logs/event_table.ts'
import type { HistoryLog, LogFilter, StreamTarget } from '../../../history/stream.ts'

/** A market whose events are indexed; `contract` is the Comet. Addresses are lower case. */
export interface CometTarget extends StreamTarget {
  readonly base: Hex
  readonly collaterals: readonly Hex[]
}

/**
 * Events of a Comet that name an account. They are not all that happens to one: a transfer of base between accounts that
 * owe it logs nothing. Source: `CometMainInterface` of Compound V3.
 */
const COMET_EVENTS = createEventTable({
  supply: 'Supply(address indexed, address indexed, uint256)',
  withdraw: 'Withdraw(address indexed, address indexed, uint256)',
  transfer: 'Transfer(address indexed, address indexed, uint256)',
  supplyCollateral: 'SupplyCollateral(address indexed, address indexed, address indexed, uint256)',
  withdrawCollateral: 'WithdrawCollateral(address indexed, address indexed, address indexed, uint256)',
  transferCollateral: 'TransferCollateral(address indexed, address indexed, address indexed, uint256)',
  absorbDebt: 'AbsorbDebt(address indexed, address indexed, uint256, uint256)',
  absorbCollateral: 'AbsorbCollateral(address indexed, address indexed, address indexed, uint256, uint256)',
})

/** Filters for the logs of a market: see `Stream.filters`. */
export function createFilters(
  { contract }: Pick<StreamTarget, 'contract'>,
  subjects: readonly Hex[] | null,
): readonly LogFilter[] {
  const addresses = [contract]
  const { topics } = COMET_EVENTS
  if (subjects === null) return [{ addresses, topics: [Object.values(topics)] }]
  const wallets = subjects.map(toAddressTopic)
  const { withdraw, transfer, withdrawCollateral, transferCollateral } = topics
  const { supply, supplyCollateral, absorbDebt, absorbCollateral } = topics
  return [
    { addresses, topics: [[withdraw, transfer, withdrawCollateral, transferCollateral], wallets] },
    {
      addresses,
      topics: [[supply, transfer, supplyCollateral, transferCollateral, absorbDebt, absorbCollateral], null, wallets],
    },
  ]
}

interface CometLogFields<Kind extends string> {
  readonly kind: Kind
  readonly log: HistoryLog
  readonly amount: bigint
}

/** A wallet's base or collateral comes in or goes out, or is taken by an absorption. */
export interface AccountLog
  extends CometLogFields<
    'supply' | 'withdraw' | 'supplyCollateral' | 'withdrawCollateral' | 'absorbDebt' | 'absorbCollateral'
  > {
  readonly wallet: Hex
  /** Payer, receiver, or absorber. */
  readonly counterparty: Hex
  /** Absent: base. */
  readonly asset?: Hex
}

/** What was supplied goes from one account to another; in base, one of them is the zero address. */
export interface TransferLog extends CometLogFields<'transfer' | 'transferCollateral'> {
  readonly from: Hex
  readonly to: Hex
  /** Absent: base. */
  readonly asset?: Hex
}

/**
 * Decodes a log of a market; undefined for another event, or for another contract. Throws `UpstreamError` if the log has
 * the topic of an event, but not its shape.
 */
export function readLog(
  { contract }: Pick<StreamTarget, 'contract'>,
  log: HistoryLog,
): AccountLog | TransferLog | undefined {
  const kind = log.address === contract ? COMET_EVENTS.findName(log) : undefined
  if (kind === undefined) return undefined
  const { address, word } = createLogFieldReader(log)
  const [first, second, amount] = [address(1), address(2), word(0)]
  switch (kind) {
    case 'transfer':
      return { kind, log, from: first, to: second, amount }
    case 'transferCollateral':
      return { kind, log, from: first, to: second, asset: address(3), amount }
    case 'withdraw':
      return { kind, log, wallet: first, counterparty: second, amount }
    case 'withdrawCollateral':
      return { kind, log, wallet: first, counterparty: second, asset: address(3), amount }
    case 'supply':
    case 'absorbDebt':
      return { kind, log, wallet: second, counterparty: first, amount }
    case 'supplyCollateral':
    case 'absorbCollateral':
      return { kind, log, wallet: second, counterparty: first, asset: address(3), amount }
  }
}

/** True if a log may have changed the base balance of a wallet. */
export function isBaseLog(target: StreamTarget, log: HistoryLog, wallet: Hex): boolean {
  const read = readLog(target, log)
  if (read === undefined || read.asset !== undefined) return false
  return 'wallet' in read ? read.wallet === wallet : read.from === wallet || read.to === wallet
}

/** Stands for no account in transfers of base. */
export const NO_ACCOUNT: Hex = zeroAddress
