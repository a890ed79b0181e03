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
 * Byte layout of Kamino Lend's accounts: little-endian, after Anchor's eight discriminator bytes. Offsets are those of
 * the program's published interface description (IDL). Later versions only use up padding, so size, discriminator and
 * offsets stay. "Sf" is an unsigned fixed-point number with 60 fractional bits.
 */

/** Size in bytes and discriminator (hexadecimal) of each account that is read. */
export const ACCOUNT_KINDS = {
  obligation: { size: 3344, discriminator: 'a8ce8d6a584caca7' },
  reserve: RESERVE_KIND,
  market: { size: 4664, discriminator: 'f6723262489d1c78' },
} as const satisfies Record<string, AccountKind>

/** Where an obligation has its wallet. */
export const OBLIGATION_OWNER_AT = 64

/** A wallet's position in one market. */
export type Obligation = ReturnType<typeof decodeObligation>

/** One asset of a market. Amounts ending in `Sf` are base units of the token. */
export type Reserve = ReturnType<typeof decodeReserve>

/** One point of a borrow-rate curve, both in hundredths of a percent. */
export type CurvePoint = Reserve['curve'][number]

/** One market: the rules that are common to its reserves. */
export type Market = ReturnType<typeof decodeMarket>

/** What an elevation group puts in place of its reserves' own limits. */
export type ElevationGroup = Market['elevationGroups'][number]

const DEPOSITS = { count: 8, at: 96, size: 136 }
const BORROWS = { count: 5, at: 1208, size: 200 }
const CURVE = { count: 11, at: 4920, size: 8 }
const GROUPS = { count: 32, at: 200, size: 72 }
/** Elevation groups that a reserve is in; 0 is none. */
const RESERVE_GROUPS = { count: 20, at: 5480, size: 1 }
const NAME_BYTES = 32
const ACCRUAL_UNITS = ['slot', 'second'] as const
/** Of a mint's address, if its market gives the token no name. */
const SYMBOL_LETTERS = 4
const KEY_NONE = base58.encode(new Uint8Array(32))

/** True if the bytes are an account of this kind, by discriminator and exact size. */
export function isAccount(kind: keyof typeof ACCOUNT_KINDS, data: Uint8Array): boolean {
  return matchesAccountKind(ACCOUNT_KINDS[kind], data)
}

/** True for an account of one of the kinds that has another size. */
export function isTruncated(data: Uint8Array): boolean {
  return isTruncatedAccount(Object.values(ACCOUNT_KINDS), data)
}

/**
 * Reads the bytes of an obligation that passed `isAccount`. An entry is free if its reserve's key is all zero. Free
 * entries may precede used ones. Entries with an amount of zero are left out too.
 */
export function decodeObligation(data: Uint8Array) {
  const bytes = createByteReader(data)
  return {
    lastUpdateSlot: bytes.u64(16),
    market: bytes.key(32),
    owner: bytes.key(OBLIGATION_OWNER_AT),
    /** Collateral tokens of each reserve, base units. */
    deposits: slots(DEPOSITS)
      .map((at) => ({ reserve: bytes.key(at), collateralAmount: bytes.u64(at + 32) }))
      .filter(({ reserve, collateralAmount }) => reserve !== KEY_NONE && collateralAmount > 0n),
    /**
     * As they stood when they were last refreshed: base units of the borrowed token, and the reserve's cumulative borrow
     * rate at that moment, both Sf.
     */
    borrows: slots(BORROWS)
      .map((at) => ({ reserve: bytes.key(at), cumulativeRateSf: bytes.u256(at + 32), amountSf: bytes.u128(at + 88) }))
      .filter(({ reserve, amountSf }) => reserve !== KEY_NONE && amountSf > 0n),
    /** 0 outside all elevation groups. */
    elevationGroup: bytes.u8(2285),
  }
}

/** Reads the bytes of a reserve that passed `isAccount`. */
export function decodeReserve(data: Uint8Array) {
  const bytes = createByteReader(data)
  const priced = decodePricedReserve(data)
  return {
    ...priced,
    /** The name that the market gives the token, fit to be shown. */
    symbol: nameAt(data, 5032) || priced.mint.slice(0, SYMBOL_LETTERS),
    groups: slots(RESERVE_GROUPS)
      .map((at) => bytes.u8(at))
      .filter((id) => id > 0),
    lastUpdateSlot: bytes.u64(16),
    /** Unix seconds; 0 if the last refresh was by a program that did not write it yet. */
    lastUpdateTimestampSec: BigInt(bytes.u32(28)),
    /** What interest and rewards accrue by; `unknown` if only a later program knows it. */
    accrualUnit: ACCRUAL_UNITS[bytes.u8(4865)] ?? ('unknown' as const),
    availableAmount: bytes.u64(224),
    borrowedSf: bytes.u128(232),
    cumulativeRateSf: bytes.u256(296),
    protocolFeesSf: bytes.u128(344),
    referrerFeesSf: bytes.u128(360),
    pendingReferrerFeesSf: bytes.u128(376),
    collateralSupply: bytes.u64(2592),
    /** Base units that are still to be given to suppliers. */
    rewardsAvailable: bytes.u64(440),
    /** Base units that suppliers are given in each slot or second. */
    rewardsPerUnit: bytes.u64(5792),
    hostFixedRateBps: BigInt(bytes.u16(4858)),
    protocolTakeRatePct: BigInt(bytes.u8(4870)),
    maxLtvPct: BigInt(bytes.u8(4872)),
    liquidationThresholdPct: BigInt(bytes.u8(4873)),
    curve: slots(CURVE).map((at) => ({ utilizationBps: BigInt(bytes.u32(at)), rateBps: BigInt(bytes.u32(at + 4)) })),
    borrowFactorPct: bytes.u64(5008),
  }
}

/** Slot at which an obligation or a reserve was last refreshed; its bytes passed `isAccount`. */
export function readLastUpdateSlot(data: Uint8Array): bigint {
  return createByteReader(data).u64(16)
}

/** Reads the bytes of a market that passed `isAccount`. */
export function decodeMarket(data: Uint8Array) {
  const bytes = createByteReader(data)
  return {
    /** Fit to be shown; may be empty. */
    name: nameAt(data, 3248),
    referralFeeBps: BigInt(bytes.u16(120)),
    /** Highest yearly rate of a reserve's rewards; 0 if the market gives none. */
    rewardsMaxAprBps: BigInt(bytes.u16(3358)),
    /** Most that one obligation may borrow, whole US dollars. */
    borrowCapUsd: bytes.u64(152),
    elevationGroups: slots(GROUPS).map((at) => ({
      id: bytes.u8(at + 2),
      maxLtvPct: BigInt(bytes.u8(at + 3)),
      liquidationThresholdPct: BigInt(bytes.u8(at + 4)),
    })),
  }
}

/** UTF-8 in 32 bytes, up to the first of zero. Whoever makes a market or a reserve writes what they like. */
function nameAt(data: Uint8Array, at: number): string {
  const bytes = data.subarray(at, at + NAME_BYTES)
  const end = bytes.indexOf(0)
  return toTokenDisplayText(new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end)))
}

function slots({ count, at, size }: { readonly count: number; readonly at: number; readonly size: number }): number[] {
  return Array.from({ length: count }, (_, index) => at + index * size)
}
