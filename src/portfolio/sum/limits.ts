import type { AssetsRead } from './row.ts'

/** Most positions of a wallet on a chain, over all families. */
export const POSITIONS_MAX = 2_000

/** About how much memory a reading and an asset take. */
const READ_BYTES = 1_024
const ASSET_BYTES = 768

/** Readings are kept until the next block or slot: at most this many, and at most this many bytes. */
export const CACHE_LIMITS = {
  entriesMax: 2_000,
  bytesMax: 64 * 1024 * 1024,
  bytesOf: ({ assets }: Pick<AssetsRead, 'assets'>) => READ_BYTES + ASSET_BYTES * assets.length,
}
