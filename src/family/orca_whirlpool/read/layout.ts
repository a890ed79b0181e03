import {
  type ByteReader,
  createByteReader,
  isTruncatedAccount,
  matchesAccountKind,
} from '../../../chain/solana/bytes.ts'
import type { PoolReward, Whirlpool, WhirlpoolPosition, WhirlpoolTick } from '../math/state.ts'
import { arrayStart, sqrtPriceAtTickX64, TICK_MAX } from '../math/tick.ts'

/*
 * Byte layout of the program's accounts: little-endian, after Anchor's eight discriminator bytes. Readers give undefined
 * for what is not such an account, or one that the program never writes.
 */

const POOL = { size: 653, discriminator: '3f95d10ce1806309' }
const POSITION = { size: 216, discriminator: 'aabc8fe47a40f7d0' }
const BUNDLE = { size: 136, discriminator: '81a9af41b95f2064' }
const FIXED_ARRAY = { size: 9_988, discriminator: '4561bdbe6e0742bb' }
/** As long as its ticks that are initialized need. */
const DYNAMIC_ARRAY = { size: 148, sizeMax: 10_004, discriminator: '11d8f68ee1c7da38' }

const KEY_NONE = '1'.repeat(32)
const REWARDS = 3
const POOL_REWARDS = { at: 269, size: 128 }
const POSITION_REWARDS = { at: 144, size: 24 }
const FIXED_TICKS = { at: 12, size: 113, poolAt: 9_956 }
const DYNAMIC_TICKS = { at: 60, bitmapAt: 44, poolAt: 12, size: 112 }
const BUNDLE_PLACES = 256

/** True if the bytes begin as one of the program's accounts that are read here but have another size. */
export function isTruncated(data: Uint8Array): boolean {
  return isTruncatedAccount([POOL, POSITION, BUNDLE, FIXED_ARRAY, DYNAMIC_ARRAY], data)
}

/** A pool, unless its spacing is 0 or its tick is not that of its price. */
export function decodePool(data: Uint8Array): Whirlpool | undefined {
  if (!matchesAccountKind(POOL, data)) return undefined
  const bytes = createByteReader(data)
  const [tickSpacing, tick, sqrtPriceX64] = [bytes.u16(41), bytes.i32(81), bytes.u128(65)]
  if (tickSpacing === 0 || !isPriceAt(tick, sqrtPriceX64)) return undefined
  return {
    tickSpacing,
    feeRate: bytes.u16(45),
    hasAdaptiveFee: bytes.u16(43) !== tickSpacing,
    liquidity: bytes.u128(49),
    sqrtPriceX64,
    tick,
    mintA: bytes.key(101),
    mintB: bytes.key(181),
    growthA: bytes.u128(165),
    growthB: bytes.u128(245),
    rewardsAtSec: bytes.u64(261),
    rewards: rewardsOf(bytes),
  }
}

/** After a swap that ends on a tick the price is that of the tick, and the pool's tick may be one below. */
function isPriceAt(tick: number, sqrtPriceX64: bigint): boolean {
  if (tick < -TICK_MAX - 1 || tick > TICK_MAX) return false
  const least = tick < -TICK_MAX ? 0n : sqrtPriceAtTickX64(tick)
  return least <= sqrtPriceX64 && sqrtPriceX64 <= sqrtPriceAtTickX64(Math.min(tick + 1, TICK_MAX))
}

/** A reward exists if it names a mint; none follows one that does not. */
function rewardsOf(bytes: ByteReader): readonly PoolReward[] {
  const rewards: PoolReward[] = []
  for (let index = 0; index < REWARDS; index++) {
    const at = POOL_REWARDS.at + POOL_REWARDS.size * index
    const mint = bytes.key(at)
    if (mint === KEY_NONE) break
    const [vault, emissionsX64, growthX64] = [bytes.key(at + 32), bytes.u128(at + 96), bytes.u128(at + 112)]
    rewards.push({ mint, vault, emissionsX64, growthX64 })
  }
  return rewards
}

/** When the program last counted a pool's rewards, Unix seconds; undefined if the bytes are not a pool. */
export function readRewardsTimestampSec(data: Uint8Array): bigint | undefined {
  return matchesAccountKind(POOL, data) ? createByteReader(data).u64(261) : undefined
}

