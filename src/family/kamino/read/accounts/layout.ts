import { base58 } from '@scure/base'
import {
  type AccountKind,
  type ByteReader,
  createByteReader,
  isTruncatedAccount,
  matchesAccountKind,
} from '../../../../chain/solana/bytes.ts'
import { decodePricedReserve, RESERVE_KIND } from '../../../../finance/price/scope.ts'
import { toTokenDisplayText } from '../../../../finance/token/text.ts'

/*
 * Byte layout of Kamino Lend's accounts: little-endian, after Anchor's eight discriminator bytes. Offsets follow the
 * program's published interface description (IDL) of 1.22.0 and its source of 1.9.0, 1.12.8, 1.13.0 to 1.16.0, 1.25.0
 * and 1.26.0: no field moved, new ones took padding. "Sf" is an unsigned fixed-point number with 60 fractional bits.
 */

/** Version that the program stores in reserves and markets; it refuses accounts of another. Source: klend `consts.rs`. */
export const LAYOUT_VERSION = 1n

/** Size in bytes and discriminator (hexadecimal) of each account that is read. */
export const ACCOUNT_KINDS = {
  obligation: { size: 3344, discriminator: 'a8ce8d6a584caca7' },
  reserve: RESERVE_KIND,
  market: { size: 4664, discriminator: 'f6723262489d1c78' },
  ticket: { size: 520, discriminator: 'ed17a43a35f8f05e' },
} as const satisfies Record<string, AccountKind>

/** Byte offset of the owner in an obligation. */
export const OBLIGATION_OWNER_OFFSET = 64
/** Byte offset of the owner in a ticket. */
export const TICKET_OWNER_OFFSET = 16

/** A wallet's position in one market. */
export type Obligation = ReturnType<typeof decodeObligation>

/** One asset of a market. Amounts ending in `Sf` are base units of the token. */
export type Reserve = ReturnType<typeof decodeReserve>

/** One point of a borrow-rate curve, both in hundredths of a percent. */
export type CurvePoint = Reserve['curve'][number]

/** One market: the rules that its reserves share. */
export type Market = ReturnType<typeof decodeMarket>

/** Limits of an elevation group, which replace those of its reserves. */
export type ElevationGroup = Market['elevationGroups'][number]

/** A debt of an obligation as of its last refresh. */
export type Borrow = Obligation['borrows'][number]

/** An order of an obligation: a condition under which any wallet may sell its collateral, or lend to it. */
export type ObligationOrder = Obligation['orders'][number]

/** A wallet's place in the withdraw queue of a reserve, which holds its collateral. */
export type Ticket = ReturnType<typeof decodeTicket>

/** Highest amount that a reserve lets out in an interval. */
export type OutflowCap = Reserve['withdrawalCap']

const DEPOSITS = { count: 8, at: 96, size: 136 }
const BORROWS = { count: 5, at: 1208, size: 200 }
const CURVE = { count: 11, at: 4920, size: 8 }
const ORDERS = { count: 2, at: 2344, size: 128 }
const GROUPS = { count: 32, at: 200, size: 72 }
/** Elevation groups that a reserve is in; 0 is none. */
const RESERVE_GROUPS = { count: 20, at: 5480, size: 1 }
const STATUS_ACTIVE = 0
const STATUS_OBSOLETE = 1
/** Debt of each elevation group against a reserve, by the group's index. */
const GROUP_LIMITS = { count: 32, at: 5512, size: 8 }
const GROUP_BORROWED = { count: 32, at: 6712, size: 8 }
const NAME_BYTES = 32
const ACCRUAL_UNITS = ['slot', 'second'] as const
/** Kinds of an order's condition, as the program numbers them. Source: klend `obligation_order_operations.rs`. */
const ORDER_CONDITIONS = [
  'never',
  'ltv_above',
  'ltv_below',
  'price_ratio_above',
  'price_ratio_below',
  'always',
  'liquidation_ltv_closer_than',
] as const
/** What an order does, as the program numbers it since 1.26.0: before, 1 was a sale for the whole debt. */
const ORDER_ACTIONS = ['sale', 'loan', 'sale', 'loan'] as const
/** Operations that may need a signature of the market's authority, as bits. Source: klend `utils/permissioning.rs`. */
const LOANS_PERMISSIONED = 1n << 1n
const KNOWN_PERMISSIONS = 0b111n
/** First letters of a mint's address, shown as symbol if the market gives the token no name. */
const SYMBOL_LETTERS = 4
const KEY_NONE = base58.encode(new Uint8Array(32))

