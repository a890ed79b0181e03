import type { Hex } from 'viem'
import { createEventTable, createLogFieldReader } from '../../../history/logs/event_table.ts'
import type { HistoryLog, StreamTarget } from '../../../history/stream.ts'

/** The side of a reserve that a token represents. */
export type TokenSide = 'supply' | 'variable_debt' | 'stable_debt'

/** A token of a reserve; addresses in lower case. */
export interface ReserveToken {
  /** The reserve's asset. */
  readonly asset: Hex
  readonly side: TokenSide
}

/** A market whose events are indexed; `contract` is the Pool. */
export interface LendingTarget extends StreamTarget {
  /** Tokens of its reserves, by address in lower case. */
  readonly tokens: ReadonlyMap<Hex, ReserveToken>
}

/**
 * Events of the Pool, the aToken and the debt tokens, from 3.0 to 3.6. Stable debt ended with 3.2, deficits began with
 * 3.3; the other events never changed. Source: `IPool`, `IScaledBalanceToken`, `IAToken` and `IStableDebtToken` of
 * `@aave-dao/aave-v3-origin` 3.6.0 and `@aave/core-v3` 1.19.3.
 */
const SIGNATURES = {
  supply: 'Supply(address indexed, address, address indexed, uint256, uint16 indexed)',
  withdraw: 'Withdraw(address indexed, address indexed, address indexed, uint256)',
  borrow: 'Borrow(address indexed, address, address indexed, uint256, uint8, uint256, uint16 indexed)',
  repay: 'Repay(address indexed, address indexed, address indexed, uint256, bool)',
  liquidation: 'LiquidationCall(address indexed, address indexed, address indexed, uint256, uint256, address, bool)',
  deficit: 'DeficitCreated(address indexed, address indexed, uint256)',
  treasury: 'MintedToTreasury(address indexed, uint256)',
  update: 'ReserveDataUpdated(address indexed, uint256, uint256, uint256, uint256, uint256)',
  mint: 'Mint(address indexed, address indexed, uint256, uint256, uint256)',
  burn: 'Burn(address indexed, address indexed, uint256, uint256, uint256)',
  transfer: 'BalanceTransfer(address indexed, address indexed, uint256, uint256)',
  stableMint: 'Mint(address indexed, address indexed, uint256, uint256, uint256, uint256, uint256, uint256)',
  stableBurn: 'Burn(address indexed, uint256, uint256, uint256, uint256, uint256)',
} as const

type EventName = keyof typeof SIGNATURES

/** Decoding table of these events; `topics` are their first topics. */
const AAVE_EVENTS = createEventTable(SIGNATURES)
export const TOPICS = AAVE_EVENTS.topics

/** A decoded log of a market. */
interface MarketLog<Kind extends string> {
  readonly kind: Kind
  readonly log: HistoryLog
}

/** A wallet supplies, withdraws, borrows or repays. */
export interface Action extends MarketLog<'supply' | 'withdraw' | 'borrow' | 'repay'> {
  readonly asset: Hex
  /** Wallet whose balance changes. */
  readonly wallet: Hex
  /** Payer of a supply, receiver of a withdrawal or borrow, repayer. */
  readonly counterparty: Hex
  readonly amount: bigint
  /** True for a repayment out of the repayer's own supply. */
  readonly isPaidFromSupply?: boolean
}

/** A liquidator repays a wallet's debt and takes collateral. */
export interface Liquidation extends MarketLog<'liquidation'> {
  readonly wallet: Hex
  readonly liquidator: Hex
  readonly debt: { readonly asset: Hex; readonly amount: bigint }
  readonly collateral: { readonly asset: Hex; readonly amount: bigint }
  /** True if the liquidator took the collateral as aTokens. */
  readonly isPaidInATokens: boolean
}

/** A wallet's debt without collateral is written off. */
export interface Deficit extends MarketLog<'deficit'> {
  readonly wallet: Hex
  readonly asset: Hex
  readonly amount: bigint
}

/** The protocol's share of interest becomes supply of its treasury, which the log does not name. */
interface TreasuryMint extends MarketLog<'treasury'> {
  readonly asset: Hex
  readonly amount: bigint
}