/** A position, unless its range is none. */
export function decodePosition(data: Uint8Array): WhirlpoolPosition | undefined {
  if (!matchesAccountKind(POSITION, data)) return undefined
  const bytes = createByteReader(data)
  const [tickLower, tickUpper] = [bytes.i32(88), bytes.i32(92)]
  if (tickLower < -TICK_MAX || tickLower >= tickUpper || tickUpper > TICK_MAX) return undefined
  return {
    pool: bytes.key(8),
    mint: bytes.key(40),
    liquidity: bytes.u128(72),
    tickLower,
    tickUpper,
    checkpointA: bytes.u128(96),
    owedA: bytes.u64(112),
    checkpointB: bytes.u128(120),
    owedB: bytes.u64(136),
    rewards: Array.from({ length: REWARDS }, (_, index) => {
      const at = POSITION_REWARDS.at + POSITION_REWARDS.size * index
      return { checkpointX64: bytes.u128(at), owed: bytes.u64(at + 16) }
    }),
  }
}

/** A bundle of positions: the mint of its token, and the places that are taken. */
export function decodeBundle(
  data: Uint8Array,
): { readonly mint: string; readonly places: readonly number[] } | undefined {
  if (!matchesAccountKind(BUNDLE, data)) return undefined
  const isTaken = (place: number) => (((data[40 + (place >> 3)] ?? 0) >> (place & 7)) & 1) === 1
  return {
    mint: createByteReader(data).key(8),
    places: Array.from({ length: BUNDLE_PLACES }, (_, place) => place).filter(isTaken),
  }
}

/** What an array must be to have a tick of a pool. */
interface ArrayPlace {
  readonly pool: string
  readonly tickSpacing: number
  readonly tick: number
}

/** One tick of an array of either kind; undefined if the array is another pool's or begins elsewhere. */
export function decodeTick(data: Uint8Array, { pool, tickSpacing, tick }: ArrayPlace): WhirlpoolTick | undefined {
  const isFixed = matchesAccountKind(FIXED_ARRAY, data)
  if (!isFixed && !matchesAccountKind(DYNAMIC_ARRAY, data)) return undefined
  const bytes = createByteReader(data)
  const start = bytes.i32(8)
  const isOwn = bytes.key(isFixed ? FIXED_TICKS.poolAt : DYNAMIC_TICKS.poolAt) === pool
  if (!isOwn || start !== arrayStart(tick, tickSpacing) || (tick - start) % tickSpacing !== 0) return undefined
  const index = (tick - start) / tickSpacing
  if (isFixed) {
    const at = FIXED_TICKS.at + FIXED_TICKS.size * index
    return tickAt(bytes, at + 1, bytes.u8(at) === 1)
  }
  const at = dynamicPlace(bytes.u128(DYNAMIC_TICKS.bitmapAt), index)
  if (at >= data.length) return undefined
  if (bytes.u8(at) !== 1) return NOT_INITIALIZED
  return at + 1 + DYNAMIC_TICKS.size > data.length ? undefined : tickAt(bytes, at + 1, true)
}

/** Where a tick of a dynamic array begins: those before it take one byte each, and 112 more if they are initialized. */
function dynamicPlace(bitmap: bigint, index: number): number {
  let before = bitmap & ((1n << BigInt(index)) - 1n)
  let initialized = 0
  for (; before > 0n; before &= before - 1n) initialized++
  return DYNAMIC_TICKS.at + index + DYNAMIC_TICKS.size * initialized
}

/** Net and gross liquidity come first, then growth outside. */
function tickAt(bytes: ByteReader, at: number, isInitialized: boolean): WhirlpoolTick {
  return {
    isInitialized,
    outsideA: bytes.u128(at + 32),
    outsideB: bytes.u128(at + 48),
    outsideRewards: [bytes.u128(at + 64), bytes.u128(at + 80), bytes.u128(at + 96)],
  }
}

const NOT_INITIALIZED: WhirlpoolTick = { isInitialized: false, outsideA: 0n, outsideB: 0n, outsideRewards: [] }