/** True if the bytes are an account of this kind, by discriminator and exact size. */
export function isAccount(kind: keyof typeof ACCOUNT_KINDS, data: Uint8Array): boolean {
  return matchesAccountKind(ACCOUNT_KINDS[kind], data)
}

/** True if the bytes begin as one of the kinds and end before it does. */
export function isTruncated(data: Uint8Array): boolean {
  return Object.values(ACCOUNT_KINDS).some((kind) => data.length < kind.size && isTruncatedAccount([kind], data))
}

/** True if the bytes begin as one of the kinds and go on after its end, as those of a later version might. */
export function isExtended(data: Uint8Array): boolean {
  return Object.values(ACCOUNT_KINDS).some((kind) => data.length > kind.size && isTruncatedAccount([kind], data))
}

/**
 * Decodes an obligation whose bytes passed `isAccount`. An entry is free if its reserve's key is all zero. Free entries
 * may precede used ones. Entries with an amount of zero are left out too.
 */
export function decodeObligation(data: Uint8Array) {
  const bytes = createByteReader(data)
  return {
    lastUpdateSlot: bytes.u64(16),
    market: bytes.key(32),
    owner: bytes.key(OBLIGATION_OWNER_OFFSET),
    /** Collateral tokens of each reserve, base units. */
    deposits: listOffsets(DEPOSITS)
      .map((at) => ({
        reserve: bytes.key(at),
        collateralAmount: bytes.u64(at + 32),
        /** What its elevation group counts as borrowed against it, base units of the group's debt token. */
        groupBorrowed: bytes.u64(at + 56),
      }))
      .filter(({ reserve, collateralAmount }) => reserve !== KEY_NONE && collateralAmount > 0n),
    /**
     * Debts as of their last refresh: base units of the borrowed token, and the reserve's cumulative borrow rate then,
     * both Sf.
     */
    borrows: listOffsets(BORROWS)
      .map((at) => ({
        reserve: bytes.key(at),
        cumulativeRateSf: bytes.u256(at + 32),
        /** Start of a fixed term, Unix seconds; 0 if the program did not note it. */
        borrowedAtSec: bytes.u64(at + 80),
        amountSf: bytes.u128(at + 88),
        /** What its reserve counts of it as debt outside elevation groups, base units. */
        countedOutsideGroups: bytes.u64(at + 136),
      }))
      .filter(({ reserve, amountSf }) => reserve !== KEY_NONE && amountSf > 0n),
    /** 0 outside all elevation groups. */
    elevationGroup: bytes.u8(2285),
    borrowingDisabled: bytes.u8(2320) !== 0,
    /** Mark that the obligation must come down to a loan-to-value; `startedAtSec` is 0 without a mark. */
    deleveraging: { targetLtvPct: BigInt(bytes.u8(2321)), startedAtSec: bytes.u64(2336) },
    orders: listOffsets(ORDERS).map((at) => ({
      thresholdSf: bytes.u128(at),
      condition: ORDER_CONDITIONS[bytes.u8(at + 36)] ?? ('unknown' as const),
      action: readOrderAction(bytes, at),
    })),
  }
}

/** Reads what an order does. Orders for a loan have a highest rate, which older versions of the program left 0. */
function readOrderAction(bytes: ByteReader, at: number) {
  const action = ORDER_ACTIONS[bytes.u8(at + 37)] ?? 'unknown'
  return action === 'loan' && bytes.u8(at + 37) === 1 && bytes.u32(at + 40) === 0 ? 'sale' : action
}

