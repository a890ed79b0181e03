import { createHash } from 'node:crypto'
import { base58 } from '@scure/base'

/*
 * Writes accounts of Kamino Lend byte by byte. The offsets are spelt out here once more, on purpose: taken from the
 * program's interface description, not from the reader that they test.
 */

/** 2^60: one, in the program's fixed point. */
export const SF = 1n << 60n

/** An amount as the program's fixed point, rounded down: `sf('1.5')`. At most 18 digits after the point. */
export function sf(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.')
  return ((BigInt(whole) * 10n ** 18n + BigInt(fraction.padEnd(18, '0').slice(0, 18))) * SF) / 10n ** 18n
}

/** A made-up address, the same for the same name. */
export function toFakeAddress(name: string): string {
  return base58.encode(createHash('sha256').update(name).digest())
}

/** An account as an RPC endpoint serves it. */
export interface ServedAccount {
  readonly owner: string
  readonly data: Uint8Array
  /** A million if absent. */
  readonly lamports?: bigint
}

/** Accounts by address. */
export type ServedAccounts = Record<string, ServedAccount>

export const KLEND = 'KLend2g3cP87fffoy8q1mQqGKjrxjC8boSyAYavgmjD'
export const SCOPE = 'HFn8GnPADiny6XqUoWE8uRPPxb29ikn4yTuPa9MF2fWJ'

export interface DepositFixture {
  readonly reserve: string
  readonly collateralAmount: bigint
  /** Slot of the array; the next one if absent. */
  readonly slot?: number
}

export interface BorrowFixture {
  readonly reserve: string
  readonly amountSf: bigint
  readonly cumulativeRateSf?: bigint
  readonly slot?: number
}

export interface ObligationFixture {
  readonly market: string
  readonly owner: string
  readonly deposits?: readonly DepositFixture[]
  readonly borrows?: readonly BorrowFixture[]
  readonly elevationGroup?: number
  readonly lastUpdateSlot?: bigint
}

export interface ReserveFixture {
  readonly market: string
  /** Of its token, UTF-8 in at most 32 bytes. */
  readonly name?: string
  /** Elevation groups that it is in. */
  readonly groups?: readonly number[]
  readonly lastUpdateSlot?: bigint
  readonly lastUpdateTimestampSec?: bigint
  /** Checks that the cached price has passed, as bits; all of them if absent. */
  readonly priceStatus?: number
  readonly availableAmount?: bigint
  readonly borrowedSf?: bigint
  readonly cumulativeRateSf?: bigint
  readonly protocolFeesSf?: bigint
  readonly referrerFeesSf?: bigint
  readonly pendingReferrerFeesSf?: bigint
  readonly collateralSupply?: bigint
  readonly rewardsAvailable?: bigint
  /** Base units each slot, or each second if `interestRateBasis` is 1. */
  readonly rewardsPerUnit?: bigint
  /** 0 accrues by slots, 1 by seconds. */
  readonly interestRateBasis?: number
  readonly emergencyMode?: number
  readonly mint?: string
  readonly decimals?: number
  readonly priceSf?: bigint
  readonly priceTimestampSec?: bigint
  readonly maxPriceAgeSec?: bigint
  /** The lowest and highest price, both `value / 10^exponent`; 0 means unbounded. */
  readonly priceBounds?: { readonly lower: bigint; readonly upper: bigint; readonly exponent: bigint }
  readonly blockPriceUsage?: number
  readonly hostFixedRateBps?: number
  readonly protocolTakeRatePct?: number
  readonly maxLtvPct?: number
  readonly liquidationThresholdPct?: number
  readonly borrowFactorPct?: bigint
  /** Corners of the curve, [utilization, rate] in bps; the last is repeated to fill eleven. */
  readonly curve?: readonly (readonly [number, number])[]
  readonly scopeFeed?: string
  readonly scopeChain?: readonly number[]
}

export interface MarketFixture {
  /** UTF-8 in at most 32 bytes. */
  readonly name?: string
  readonly referralFeeBps?: number
  /** Most rewards in a year; 0 if the market gives none. */
  readonly rewardsMaxAprBps?: number
  readonly borrowCapUsd?: bigint
  readonly elevationGroups?: readonly {
    readonly id: number
    readonly maxLtvPct: number
    readonly liquidationThresholdPct: number
    /** The only reserve that it lends from. */
    readonly debtReserve?: string
  }[]
}

export interface ScopeFixture {
  readonly index: number
  readonly value: bigint
  readonly exponent: bigint
  readonly timestampSec?: bigint
}

