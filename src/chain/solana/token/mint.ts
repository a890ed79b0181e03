import { type ByteReader, createByteReader } from '../bytes.ts'

/** Size of a mint of the first token program, and of the part that both programs share. */
const MINT_BYTES = 82
/** In the second program every account with extensions is padded to the size of a token account, then says its kind. */
const KIND_AT = 165
const KIND_MINT = 1
const EXTENSIONS_AT = 166
const EXTENSION = { transferFee: 1, interest: 10, metadata: 19, scaled: 25 } as const
/** Longest text of a name that is read, bytes. */
const TEXT_BYTES_MAX = 256

/** A fee on transfers, in force from an epoch on. */
interface EpochFee {
  readonly epoch: bigint
  /** Most that one transfer is charged, base units. */
  readonly max: bigint
  /** Hundredths of a percent. */
  readonly bps: bigint
}

/** What a token is called, as it was written. */
export interface RawTokenName {
  readonly symbol: string
  readonly name: string
}

/** A token as its mint describes it. */
export interface SolanaMint {
  readonly decimals: number
  /** Base units. */
  readonly supply: bigint
  /** The fee in force before and from the epoch of `newer`; undefined if transfers cost nothing. */
  readonly transferFee: { readonly older: EpochFee; readonly newer: EpochFee } | undefined
  /** True if wallets show another amount than the one that is kept: interest, or a factor. */
  readonly isScaled: boolean
  /** Undefined if it is not written in the mint itself. */
  readonly named: RawTokenName | undefined
}

/** Reads a mint of either program; undefined if the data are none. Who owns the account is for the caller to check. */
export function decodeMint(data: Uint8Array): SolanaMint | undefined {
  const hasExtensions = data.length > EXTENSIONS_AT && data[KIND_AT] === KIND_MINT
  if (data.length !== MINT_BYTES && !hasExtensions) return undefined
  const bytes = createByteReader(data)
  if (bytes.u8(45) !== 1) return undefined
  const places = hasExtensions ? extensionsOf(data, bytes) : new Map<number, Uint8Array>()
  const fee = places.get(EXTENSION.transferFee)
  const metadata = places.get(EXTENSION.metadata)
  return {
    decimals: bytes.u8(44),
    supply: bytes.u64(36),
    transferFee: fee === undefined || fee.length < 108 ? undefined : transferFeesOf(createByteReader(fee)),
    isScaled: places.has(EXTENSION.interest) || places.has(EXTENSION.scaled),
    named: metadata === undefined ? undefined : decodeTokenName(metadata, 64),
  }
}

/** The fee on a transfer in an epoch; undefined if it takes none. */
export function getTransferFee({ transferFee }: SolanaMint, epoch: bigint): Omit<EpochFee, 'epoch'> | undefined {
  if (transferFee === undefined) return undefined
  const { newer, older } = transferFee
  const { max, bps } = epoch >= newer.epoch ? newer : older
  return max > 0n && bps > 0n ? { max, bps } : undefined
}

/** Each extension's value, by its number. Broken lengths end the list, as they do for the program. */
function extensionsOf(data: Uint8Array, bytes: ByteReader): ReadonlyMap<number, Uint8Array> {
  const found = new Map<number, Uint8Array>()
  for (let at = EXTENSIONS_AT; at + 4 <= data.length; ) {
    const [kind, length] = [bytes.u16(at), bytes.u16(at + 2)]
    const end = at + 4 + length
    if (kind === 0 || end > data.length) break
    if (!found.has(kind)) found.set(kind, data.subarray(at + 4, end))
    at = end
  }
  return found
}

function transferFeesOf(bytes: ByteReader) {
  const feeAt = (at: number): EpochFee => ({
    epoch: bytes.u64(at),
    max: bytes.u64(at + 8),
    bps: BigInt(bytes.u16(at + 16)),
  })
  return { older: feeAt(72), newer: feeAt(90) }
}

/** A name and a symbol, each after its length of four bytes, without zeros at their ends; undefined if they are cut off. */
export function decodeTokenName(data: Uint8Array, at: number): RawTokenName | undefined {
  const name = textIn(data, at)
  const symbol = name && textIn(data, name.end)
  return name && symbol && { name: name.text, symbol: symbol.text }
}

function textIn(data: Uint8Array, at: number): { readonly text: string; readonly end: number } | undefined {
  if (at + 4 > data.length) return undefined
  const end = at + 4 + createByteReader(data).u32(at)
  if (end > data.length) return undefined
  const content = data.subarray(at + 4, Math.min(end, at + 4 + TEXT_BYTES_MAX))
  const zero = content.indexOf(0)
  return { text: new TextDecoder().decode(zero < 0 ? content : content.subarray(0, zero)), end }
}
