import type { Hex } from 'viem'
import { createLogFieldReader, toAddressTopic } from '../../../history/logs/event_table.ts'
import type { HistoryLog, LogFilter, StreamTarget } from '../../../history/stream.ts'
import { MIDNIGHT_EVENTS } from './log.ts'

/**
 * How a log changes a position. Who buys pays debt back with the units, and has the rest as credit; who sells gives
 * credit, and owes the rest.
 */
export const CHANGE_KINDS = [
  'buy',
  'sell',
  'lower_debt',
  'lower_credit',
  'raise_fee',
  'lower_fee',
  'raise_collateral',
  'lower_collateral',
] as const

export type ChangeKind = (typeof CHANGE_KINDS)[number]

/** One change of a wallet's position in a market. Addresses, ids and hashes are lower case. */
export interface PositionChange {
  readonly wallet: Hex
  readonly market: Hex
  readonly block: number
  readonly logIndex: number
  /** Tells changes of one log apart. */
  readonly leg: number
  readonly kind: ChangeKind
  /** The collateral; of credit, debt and fees the contract itself, because logs do not name the loan token. */
  readonly asset: Hex
  /** Above zero: raw units. */
  readonly amount: bigint
  readonly transactionHash: Hex
}

/** Filters for every log that changes a position of these wallets: see `Stream.filters`. */
export function createChangeFilters({ contract }: StreamTarget, subjects: readonly Hex[] | null): readonly LogFilter[] {
  const addresses = [contract]
  const { take, supplyCollateral, withdrawCollateral, repay, withdraw, liquidate, updatePosition } =
    MIDNIGHT_EVENTS.topics
  if (subjects === null) return [{ addresses, topics: [Object.values(MIDNIGHT_EVENTS.topics)] }]
  const wallets = subjects.map(toAddressTopic)
  return [
    { addresses, topics: [[take, supplyCollateral, withdrawCollateral, repay, liquidate], null, null, wallets] },
    { addresses, topics: [[take, withdraw, updatePosition], null, wallets] },
  ]
}

/**
 * Decodes logs to the changes of all wallets that they name, in their order. What changes nothing is left out:
 * any wallet may take nothing of an offer, or update a position. Throws `UpstreamError` as `decodeEntries`.
 */
export function decodeChanges({ contract }: StreamTarget, logs: readonly HistoryLog[]): PositionChange[] {
  return logs.flatMap((log) => {
    if (log.address !== contract) return []
    const { blockNumber: block, logIndex, transactionHash } = log
    return toEffects(log)
      .map(({ asset = contract, ...effect }, leg) => ({ ...effect, asset, leg, block, logIndex, transactionHash }))
      .filter(({ amount }) => amount > 0n)
  })
}

interface Effect extends Pick<PositionChange, 'wallet' | 'market' | 'kind' | 'amount'> {
  readonly asset?: Hex
}

function toEffects(log: HistoryLog): readonly Effect[] {
  const name = MIDNIGHT_EVENTS.findName(log)
  if (name === undefined) return []
  const { address, word } = createLogFieldReader(log)
  const topic = (index: number): Hex => log.topics[index] ?? '0x'
  const lower = { kind: 'lower_fee' } as const
  switch (name) {
    case 'take': {
      const market = topic(1)
      const [maker, taker] = [address(2), address(3)]
      const isOfferToBuy = word(2) === 1n
      const [buyer, seller] = isOfferToBuy ? [maker, taker] : [taker, maker]
      const units = word(6)
      return [
        { wallet: buyer, market, kind: 'buy', amount: units },
        { wallet: buyer, market, kind: 'raise_fee', amount: word(10) },
        { wallet: seller, market, kind: 'sell', amount: units },
        { wallet: seller, market, ...lower, amount: word(11) },
      ]
    }
    case 'supplyCollateral':
    case 'withdrawCollateral': {
      const kind = name === 'supplyCollateral' ? 'raise_collateral' : 'lower_collateral'
      return [{ wallet: address(3), market: topic(1), kind, amount: word(1), asset: address(2) }]
    }
    case 'repay':
      return [{ wallet: address(3), market: topic(2), kind: 'lower_debt', amount: word(0) }]
    case 'withdraw': {
      const at = { wallet: address(2), market: topic(1) }
      return [
        { ...at, kind: 'lower_credit', amount: word(1) },
        { ...at, ...lower, amount: word(2) },
      ]
    }
    case 'liquidate': {
      const at = { wallet: address(3), market: topic(1) }
      const [seized, repaid, written] = [word(1), word(2), word(6)]
      return [
        { ...at, kind: 'lower_debt', amount: repaid + written },
        { ...at, kind: 'lower_collateral', amount: seized, asset: address(2) },
      ]
    }
    case 'updatePosition': {
      const at = { wallet: address(2), market: topic(1) }
      return [
        { ...at, kind: 'lower_credit', amount: word(0) },
        { ...at, ...lower, amount: word(1) },
      ]
    }
  }
}