/** Bytes of an obligation. */
export function obligationBytes(fixture: ObligationFixture): Uint8Array {
  const at = writer(3344, 'a8ce8d6a584caca7')
  at.uint(16, fixture.lastUpdateSlot ?? 0n, 8)
  at.key(32, fixture.market)
  at.key(64, fixture.owner)
  for (const [index, deposit] of (fixture.deposits ?? []).entries()) {
    const start = 96 + 136 * (deposit.slot ?? index)
    at.key(start, deposit.reserve)
    at.uint(start + 32, deposit.collateralAmount, 8)
  }
  for (const [index, borrow] of (fixture.borrows ?? []).entries()) {
    const start = 1208 + 200 * (borrow.slot ?? index)
    at.key(start, borrow.reserve)
    at.uint(start + 32, borrow.cumulativeRateSf ?? SF, 32)
    at.uint(start + 88, borrow.amountSf, 16)
  }
  at.uint(2285, BigInt(fixture.elevationGroup ?? 0), 1)
  return at.bytes
}

/** Highest number of 8 bytes: no limit. */
const UNLIMITED = 2n ** 64n - 1n

/** Bytes of a reserve; what the fixture leaves out is an empty pool without interest and limits, of 6 decimals. */
export function reserveBytes(fixture: ReserveFixture): Uint8Array {
  const at = writer(8624, '2bf2ccca1af73b7f')
  at.uint(8, 1n, 8)
  at.uint(16, fixture.lastUpdateSlot ?? 0n, 8)
  at.uint(25, BigInt(fixture.priceStatus ?? 0b11_1111), 1)
  at.uint(28, fixture.lastUpdateTimestampSec ?? 0n, 4)
  at.key(32, fixture.market)
  if (fixture.mint !== undefined) at.key(128, fixture.mint)
  at.uint(224, fixture.availableAmount ?? 0n, 8)
  at.uint(232, fixture.borrowedSf ?? 0n, 16)
  at.uint(248, fixture.priceSf ?? 0n, 16)
  at.uint(264, fixture.priceTimestampSec ?? 0n, 8)
  at.uint(272, BigInt(fixture.decimals ?? 6), 8)
  at.uint(296, fixture.cumulativeRateSf ?? SF, 32)
  at.uint(344, fixture.protocolFeesSf ?? 0n, 16)
  at.uint(360, fixture.referrerFeesSf ?? 0n, 16)
  at.uint(376, fixture.pendingReferrerFeesSf ?? 0n, 16)
  at.uint(440, fixture.rewardsAvailable ?? 0n, 8)
  at.uint(2592, fixture.collateralSupply ?? 0n, 8)
  at.uint(4858, BigInt(fixture.hostFixedRateBps ?? 0), 2)
  at.uint(4864, BigInt(fixture.emergencyMode ?? 0), 1)
  at.uint(4865, BigInt(fixture.interestRateBasis ?? 0), 1)
  at.uint(4870, BigInt(fixture.protocolTakeRatePct ?? 0), 1)
  at.uint(4872, BigInt(fixture.maxLtvPct ?? 0), 1)
  at.uint(4873, BigInt(fixture.liquidationThresholdPct ?? 0), 1)
  const curve = fixture.curve ?? FLAT
  for (let index = 0; index < 11; index++) {
    const [utilizationBps = 0, rateBps = 0] = curve[Math.min(index, curve.length - 1)] ?? []
    at.uint(4920 + 8 * index, BigInt(utilizationBps), 4)
    at.uint(4924 + 8 * index, BigInt(rateBps), 4)
  }
  at.uint(5008, fixture.borrowFactorPct ?? 100n, 8)
  for (const limit of [5016, 5024, 5504]) at.uint(limit, UNLIMITED, 8)
  for (let group = 0; group < 32; group++) at.uint(5512 + 8 * group, UNLIMITED, 8)
  at.text(5032, fixture.name ?? '')
  at.uint(5064, fixture.priceBounds?.lower ?? 0n, 8)
  at.uint(5072, fixture.priceBounds?.upper ?? 0n, 8)
  at.uint(5080, fixture.priceBounds?.exponent ?? 0n, 8)
  at.uint(5096, fixture.maxPriceAgeSec ?? 0n, 8)
  if (fixture.scopeFeed !== undefined) at.key(5112, fixture.scopeFeed)
  const chain = fixture.scopeChain ?? []
  for (let index = 0; index < 4; index++) at.uint(5144 + 2 * index, BigInt(chain[index] ?? 65_535), 2)
  at.uint(5256, BigInt(fixture.blockPriceUsage ?? 0), 1)
  for (const [index, group] of (fixture.groups ?? []).entries()) at.uint(5480 + index, BigInt(group), 1)
  at.uint(5792, fixture.rewardsPerUnit ?? 0n, 8)
  return at.bytes
}

