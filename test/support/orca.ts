import { writer } from './kamino.ts'

/*
 * Writes accounts of Orca's Whirlpool program byte by byte. The offsets are spelt out here once more, on purpose: taken
 * from the program, not from the reader that they test.
 */

export const WHIRLPOOL = 'whirLbMiicVdio4qvUfM5KAg6Ct8VwpYzGff3uctyCc'
export const WHIRLPOOL_2026 = 'iwhrLHdsgrvmnwU8GF2FSmyabSMjfHwFGJAX2ufJ3ZN'

export interface PoolFixture {
  readonly tickSpacing: number
  readonly feeTierIndex?: number
  readonly feeRate: number
  readonly liquidity: bigint
  readonly sqrtPrice: bigint
  readonly tick: number
  readonly mintA: string
  readonly vaultA: string
  readonly growthA: bigint
  readonly mintB: string
  readonly vaultB: string
  readonly growthB: bigint
  readonly rewardsUpdatedAt: bigint
  readonly rewards: readonly {
    readonly mint: string
    readonly vault: string
    readonly emissionsX64: bigint
    readonly growthX64: bigint
  }[]
}

export interface PositionFixture {
  readonly pool: string
  readonly mint: string
  readonly liquidity: bigint
  readonly lower: number
  readonly upper: number
  readonly checkpointA: bigint
  readonly owedA: bigint
  readonly checkpointB: bigint
  readonly owedB: bigint
  readonly rewards: readonly { readonly checkpoint: bigint; readonly owed: bigint }[]
}

export interface TickFixture {
  readonly index: number
  readonly net?: bigint
  readonly gross?: bigint
  readonly outsideA: bigint
  readonly outsideB: bigint
  readonly rewards: readonly bigint[]
}

export interface ArrayFixture {
  readonly start: number
  readonly pool: string
  readonly tickSpacing: number
  /** Those that are initialized. */
  readonly ticks: readonly TickFixture[]
}

/** Bytes of a pool. */
export function poolBytes(fixture: PoolFixture): Uint8Array {
  const at = writer(653, '3f95d10ce1806309')
  at.uint(41, BigInt(fixture.tickSpacing), 2)
  at.uint(43, BigInt(fixture.feeTierIndex ?? fixture.tickSpacing), 2)
  at.uint(45, BigInt(fixture.feeRate), 2)
  at.uint(49, fixture.liquidity, 16)
  at.uint(65, fixture.sqrtPrice, 16)
  at.uint(81, unsigned(fixture.tick), 4)
  at.key(101, fixture.mintA)
  at.key(133, fixture.vaultA)
  at.uint(165, fixture.growthA, 16)
  at.key(181, fixture.mintB)
  at.key(213, fixture.vaultB)
  at.uint(245, fixture.growthB, 16)
  at.uint(261, fixture.rewardsUpdatedAt, 8)
  for (const [index, reward] of fixture.rewards.entries()) {
    const start = 269 + 128 * index
    at.key(start, reward.mint)
    at.key(start + 32, reward.vault)
    at.uint(start + 96, reward.emissionsX64, 16)
    at.uint(start + 112, reward.growthX64, 16)
  }
  return at.bytes
}

/** Bytes of a position. */
export function positionBytes(fixture: PositionFixture): Uint8Array {
  const at = writer(216, 'aabc8fe47a40f7d0')
  at.key(8, fixture.pool)
  at.key(40, fixture.mint)
  at.uint(72, fixture.liquidity, 16)
  at.uint(88, unsigned(fixture.lower), 4)
  at.uint(92, unsigned(fixture.upper), 4)
  at.uint(96, fixture.checkpointA, 16)
  at.uint(112, fixture.owedA, 8)
  at.uint(120, fixture.checkpointB, 16)
  at.uint(136, fixture.owedB, 8)
  for (const [index, reward] of fixture.rewards.entries()) {
    at.uint(144 + 24 * index, reward.checkpoint, 16)
    at.uint(160 + 24 * index, reward.owed, 8)
  }
  return at.bytes
}

/** Bytes of a bundle whose given places are taken. */
export function bundleBytes({ mint, places }: { readonly mint: string; readonly places: readonly number[] }) {
  const at = writer(136, '81a9af41b95f2064')
  at.key(8, mint)
  for (const place of places) {
    const byte = 40 + Math.floor(place / 8)
    at.bytes[byte] = (at.bytes[byte] ?? 0) + 2 ** (place % 8)
  }
  return at.bytes
}

/** Bytes of an array that has room for 88 ticks. */
export function fixedArrayBytes({ start, pool, tickSpacing, ticks }: ArrayFixture): Uint8Array {
  const at = writer(9_988, '4561bdbe6e0742bb')
  at.uint(8, unsigned(start), 4)
  at.key(9_956, pool)
  for (const tick of ticks) at.bytes.set(tickBytes(tick), 12 + 113 * ((tick.index - start) / tickSpacing))
  return at.bytes
}

/** Bytes of an array as long as its ticks need: one byte for each that is not initialized. */
export function dynamicArrayBytes({ start, pool, tickSpacing, ticks }: ArrayFixture): Uint8Array {
  const head = writer(60, '11d8f68ee1c7da38')
  head.uint(8, unsigned(start), 4)
  head.key(12, pool)
  const byPlace = new Map(ticks.map((tick) => [(tick.index - start) / tickSpacing, tick]))
  head.uint(
    44,
    [...byPlace.keys()].reduce((bitmap, place) => bitmap + (1n << BigInt(place)), 0n),
    16,
  )
  const parts = Array.from({ length: 88 }, (_, place) => {
    const tick = byPlace.get(place)
    return tick === undefined ? new Uint8Array(1) : tickBytes(tick)
  })
  return new Uint8Array(Buffer.concat([head.bytes, ...parts]))
}

/** A byte that says it is initialized, then 112. */
function tickBytes(tick: TickFixture): Uint8Array {
  const at = writer(113, '01')
  at.uint(1, BigInt.asUintN(128, tick.net ?? 0n), 16)
  at.uint(17, tick.gross ?? 1n, 16)
  at.uint(33, tick.outsideA, 16)
  at.uint(49, tick.outsideB, 16)
  for (const [index, outside] of tick.rewards.entries()) at.uint(65 + 16 * index, outside, 16)
  return at.bytes
}

function unsigned(value: number): bigint {
  return BigInt.asUintN(32, BigInt(value))
}