/** Decodes a reserve whose bytes passed `isAccount`. */
export function decodeReserve(data: Uint8Array) {
  const bytes = createByteReader(data)
  const priced = decodePricedReserve(data)
  return {
    ...priced,
    /** Name that the market gives the token, sanitized for display. */
    symbol: readName(data, 5032) || priced.mint.slice(0, SYMBOL_LETTERS),
    groups: listOffsets(RESERVE_GROUPS)
      .map((at) => bytes.u8(at))
      .filter((id) => id > 0),
    lastUpdateSlot: bytes.u64(16),
    /** Unix seconds; 0 if the last refresh was by a version of the program that did not write it. */
    lastUpdateTimestampSec: BigInt(bytes.u32(28)),
    /** Unit that interest and rewards accrue by; `unknown` for a unit of a later version of the program. */
    accrualUnit: ACCRUAL_UNITS[bytes.u8(4865)] ?? ('unknown' as const),
    availableAmount: bytes.u64(224),
    borrowedSf: bytes.u128(232),
    cumulativeRateSf: bytes.u256(296),
    protocolFeesSf: bytes.u128(344),
    referrerFeesSf: bytes.u128(360),
    pendingReferrerFeesSf: bytes.u128(376),
    collateralSupply: bytes.u64(2592),
    /** Base units not yet distributed to suppliers. */
    rewardsAvailable: bytes.u64(440),
    /** Base units distributed to suppliers in each slot or second. */
    rewardsPerUnit: bytes.u64(5792),
    hostFixedRateBps: BigInt(bytes.u16(4858)),
    protocolTakeRatePct: BigInt(bytes.u8(4870)),
    maxLtvPct: BigInt(bytes.u8(4872)),
    liquidationThresholdPct: BigInt(bytes.u8(4873)),
    curve: listOffsets(CURVE).map((at) => ({
      utilizationBps: BigInt(bytes.u32(at)),
      rateBps: BigInt(bytes.u32(at + 4)),
    })),
    borrowFactorPct: bytes.u64(5008),
    layoutVersion: bytes.u64(8),
    isObsolete: bytes.u8(4856) === STATUS_OBSOLETE,
    isActive: bytes.u8(4856) === STATUS_ACTIVE,
    /** Base units; beyond them no more can be deposited or borrowed. */
    depositLimit: bytes.u64(5016),
    borrowLimit: bytes.u64(5024),
    /** Start of the time above each limit, Unix seconds; 0 within it. */
    depositLimitCrossedAtSec: bytes.u64(280),
    borrowLimitCrossedAtSec: bytes.u64(288),
    /** Terms on which positions of a reserve above a limit may be liquidated. */
    deleveraging: {
      isEnabled: bytes.u8(5502) !== 0,
      marginCallSec: bytes.u64(4880),
      thresholdFallBpsPerDay: bytes.u64(4888),
    },
    /** Caps on what suppliers take out, and on what borrowers do. */
    withdrawalCap: readCap(bytes, 5416),
    borrowCap: readCap(bytes, 5448),
    /** True if obligations outside all elevation groups that supply it may not borrow. */
    backsDebtInGroupsOnly: bytes.u8(5500) !== 0,
    /** Utilization from which nothing is lent; 0 is no limit. */
    utilizationLimitPct: BigInt(bytes.u8(5501)),
    /** Highest and present debt of all obligations outside elevation groups, base units. */
    borrowLimitOutsideGroups: bytes.u64(5504),
    borrowedOutsideGroups: bytes.u64(6704),
    /** Highest and present debt of a group against this collateral, base units of the group's debt token. */
    groupLimits: listOffsets(GROUP_LIMITS).map(bytes.u64),
    groupBorrowed: listOffsets(GROUP_BORROWED).map(bytes.u64),
    /** Unix seconds from which all its debts are due; 0 is never. */
    debtMaturitySec: bytes.u64(5776),
    /** Term of each of its debts, seconds; 0 is none. */
    debtTermSec: bytes.u64(5784),
    /** Collateral tokens that wait in the withdraw queue: their liquidity is theirs. */
    queuedCollateral: bytes.u64(6968),
    /** Sequence number of the ticket that is paid next. */
    nextTicket: bytes.u64(6984),
    permissions: readPermissions(bytes, 5800),
  }
}

