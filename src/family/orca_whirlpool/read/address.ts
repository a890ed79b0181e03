import { deriveProgramAddress } from '../../../chain/solana/program_address.ts'
import { decodeBase58Address } from '../../../lib/text/base58.ts'
import { arrayStart } from '../math/tick.ts'

/** Derives the address of the position of a token. */
export function derivePositionAddress(program: string, mint: string): string {
  return deriveProgramAddress(program, ['position', decodeBase58Address(mint)])
}

/** Derives the address of the bundle of a token. */
export function deriveBundleAddress(program: string, mint: string): string {
  return deriveProgramAddress(program, ['position_bundle', decodeBase58Address(mint)])
}

/** Derives the address of a position in a bundle, by the mint of the bundle's token. */
export function deriveBundledPositionAddress(program: string, mint: string, index: number): string {
  return deriveProgramAddress(program, ['bundled_position', decodeBase58Address(mint), String(index)])
}

/** Derives the address of the tick array of a pool that contains a tick. */
export function deriveTickArrayAddress(
  program: string,
  { pool, tickSpacing, tick }: { readonly pool: string; readonly tickSpacing: number; readonly tick: number },
): string {
  return deriveProgramAddress(program, ['tick_array', decodeBase58Address(pool), String(arrayStart(tick, tickSpacing))])
}