/** A reserve's state after each change of it. */
export interface ReserveUpdate extends MarketLog<'update'> {
  readonly asset: Hex
  readonly borrowRateRay: bigint
  readonly borrowIndexRay: bigint
}

/** A wallet's balance of an aToken or a debt token is minted or burned. */
export interface BalanceChange extends MarketLog<'change'> {
  readonly token: ReserveToken
  readonly wallet: Hex
  /** Amount added, without interest; negative if removed. 0: only interest was stored. */
  readonly net: bigint
  /** Interest since the balance last changed. */
  readonly interest: bigint
  /** The reserve's index; undefined for stable debt, which has its own rate. */
  readonly indexRay: bigint | undefined
}

/** aTokens move from one wallet to another. */
export interface Transfer extends MarketLog<'transfer'> {
  readonly token: ReserveToken
  readonly from: Hex
  readonly to: Hex
  /** Scaled by the index; by the first contracts, before 3.0.1, not scaled. */
  readonly value: bigint
  readonly indexRay: bigint
}

/** A log of a market that history uses. */
export type LendingLog = Action | Liquidation | Deficit | TreasuryMint | ReserveUpdate | BalanceChange | Transfer

/**
 * Decodes a log of a market; undefined for another event, or for a contract that is not the market's. Throws
 * `UpstreamError` if the log has the topic of an event, but not its shape.
 */
export function readLog(target: LendingTarget, log: HistoryLog): LendingLog | undefined {
  const token = target.tokens.get(log.address)
  if (token === undefined && log.address !== target.contract.toLowerCase()) return undefined
  const name = AAVE_EVENTS.findName(log)
  if (name === undefined) return undefined
  return token === undefined ? readPoolLog(name, log) : readTokenLog(name, log, token)
}

function readPoolLog(name: EventName, log: HistoryLog): Exclude<LendingLog, BalanceChange | Transfer> | undefined {
  const { address, dataAddress: addressIn, word } = createLogFieldReader(log)
  const asset = address(1)
  switch (name) {
    case 'supply':
    case 'borrow':
      return { kind: name, log, asset, wallet: address(2), counterparty: addressIn(0), amount: word(1) }
    case 'withdraw':
      return { kind: name, log, asset, wallet: address(2), counterparty: address(3), amount: word(0) }
    case 'repay': {
      const isPaidFromSupply = word(1) !== 0n
      return { kind: name, log, asset, wallet: address(2), counterparty: address(3), amount: word(0), isPaidFromSupply }
    }
    case 'liquidation':
      return {
        kind: name,
        log,
        wallet: address(3),
        liquidator: addressIn(2),
        debt: { asset: address(2), amount: word(0) },
        collateral: { asset, amount: word(1) },
        isPaidInATokens: word(3) !== 0n,
      }
    case 'deficit':
      return { kind: name, log, wallet: asset, asset: address(2), amount: word(0) }
    case 'treasury':
      return { kind: name, log, asset, amount: word(0) }
    case 'update':
      return { kind: name, log, asset, borrowRateRay: word(2), borrowIndexRay: word(4) }
    default:
      return undefined
  }
}

function readTokenLog(name: EventName, log: HistoryLog, token: ReserveToken): BalanceChange | Transfer | undefined {
  const { address, word } = createLogFieldReader(log)
  const change = (wallet: Hex, net: bigint, interest: bigint, indexRay?: bigint): BalanceChange => ({
    kind: 'change',
    log,
    token,
    wallet,
    net,
    interest,
    indexRay,
  })
  switch (name) {
    // A burn of less than the interest is logged as a mint of the remainder: the difference is the amount moved.
    case 'mint': {
      const interest = word(1)
      return change(address(2), word(0) - interest, interest, word(2))
    }
    case 'burn': {
      const interest = word(1)
      return change(address(1), -(word(0) + interest), interest, word(2))
    }
    case 'transfer':
      return { kind: name, log, token, from: address(1), to: address(2), value: word(0), indexRay: word(1) }
    case 'stableMint':
      return change(address(2), word(0) - word(2), word(2))
    case 'stableBurn':
      return change(address(1), -(word(0) + word(2)), word(2))
    default:
      return undefined
  }
}
