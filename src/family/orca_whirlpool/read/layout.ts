import type { SolanaAccounts } from '../../../chain/solana/accounts.ts'
import {
  type ByteReader,
  createByteReader,
  isTruncatedAccount,
  matchesAccountKind,
} from '../../../chain/solana/bytes.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { PoolReward, Whirlpool, WhirlpoolPosition, WhirlpoolTick } from '../math/state.ts'
import { arrayStart, sqrtPriceAtTickX64, TICK_MAX } from '../math/tick.ts'

/*
 * Byte layout of the program's accounts: little-endian, after Anchor's eight discriminator bytes. Decoders return
 * undefined for other accounts, and for contents that the program never writes.
 */

const POOL = { size: 653, discriminator: '3f95d10ce1806309' }
const POSITION = { size: 216, discriminator: 'aabc8fe47a40f7d0' }
const BUNDLE = { size: 136, discriminator: '81a9af41b95f2064' }
const FIXED_ARRAY = { size: 9_988, discriminator: '4561bdbe6e0742bb' }
/** Its size depends on the number of initialized ticks. */
const DYNAMIC_ARRAY = { size: 148, sizeMax: 10_004, discriminator: '11d8f68ee1c7da38' }

const KEY_NONE = '1'.repeat(32)
const REWARDS = 3
const POOL_REWARDS = { at: 269, size: 128 }
const POSITION_REWARDS = { at: 144, size: 24 }
const FIXED_TICKS = { at: 12, size: 113, poolAt: 9_956 }
const DYNAMIC_TICKS = { at: 60, bitmapAt: 44, poolAt: 12, size: 112 }
const BUNDLE_SIZE = 256

/** True if the bytes begin as one of these accounts but have another size. */
export function isTruncated(data: Uint8Array): boolean {
  return isTruncatedAccount([POOL, POSITION, BUNDLE, FIXED_ARRAY, DYNAMIC_ARRAY], data)
}

/** Decodes a pool; undefined if its spacing is 0 or its tick does not match its price. */
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
    rewards: readRewards(bytes),
  }
}

/** True if tick and price match. After a swap that ends on a tick, the pool's tick may be one below its price. */
function isPriceAt(tick: number, sqrtPriceX64: bigint): boolean {
  if (tick < -TICK_MAX - 1 || tick > TICK_MAX) return false
  const sqrtPriceMinX64 = tick < -TICK_MAX ? 0n : sqrtPriceAtTickX64(tick)
  return sqrtPriceMinX64 <= sqrtPriceX64 && sqrtPriceX64 <= sqrtPriceAtTickX64(Math.min(tick + 1, TICK_MAX))
}

/** Reads rewards up to the first without a mint. */
function readRewards(bytes: ByteReader): readonly PoolReward[] {
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

/** Reads the time of a pool's last update of rewards, Unix seconds; undefined if the bytes are not a pool. */
export function readRewardsTimestampSec(data: Uint8Array): bigint | undefined {
  return matchesAccountKind(POOL, data) ? createByteReader(data).u64(261) : undefined
}

/** Decodes a position; undefined if its range is empty or out of bounds. */
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

/** Decodes a bundle of positions: the mint of its token, and the indexes in use. */
export function decodeBundle(
  data: Uint8Array,
): { readonly mint: string; readonly indexes: readonly number[] } | undefined {
  if (!matchesAccountKind(BUNDLE, data)) return undefined
  const isTaken = (index: number) => (((data[40 + (index >> 3)] ?? 0) >> (index & 7)) & 1) === 1
  return {
    mint: createByteReader(data).key(8),
    indexes: Array.from({ length: BUNDLE_SIZE }, (_, index) => index).filter(isTaken),
  }
}

/** A tick and the pool whose array contains it. */
interface TickLocation {
  readonly pool: string
  readonly tickSpacing: number
  readonly tick: number
}

/** Decodes one tick of an array of either kind; undefined if the array is another pool's or starts elsewhere. */
export function decodeTick(data: Uint8Array, { pool, tickSpacing, tick }: TickLocation): WhirlpoolTick | undefined {
  const isFixed = matchesAccountKind(FIXED_ARRAY, data)
  if (!isFixed && !matchesAccountKind(DYNAMIC_ARRAY, data)) return undefined
  const bytes = createByteReader(data)
  const start = bytes.i32(8)
  const isOwn = bytes.key(isFixed ? FIXED_TICKS.poolAt : DYNAMIC_TICKS.poolAt) === pool
  if (!isOwn || start !== arrayStart(tick, tickSpacing) || (tick - start) % tickSpacing !== 0) return undefined
  const index = (tick - start) / tickSpacing
  if (isFixed) {
    const at = FIXED_TICKS.at + FIXED_TICKS.size * index
    return readTick(bytes, at + 1, bytes.u8(at) === 1)
  }
  const at = findDynamicTickOffset(bytes.u128(DYNAMIC_TICKS.bitmapAt), index)
  if (at >= data.length) return undefined
  if (bytes.u8(at) !== 1) return NOT_INITIALIZED
  return at + 1 + DYNAMIC_TICKS.size > data.length ? undefined : readTick(bytes, at + 1, true)
}

/** Byte offset of a tick in a dynamic array: each earlier tick takes one byte, and 112 more if initialized. */
function findDynamicTickOffset(bitmap: bigint, index: number): number {
  let bitsBefore = bitmap & ((1n << BigInt(index)) - 1n)
  let initialized = 0
  for (; bitsBefore > 0n; bitsBefore &= bitsBefore - 1n) initialized++
  return DYNAMIC_TICKS.at + index + DYNAMIC_TICKS.size * initialized
}

/** Reads the growth outside a tick, which follows its net and gross liquidity. */
function readTick(bytes: ByteReader, at: number, isInitialized: boolean): WhirlpoolTick {
  return {
    isInitialized,
    outsideA: bytes.u128(at + 32),
    outsideB: bytes.u128(at + 48),
    outsideRewards: [bytes.u128(at + 64), bytes.u128(at + 80), bytes.u128(at + 96)],
  }
}

const NOT_INITIALIZED: WhirlpoolTick = { isInitialized: false, outsideA: 0n, outsideB: 0n, outsideRewards: [] }

/** Throws `UpstreamError` for an impossible answer, which then counts as a failure of the endpoint. */
export type AccountsCheck = (answer: SolanaAccounts) => void

/** Rejects what these programs never write: accounts of another size, and a pool later than the cluster's clock. */
export function createAccountsCheck(programs: readonly string[]): AccountsCheck {
  return ({ timestampSec, accounts }) => {
    for (const account of accounts) {
      if (account === null || !programs.includes(account.owner)) continue
      if (isTruncated(account.data)) throw new UpstreamError('Cannot use the answer: an account is truncated')
      const rewardsAtSec = readRewardsTimestampSec(account.data)
      if (rewardsAtSec !== undefined && rewardsAtSec > timestampSec) {
        throw new UpstreamError("Cannot use the answer: a pool is later than the cluster's clock")
      }
    }
  }
}
