import { writer } from './kamino.ts'

/*
 * Writes accounts of the token programs and of Metaplex byte by byte. The offsets are spelt out here once more, on
 * purpose: taken from the programs, not from the readers that they test.
 */

export const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
export const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'
export const METADATA = 'metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s'

export interface FeeFixture {
  readonly epoch: bigint
  readonly max: bigint
  readonly bps: number
}

export interface MintFixture {
  readonly decimals: number
  readonly supply?: bigint
  readonly fees?: { readonly older: FeeFixture; readonly newer: FeeFixture }
  /** Written in the mint itself. */
  readonly named?: { readonly symbol: string; readonly name: string }
  /** Further extensions: number and value. */
  readonly extensions?: readonly (readonly [kind: number, value: Uint8Array])[]
}

/** Bytes of a mint, of the second program if it has extensions. */
export function mintBytes({ decimals, supply = 1n, fees, named, extensions = [] }: MintFixture): Uint8Array {
  const added = [...extensions]
  if (fees !== undefined) added.push([1, feeBytes(fees)])
  if (named !== undefined)
    added.push([19, Buffer.concat([new Uint8Array(64), ...texts([named.name, named.symbol, ''])])])
  const base = writer(82)
  base.uint(36, supply, 8)
  base.uint(44, BigInt(decimals), 1)
  base.uint(45, 1n, 1)
  if (added.length === 0) return base.bytes
  const parts = added.map(([kind, value]) => Buffer.concat([u16(kind), u16(value.length), value]))
  return new Uint8Array(Buffer.concat([base.bytes, new Uint8Array(83), Uint8Array.of(1), ...parts]))
}

/** Bytes of a token account. */
export function tokenAccountBytes(fixture: {
  readonly mint: string
  readonly owner: string
  readonly amount?: bigint
  /** 1 usable, 2 frozen. */
  readonly state?: number
  /** Who else may move it, for an amount. */
  readonly delegate?: string
  /** With extensions, as the second program keeps it. */
  readonly isExtended?: boolean
}): Uint8Array {
  const at = writer(fixture.isExtended === true ? 170 : 165)
  at.key(0, fixture.mint)
  at.key(32, fixture.owner)
  at.uint(64, fixture.amount ?? 1n, 8)
  if (fixture.delegate !== undefined) {
    at.uint(72, 1n, 4)
    at.key(76, fixture.delegate)
    at.uint(121, 1n, 8)
  }
  at.uint(108, BigInt(fixture.state ?? 1), 1)
  if (fixture.isExtended === true) at.uint(165, 2n, 1)
  return at.bytes
}

/** Bytes of Metaplex's account of a mint's name. */
export function metadataBytes(fixture: { readonly mint: string; readonly symbol: string; readonly name: string }) {
  const at = writer(679)
  at.uint(0, 4n, 1)
  at.key(33, fixture.mint)
  at.uint(65, 32n, 4)
  at.bytes.set(Buffer.from(fixture.name), 69)
  at.uint(101, 10n, 4)
  at.bytes.set(Buffer.from(fixture.symbol), 105)
  return at.bytes
}

function feeBytes({ older, newer }: NonNullable<MintFixture['fees']>): Uint8Array {
  const at = writer(108)
  for (const [start, { epoch, max, bps }] of [[72, older] as const, [90, newer] as const]) {
    at.uint(start, epoch, 8)
    at.uint(start + 8, max, 8)
    at.uint(start + 16, BigInt(bps), 2)
  }
  return at.bytes
}

function texts(all: readonly string[]): Uint8Array[] {
  return all.flatMap((text) => {
    const length = writer(4)
    length.uint(0, BigInt(Buffer.byteLength(text)), 4)
    return [length.bytes, Buffer.from(text)]
  })
}

function u16(value: number): Uint8Array {
  return Uint8Array.of(value & 255, value >> 8)
}
