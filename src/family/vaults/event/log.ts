import { type Hex, zeroAddress } from 'viem'
import { createEventTable, createLogFieldReader, toAddressTopic } from '../../../history/logs/event_table.ts'
import type { HistoryLog, LogFilter, StreamTarget } from '../../../history/stream.ts'

/** The other side of shares that are made or destroyed. */
export const NO_HOLDER: Hex = zeroAddress

/** Events of a vault that name the owner of shares. Source: ERC-4626 and ERC-20. */
const VAULT_EVENTS = createEventTable({
  deposit: 'Deposit(address indexed, address indexed, uint256, uint256)',
  withdraw: 'Withdraw(address indexed, address indexed, address indexed, uint256, uint256)',
  transfer: 'Transfer(address indexed, address indexed, uint256)',
})

/** Filters for the logs of a vault: see `Stream.filters`. */
export function createFilters({ contract }: StreamTarget, subjects: readonly Hex[] | null): readonly LogFilter[] {
  const addresses = [contract]
  const { deposit, withdraw, transfer } = VAULT_EVENTS.topics
  if (subjects === null) return [{ addresses, topics: [[deposit, withdraw, transfer]] }]
  const wallets = subjects.map(toAddressTopic)
  return [
    { addresses, topics: [[transfer], wallets] },
    { addresses, topics: [[transfer, deposit], null, wallets] },
    { addresses, topics: [[withdraw], null, null, wallets] },
  ]
}

/** Assets come in or go out for shares of an owner. */
export interface AssetLog {
  readonly kind: 'deposit' | 'withdraw'
  readonly log: HistoryLog
  readonly owner: Hex
  /** Payer of a deposit, receiver of a withdrawal. */
  readonly counterparty: Hex
  readonly assets: bigint
  readonly shares: bigint
}

/** Shares go from one holder to another; `NO_HOLDER` is one side of those that are made or destroyed. */
export interface ShareLog {
  readonly kind: 'transfer'
  readonly log: HistoryLog
  readonly from: Hex
  readonly to: Hex
  readonly shares: bigint
}

/**
 * Decodes a log of a vault; undefined for another event, or for another contract. Throws `UpstreamError` if the log has
 * the topic of an event, but not its shape.
 */
export function readLog({ contract }: StreamTarget, log: HistoryLog): AssetLog | ShareLog | undefined {
  const kind = log.address === contract ? VAULT_EVENTS.findName(log) : undefined
  if (kind === undefined) return undefined
  const { address, word } = createLogFieldReader(log)
  if (kind === 'transfer') return { kind, log, from: address(1), to: address(2), shares: word(0) }
  const [owner, counterparty] = kind === 'deposit' ? [address(2), address(1)] : [address(3), address(2)]
  return { kind, log, owner, counterparty, assets: word(0), shares: word(1) }
}
