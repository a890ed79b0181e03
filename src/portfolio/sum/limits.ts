import type { AssetsRead } from './row.ts'

/** Most positions of a wallet on a chain, over all families. */
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
