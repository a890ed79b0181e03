import type { AssetsRead } from './row.ts'

/**
 * Most positions of a wallet in one family on a chain that are summed, the first ones by the family's own order. Others
 * can give a wallet positions, so the rest is only counted.
 */
export const POSITIONS_MAX = 2_000

/** Approximate memory of a read and of an asset. */
const READ_BYTES = 1_024
const ASSET_BYTES = 768

/** Limits of the cache of reads, which expire with the next block or slot. */
export const CACHE_LIMITS = {
  entriesMax: 2_000,
  bytesMax: 64 * 1024 * 1024,
  getSize: ({ assets }: Pick<AssetsRead, 'assets'>) => READ_BYTES + ASSET_BYTES * assets.length,
}
