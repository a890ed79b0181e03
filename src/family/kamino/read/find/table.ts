import type { SolanaAccount } from '../../../../chain/solana/accounts.ts'
import { createByteReader } from '../../../../chain/solana/bytes.ts'

const TABLE_OWNER = 'AddressLookupTab1e1111111111111111111111111'
const TABLE_KIND = 1
const KEYS_AT = 56
const KEY_BYTES = 32
/** Highest number of addresses in a lookup table. */
const KEYS_MAX = 256
const USER_BYTES = 1032
const USER_TABLE_AT = 48

/** Decodes the addresses in a lookup table; empty if the account is no lookup table. */
export function decodeLookupTable(account: SolanaAccount | null | undefined): string[] {
  if (account?.owner !== TABLE_OWNER || account.data.length < KEYS_AT) return []
  const bytes = createByteReader(account.data)
  if (bytes.u32(0) !== TABLE_KIND) return []
  const count = Math.min(KEYS_MAX, Math.floor((account.data.length - KEYS_AT) / KEY_BYTES))
  return Array.from({ length: count }, (_, index) => bytes.key(KEYS_AT + index * KEY_BYTES))
}

/** Decodes the lookup table that a wallet's metadata account names; undefined without one. */
export function decodeUserTable(account: SolanaAccount | null | undefined, program: string): string | undefined {
  if (account?.owner !== program || account.data.length !== USER_BYTES) return undefined
  return createByteReader(account.data).key(USER_TABLE_AT)
}
