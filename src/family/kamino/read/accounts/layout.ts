import { base58 } from '@scure/base'
import {
  type AccountKind,
  createByteReader,
  isTruncatedAccount,
  matchesAccountKind,
} from '../../../../chain/solana/bytes.ts'
import { decodePricedReserve, RESERVE_KIND } from '../../../../finance/price/scope/layout.ts'
import { toTokenDisplayText } from '../../../../finance/token/text.ts'

/*
 * Byte layout of Kamino Lend's accounts: little-endian, after Anchor's eight discriminator bytes. Offsets follow the
 * program's published interface description (IDL). Later versions only use up padding, so size, discriminator and
 * offsets stay. "Sf" is an unsigned fixed-point number with 60 fractional bits.
 */

/** Size in bytes and discriminator (hexadecimal) of each account that is read. */
export const ACCOUNT_KINDS = {
  obligation: { size: 3344, discriminator: 'a8ce8d6a584caca7' },
  reserve: RESERVE_KIND,
  market: { size: 4664, discriminator: 'f6723262489d1c78' },
} as const satisfies Record<string, AccountKind>

/** Byte offset of the owner in an obligation. */
export const OBLIGATION_OWNER_OFFSET = 64

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

const DEPOSITS = { count: 8, at: 96, size: 136 }
const BORROWS = { count: 5, at: 1208, size: 200 }
const CURVE = { count: 11, at: 4920, size: 8 }
const GROUPS = { count: 32, at: 200, size: 72 }
/** Elevation groups that a reserve is in; 0 is none. */
const RESERVE_GROUPS = { count: 20, at: 5480, size: 1 }
const NAME_BYTES = 32
const ACCRUAL_UNITS = ['slot', 'second'] as const
/** First letters of a mint's address, shown as symbol if the market gives the token no name. */
const SYMBOL_LETTERS = 4
const KEY_NONE = base58.encode(new Uint8Array(32))

/** True if the bytes are an account of this kind, by discriminator and exact size. */
export function isAccount(kind: keyof typeof ACCOUNT_KINDS, data: Uint8Array): boolean {
  return matchesAccountKind(ACCOUNT_KINDS[kind], data)
}

/** True if the bytes begin as one of the kinds but have another size. */
export function isTruncated(data: Uint8Array): boolean {
  return isTruncatedAccount(Object.values(ACCOUNT_KINDS), data)
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
      .map((at) => ({ reserve: bytes.key(at), collateralAmount: bytes.u64(at + 32) }))
      .filter(({ reserve, collateralAmount }) => reserve !== KEY_NONE && collateralAmount > 0n),
    /**
     * Debts as of their last refresh: base units of the borrowed token, and the reserve's cumulative borrow rate then,
     * both Sf.
     */
    borrows: listOffsets(BORROWS)
      .map((at) => ({ reserve: bytes.key(at), cumulativeRateSf: bytes.u256(at + 32), amountSf: bytes.u128(at + 88) }))
      .filter(({ reserve, amountSf }) => reserve !== KEY_NONE && amountSf > 0n),
    /** 0 outside all elevation groups. */
    elevationGroup: bytes.u8(2285),
  }
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
  }
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
    /** Highest debt of one obligation, whole US dollars. */
    borrowCapUsd: bytes.u64(152),
    elevationGroups: listOffsets(GROUPS).map((at) => ({
      id: bytes.u8(at + 2),
      maxLtvPct: BigInt(bytes.u8(at + 3)),
      liquidationThresholdPct: BigInt(bytes.u8(at + 4)),
    })),
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
