import type { Address, Hex } from 'viem'
import { createEventTable, createLogFieldReader, toAddressTopic } from '../../../history/logs/event_table.ts'
import type { HistoryLog, LogFilter, StreamTarget } from '../../../history/stream.ts'

/** A spoke whose events are indexed; `contract` is the spoke. */
export interface SpokeTarget extends StreamTarget {
  /** Tokens of its reserves by their ids, lower case. A reserve is never removed, and never changes its token. */
  readonly assets: readonly Hex[]
}

/**
 * Events of a spoke that change what it stores of a wallet. Managers of positions log mirrors of them, which never count.
 * Source: `ISpokeV4_ABI` of `@aave-dao/aave-address-book` 4.68.1.
 */
const SPOKE_EVENTS = createEventTable({
  supply: 'Supply(uint256 indexed, address indexed, address indexed, uint256, uint256)',
  withdraw: 'Withdraw(uint256 indexed, address indexed, address indexed, uint256, uint256)',
  borrow: 'Borrow(uint256 indexed, address indexed, address indexed, uint256, uint256)',
  repay: 'Repay(uint256 indexed, address indexed, address indexed, uint256, uint256, (int256, int256, uint256))',
  liquidation:
    'LiquidationCall(uint256 indexed, uint256 indexed, address indexed, address, bool, uint256, uint256, ' +
    '(int256, int256, uint256), uint256, uint256, uint256)',
  deficit: 'ReportDeficit(uint256 indexed, address indexed, uint256, (int256, int256, uint256))',
  refresh: 'RefreshPremiumDebt(uint256 indexed, address indexed, (int256, int256, uint256))',
})

/** Filters for the logs of a spoke: see `Stream.filters`. */
export function createFilters(
  { contract }: Pick<StreamTarget, 'contract'>,
  subjects: readonly Hex[] | null,
): readonly LogFilter[] {
  const addresses = [contract]
  if (subjects === null) return [{ addresses, topics: [Object.values(SPOKE_EVENTS.topics)] }]
  const wallets = subjects.map(toAddressTopic)
  const { supply, withdraw, borrow, repay, deficit, refresh, liquidation } = SPOKE_EVENTS.topics
  return [
    { addresses, topics: [[supply, withdraw, borrow, repay], null, null, wallets] },
    { addresses, topics: [[deficit, refresh], null, wallets] },
    // The liquidator, who may be paid in shares, is in no topic.
    { addresses, topics: [[liquidation]] },
  ]
}

/** Changes of the premium of a debt: shares, and what is taken off their value, ray. */
export interface PremiumChange {
  readonly shares: bigint
  readonly offsetRay: bigint
}

interface ReserveLog<Kind extends string> {
  readonly kind: Kind
  readonly log: HistoryLog
  readonly reserveId: number
  readonly wallet: Hex
}

/** A wallet supplies, withdraws, borrows or repays. */
interface SpokeAction extends ReserveLog<'supply' | 'withdraw' | 'borrow' | 'repay'> {
  /** Payer of a supply or repayment, receiver of a withdrawal or borrow. */
  readonly counterparty: Hex
  readonly amount: bigint
  /** Supplied or drawn ones. */
  readonly shares: bigint
  /** Of a repayment. */
  readonly premium?: PremiumChange
}

/** A liquidator repays a wallet's debt and takes collateral; `reserveId` is that of the debt. */
export interface SpokeLiquidation extends ReserveLog<'liquidation'> {
  readonly liquidator: Hex
  readonly repaid: bigint
  readonly drawnShares: bigint
  readonly premium: PremiumChange
  readonly collateralId: number
  readonly seized: bigint
  readonly seizedShares: bigint
  /** Above zero if the liquidator is paid in shares. */
  readonly liquidatorShares: bigint
}

/** A debt is written off, or its premium is set anew. */
interface DebtUpdate extends ReserveLog<'deficit' | 'refresh'> {
  readonly drawnShares: bigint
  readonly premium: PremiumChange
}

/** A log of a spoke that history uses. */
export type SpokeLog = SpokeAction | SpokeLiquidation | DebtUpdate

/**
 * Decodes a log of a spoke; undefined for another event, or for another contract. Throws `UpstreamError` if the log has
 * the topic of an event, but not its shape.
 */
export function readLog({ contract }: Pick<StreamTarget, 'contract'>, log: HistoryLog): SpokeLog | undefined {
  const kind = log.address === contract ? SPOKE_EVENTS.findName(log) : undefined
  if (kind === undefined) return undefined
  const { address, dataAddress, word } = createLogFieldReader(log)
  const readId = (index: number) => Number(log.topics[index])
  const readPremium = (index: number): PremiumChange => ({
    shares: BigInt.asIntN(256, word(index)),
    offsetRay: BigInt.asIntN(256, word(index + 1)),
  })
  switch (kind) {
    case 'liquidation':
      return {
        kind,
        log,
        reserveId: readId(2),
        wallet: address(3),
        liquidator: dataAddress(0),
        repaid: word(2),
        drawnShares: word(3),
        premium: readPremium(4),
        collateralId: readId(1),
        seized: word(7),
        seizedShares: word(8),
        liquidatorShares: word(1) === 0n ? 0n : word(9),
      }
    case 'deficit':
      return {
        kind,
        log,
        reserveId: readId(1),
        wallet: address(2),
        drawnShares: word(0),
        premium: readPremium(1),
      }
    case 'refresh':
      return { kind, log, reserveId: readId(1), wallet: address(2), drawnShares: 0n, premium: readPremium(0) }
    default:
      return {
        kind,
        log,
        reserveId: readId(1),
        wallet: address(3),
        counterparty: address(2),
        shares: word(0),
        amount: word(1),
        ...(kind === 'repay' && { premium: readPremium(2) }),
      }
  }
}

/** A reserve as rows of the history name it: its id in 8 bytes. */
export function toReserveKey(reserveId: number): Hex {
  return `0x${reserveId.toString(16).padStart(16, '0')}`
}

/** The id of a reserve, from its name in rows. */
export function fromReserveKey(key: Hex): number {
  return Number(key)
}

/** The stream target of a spoke. */
export function toSpokeTarget(
  chainId: number,
  { address, startBlock }: { readonly address: Address; readonly startBlock: number },
  assets: readonly Hex[],
): SpokeTarget {
  return { chainId, contract: address.toLowerCase() as Hex, startBlock, assets }
}
