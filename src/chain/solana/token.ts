import { decodeBase58Address } from '../../lib/text/base58.ts'
import { ACCOUNT_BYTES_MAX, type SolanaAccount } from './accounts.ts'
import { type ByteReader, createByteReader } from './bytes.ts'
import { deriveProgramAddress } from './program_address.ts'

/** The two token programs: Token, and its successor with extensions. */
export const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
export const TOKEN_2022_PROGRAM = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'
export const TOKEN_PROGRAMS = [TOKEN_PROGRAM, TOKEN_2022_PROGRAM] as const

const ASSOCIATED_PROGRAM = 'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'

/** Derives a wallet's associated token account, the default account for a mint's tokens. */
export function deriveAssociatedTokenAddress(
  wallet: string,
  { mint, program }: { readonly mint: string; readonly program: string },
) {
  return deriveProgramAddress(ASSOCIATED_PROGRAM, [
    decodeBase58Address(wallet),
    decodeBase58Address(program),
    decodeBase58Address(mint),
  ])
}

/** Size of a mint of the Token program, and of the part that both programs share. */
const MINT_BYTES = 82
/** Token-2022 pads accounts with extensions to the size of a token account; a byte with the kind follows. */
const KIND_AT = 165
const KIND_MINT = 1
const EXTENSIONS_AT = 166
const EXTENSION = { transferFee: 1, interest: 10, metadata: 19, scaled: 25 } as const
/** Upper bound of a decoded name, bytes. */
const TEXT_BYTES_MAX = 256

/** A fee on transfers, in force from an epoch on. */
interface EpochFee {
  readonly epoch: bigint
  /** Maximum fee of one transfer, base units. */
  readonly max: bigint
  /** Fee rate, hundredths of a percent. */
  readonly bps: bigint
}

/** A token's name as stored. */
export interface RawTokenName {
  readonly symbol: string
  readonly name: string
}

/** A token as its mint describes it. */
export interface SolanaMint {
  readonly decimals: number
  /** Supply, base units. */
  readonly supply: bigint
  /** The fee in force before and from the epoch of `newer`; undefined if transfers cost nothing. */
  readonly transferFee: { readonly older: EpochFee; readonly newer: EpochFee } | undefined
  /** True if wallets show another amount than the stored one: interest, or a factor. */
  readonly isScaled: boolean
  /** The name; undefined if it is not stored in the mint itself. */
  readonly tokenName: RawTokenName | undefined
}

/** Decodes a mint of either program; undefined for other data. The caller must check the account's owner. */
export function decodeMint(data: Uint8Array): SolanaMint | undefined {
  const hasExtensions = data.length > EXTENSIONS_AT && data[KIND_AT] === KIND_MINT
  if (data.length !== MINT_BYTES && !hasExtensions) return undefined
  // Extensions beyond the bytes that were read may change amounts.
  if (data.length >= ACCOUNT_BYTES_MAX) return undefined
  const bytes = createByteReader(data)
  if (bytes.u8(45) !== 1) return undefined
  const extensions = hasExtensions ? decodeExtensions(data, bytes) : new Map<number, Uint8Array>()
  const fee = extensions.get(EXTENSION.transferFee)
  const metadata = extensions.get(EXTENSION.metadata)
  return {
    decimals: bytes.u8(44),
    supply: bytes.u64(36),
    transferFee: fee === undefined || fee.length < 108 ? undefined : decodeTransferFees(createByteReader(fee)),
    isScaled: extensions.has(EXTENSION.interest) || extensions.has(EXTENSION.scaled),
    tokenName: metadata === undefined ? undefined : decodeTokenName(metadata, 64),
  }
}

/** Returns the fee on a transfer in an epoch; undefined if there is none. */
export function getTransferFee({ transferFee }: SolanaMint, epoch: bigint): Omit<EpochFee, 'epoch'> | undefined {
  if (transferFee === undefined) return undefined
  const { newer, older } = transferFee
  const { max, bps } = epoch >= newer.epoch ? newer : older
  return max > 0n && bps > 0n ? { max, bps } : undefined
}

/** Decodes the extensions by number. An invalid length ends the list, as in the program. */
function decodeExtensions(data: Uint8Array, bytes: ByteReader): ReadonlyMap<number, Uint8Array> {
  const extensions = new Map<number, Uint8Array>()
  for (let at = EXTENSIONS_AT; at + 4 <= data.length; ) {
    const [kind, length] = [bytes.u16(at), bytes.u16(at + 2)]
    const end = at + 4 + length
    if (kind === 0 || end > data.length) break
    if (!extensions.has(kind)) extensions.set(kind, data.subarray(at + 4, end))
    at = end
  }
  return extensions
}

function decodeTransferFees(bytes: ByteReader) {
  const readFee = (at: number): EpochFee => ({
    epoch: bytes.u64(at),
    max: bytes.u64(at + 8),
    bps: BigInt(bytes.u16(at + 16)),
  })
  return { older: readFee(72), newer: readFee(90) }
}

/** Decodes name and symbol, each after a length of four bytes, up to the first zero; undefined if truncated. */
function decodeTokenName(data: Uint8Array, at: number): RawTokenName | undefined {
  const name = decodeText(data, at)
  const symbol = name && decodeText(data, name.end)
  return name && symbol && { name: name.text, symbol: symbol.text }
}

function decodeText(data: Uint8Array, at: number): { readonly text: string; readonly end: number } | undefined {
  if (at + 4 > data.length) return undefined
  const end = at + 4 + createByteReader(data).u32(at)
  if (end > data.length) return undefined
  const content = data.subarray(at + 4, Math.min(end, at + 4 + TEXT_BYTES_MAX))
  const zero = content.indexOf(0)
  return { text: new TextDecoder().decode(zero < 0 ? content : content.subarray(0, zero)), end }
}

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

/** Bytes of a token account that are decoded: all up to the state; extensions follow later. */
export const TOKEN_ACCOUNT_BYTES = 109
const STATES = ['none', 'usable', 'frozen'] as const

/** Decoded account of a token program. */
export interface TokenAccount {
  readonly mint: string
  /** The wallet or program address that may transfer the tokens. */
  readonly owner: string
  /** Amount, base units. */
  readonly amount: bigint
  readonly isFrozen: boolean
}

/** Decodes the first bytes of a token account; undefined for other data. The caller must check the account's owner. */
export function decodeTokenAccount(data: Uint8Array): TokenAccount | undefined {
  if (data.length < TOKEN_ACCOUNT_BYTES) return undefined
  const bytes = createByteReader(data)
  const state = STATES[bytes.u8(108)]
  if (state === undefined || state === 'none') return undefined
  return { mint: bytes.key(0), owner: bytes.key(32), amount: bytes.u64(64), isFrozen: state === 'frozen' }
}