/** Bytes of a market; without a cap any wallet may borrow any amount. Its elevation groups give new loans. */
export function marketBytes(fixture: MarketFixture = {}): Uint8Array {
  const at = writer(4664, 'f6723262489d1c78')
  at.uint(8, 1n, 8)
  at.uint(120, BigInt(fixture.referralFeeBps ?? 0), 2)
  at.uint(152, fixture.borrowCapUsd ?? UNLIMITED, 8)
  at.text(3248, fixture.name ?? '')
  at.uint(3358, BigInt(fixture.rewardsMaxAprBps ?? 0), 2)
  for (const { id, maxLtvPct, liquidationThresholdPct, debtReserve } of fixture.elevationGroups ?? []) {
    const start = 200 + 72 * (id - 1)
    at.uint(start + 2, BigInt(id), 1)
    at.uint(start + 3, BigInt(maxLtvPct), 1)
    at.uint(start + 4, BigInt(liquidationThresholdPct), 1)
    at.uint(start + 5, 1n, 1)
    if (debtReserve !== undefined) at.key(start + 8, debtReserve)
  }
  return at.bytes
}

/** Bytes of a Scope feed; entries that are not given are zero. */
export function scopeBytes(entries: readonly ScopeFixture[]): Uint8Array {
  const at = writer(28_712, '598076dd0648b492')
  for (const { index, value, exponent, timestampSec = 0n } of entries) {
    const start = 40 + 56 * index
    at.uint(start, value, 8)
    at.uint(start + 8, exponent, 8)
    at.uint(start + 24, timestampSec, 8)
  }
  return at.bytes
}

/** Bytes of a ticket of a reserve's withdraw queue. */
export function ticketBytes(fixture: {
  readonly sequence: bigint
  readonly owner: string
  readonly reserve: string
  readonly collateralAmount: bigint
}): Uint8Array {
  const at = writer(520, 'ed17a43a35f8f05e')
  at.uint(8, fixture.sequence, 8)
  at.key(16, fixture.owner)
  at.key(48, fixture.reserve)
  at.uint(112, fixture.collateralAmount, 8)
  return at.bytes
}

/** Bytes of the program's account of a wallet, which names its lookup table. */
export function userBytes(table: string): Uint8Array {
  const at = writer(1032, '9dd6dceb62871eaf')
  at.key(48, table)
  return at.bytes
}

/** A lookup table with these addresses. */
export function tableAccount(keys: readonly string[]): ServedAccount {
  const at = writer(56 + 32 * keys.length, '01000000')
  for (const [index, key] of keys.entries()) at.key(56 + 32 * index, key)
  return { owner: 'AddressLookupTab1e1111111111111111111111111', data: at.bytes }
}

/** Writes a little-endian number of some bytes into a served account. */
export function patchAccount(
  accounts: ServedAccounts,
  address: string,
  { at, value, length }: { readonly at: number; readonly value: bigint; readonly length: number },
): void {
  const data = accounts[address]?.data
  if (data === undefined) throw new RangeError(`Cannot patch ${address}: it is not served`)
  for (let index = 0; index < length; index++) data[at + index] = Number((value >> BigInt(8 * index)) & 255n)
}

/** The account that these bytes are in, owned by Kamino's program by default. */
export function toServedAccount(data: Uint8Array, owner = KLEND): ServedAccount {
  return { owner, data }
}

const FLAT: readonly (readonly [number, number])[] = [
  [0, 0],
  [10_000, 0],
]

/** Bytes to be written at places, beginning with those in hexadecimal. */
export function writer(size: number, discriminator = '') {
  const bytes = new Uint8Array(size)
  bytes.set(Buffer.from(discriminator, 'hex'))
  return {
    bytes,
    uint(at: number, value: bigint, length: number): void {
      if (value < 0n || value >= 1n << BigInt(8 * length)) throw new RangeError(`${value} does not fit ${length} bytes`)
      for (let index = 0; index < length; index++) bytes[at + index] = Number((value >> BigInt(8 * index)) & 255n)
    },
    key(at: number, address: string): void {
      const key = base58.decode(address)
      if (key?.length !== 32) throw new RangeError(`${address} is no address`)
      bytes.set(key, at)
    },
    text(at: number, text: string): void {
      const utf8 = new TextEncoder().encode(text)
      if (utf8.length > 32) throw new RangeError(`${text} does not fit 32 bytes`)
      bytes.set(utf8, at)
    },
  }
}