/** Reads a cap on outflows: base units for each interval of seconds; a length of 0 is no cap. */
function readCap(bytes: ByteReader, at: number) {
  return {
    capacity: BigInt.asIntN(64, bytes.u64(at)),
    spent: BigInt.asIntN(64, bytes.u64(at + 8)),
    startedAtSec: bytes.u64(at + 16),
    intervalSec: bytes.u64(at + 24),
  }
}

/** Reads which operations need a signature of the market's authority. `others`: some that this release does not know. */
function readPermissions(bytes: ByteReader, at: number) {
  const bits = bytes.u64(at)
  return { loans: (bits & LOANS_PERMISSIONED) !== 0n, others: (bits & ~KNOWN_PERMISSIONS) !== 0n }
}

/** Reads the slot at which an obligation or a reserve was last refreshed; its bytes passed `isAccount`. */
export function readLastUpdateSlot(data: Uint8Array): bigint {
  return createByteReader(data).u64(16)
}

/** Decodes a market whose bytes passed `isAccount`. */
export function decodeMarket(data: Uint8Array) {
  const bytes = createByteReader(data)
  return {
    /** Sanitized for display; may be empty. */
    name: readName(data, 3248),
    referralFeeBps: BigInt(bytes.u16(120)),
    /** Highest yearly rate of a reserve's rewards; 0 if the market pays none. */
    rewardsMaxAprBps: BigInt(bytes.u16(3358)),
    layoutVersion: bytes.u64(8),
    /** Highest debt of one obligation, whole US dollars. */
    borrowCapUsd: bytes.u64(152),
    /** Least value that a deposit or a debt may be left with, US dollars, Sf. */
    leastValueSf: bytes.u128(3224),
    isEmergency: bytes.u8(122) !== 0,
    isDeleveragingEnabled: bytes.u8(123) !== 0,
    isBorrowingDisabled: bytes.u8(124) !== 0,
    /** Time between the mark of an obligation and its liquidation, seconds; 0 turns both off. */
    deleveragingMarginCallSec: bytes.u64(3288),
    areOrdersExecuted: bytes.u8(3304) !== 0,
    isPriceLiquidationDisabled: bytes.u8(3307) !== 0,
    isMaturityLiquidationEnabled: bytes.u8(3308) !== 0,
    isTermLiquidationEnabled: bytes.u8(3309) !== 0,
    paysTickets: bytes.u8(3353) !== 0,
    permissions: readPermissions(bytes, 3432),
    elevationGroups: listOffsets(GROUPS).map((at) => ({
      id: bytes.u8(at + 2),
      maxLtvPct: BigInt(bytes.u8(at + 3)),
      liquidationThresholdPct: BigInt(bytes.u8(at + 4)),
      allowsNewLoans: bytes.u8(at + 5) !== 0,
      /** The only reserve that the group lends from. */
      debtReserve: bytes.key(at + 8),
    })),
  }
}

/** Decodes a ticket whose bytes passed `isAccount`. */
export function decodeTicket(data: Uint8Array) {
  const bytes = createByteReader(data)
  return {
    sequence: bytes.u64(8),
    owner: bytes.key(TICKET_OWNER_OFFSET),
    reserve: bytes.key(48),
    /** Collateral tokens that wait; 0 if it was cancelled. */
    collateralAmount: bytes.u64(112),
    /** True if the account that it pays to does not take payments: the queue passed it over. */
    isInvalid: bytes.u8(128) !== 0,
  }
}

/** Reads UTF-8 from 32 bytes up to the first zero byte. The text is untrusted: creators of markets choose it. */
function readName(data: Uint8Array, at: number): string {
  const bytes = data.subarray(at, at + NAME_BYTES)
  const end = bytes.indexOf(0)
  return toTokenDisplayText(new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end)))
}

function listOffsets({
  count,
  at,
  size,
}: {
  readonly count: number
  readonly at: number
  readonly size: number
}): number[] {
  return Array.from({ length: count }, (_, index) => at + index * size)
}
