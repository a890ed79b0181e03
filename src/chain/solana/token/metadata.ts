import { decodeBase58Address } from '../../../lib/text/base58.ts'
import type { SolanaAccount } from '../accounts.ts'
import { createByteReader } from '../bytes.ts'
import { deriveProgramAddress } from '../program_address.ts'
import { decodeTokenName, type RawTokenName } from './mint.ts'

/** Metaplex, the program that stores token names outside of mints. */
const METADATA_PROGRAM = 'metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s'
const KIND_METADATA = 4
const MINT_AT = 33
const NAMES_AT = 65

/** Derives the address of a mint's metadata account, which has the name if the mint has none. */
export function deriveMetadataAddress(mint: string): string {
  return deriveProgramAddress(METADATA_PROGRAM, [
    'metadata',
    decodeBase58Address(METADATA_PROGRAM),
    decodeBase58Address(mint),
  ])
}

/** Decodes a mint's name from its account at `deriveMetadataAddress`; undefined if there is none. */
export function decodeMetadata(account: SolanaAccount | null | undefined, mint: string): RawTokenName | undefined {
  if (account?.owner !== METADATA_PROGRAM || account.data.length < NAMES_AT) return undefined
  const bytes = createByteReader(account.data)
  if (bytes.u8(0) !== KIND_METADATA || bytes.key(MINT_AT) !== mint) return undefined
  return decodeTokenName(account.data, NAMES_AT)
}
