import { ACCOUNT_BYTES_MAX } from '../accounts.ts'
import { type ByteReader, createByteReader } from '../bytes.ts'

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
export function decodeTokenName(data: Uint8Array, at: number): RawTokenName | undefined {
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
