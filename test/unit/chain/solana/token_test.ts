import { describe, expect, test } from 'bun:test'
import {
  decodeMetadata,
  decodeMint,
  decodeTokenAccount,
  deriveMetadataAddress,
  getTransferFee,
} from '../../../../src/chain/solana/token.ts'
import { toFakeAddress, toServedAccount } from '../../../support/kamino.ts'
import {
  type FeeFixture,
  METADATA,
  metadataBytes,
  mintBytes,
  TOKEN,
  tokenAccountBytes,
} from '../../../support/solana_token.ts'

const MINT = toFakeAddress('mint')
const OWNER = toFakeAddress('owner')

describe('a mint', () => {
  test('of the first program has decimals and a supply', () => {
    expect(decodeMint(mintBytes({ decimals: 9, supply: 2n ** 64n - 1n }))).toEqual({
      decimals: 9,
      supply: 2n ** 64n - 1n,
      transferFee: undefined,
      isScaled: false,
      tokenName: undefined,
    })
  })

  test('of the second program has a fee and a name, in any order and among others', () => {
    const fees = { older: { epoch: 1n, max: 2n, bps: 3 }, newer: { epoch: 4n, max: 2n ** 64n - 1n, bps: 10_000 } }
    const named = { symbol: '', name: 'Ü'.repeat(20) }
    const decoded = decodeMint(mintBytes({ decimals: 0, fees, named, extensions: [[3, new Uint8Array(32)]] }))
    expect(decoded).toMatchObject({
      tokenName: named,
      transferFee: {
        older: { epoch: 1n, max: 2n, bps: 3n },
        newer: { epoch: 4n, max: 2n ** 64n - 1n, bps: 10_000n },
      },
    })
  })

  test.each([
    ['interest', 10, true],
    ['a factor', 25, true],
    ['a close authority', 3, false],
  ])('with %s', (_, kind, isScaled) => {
    expect(decodeMint(mintBytes({ decimals: 6, extensions: [[kind, new Uint8Array(56)]] }))?.isScaled).toBe(isScaled)
  })

  test('is undefined if it is uninitialized, a token account, or of another size', () => {
    const honest = mintBytes({ decimals: 6 })
    expect(decodeMint(honest.with(45, 0))).toBeUndefined()
    expect(decodeMint(honest.subarray(1))).toBeUndefined()
    expect(decodeMint(new Uint8Array())).toBeUndefined()
    // More of it may follow than is read.
    expect(decodeMint(mintBytes({ decimals: 6, extensions: [[19, new Uint8Array(32_600)]] }))).toBeUndefined()
    expect(decodeMint(tokenAccountBytes({ mint: MINT, owner: OWNER }))).toBeUndefined()
    expect(decodeMint(tokenAccountBytes({ mint: MINT, owner: OWNER, isExtended: true }))).toBeUndefined()
  })

  test('with invalid extensions has those before them, and never throws', () => {
    const fees = { older: { epoch: 0n, max: 0n, bps: 0 }, newer: { epoch: 0n, max: 5n, bps: 1 } }
    const whole = mintBytes({ decimals: 6, fees, named: { symbol: 'S', name: 'N' } })
    for (let length = 166; length <= whole.length; length++) {
      const mint = decodeMint(whole.subarray(0, length))
      expect(mint?.transferFee === undefined).toBe(length < 166 + 4 + 108)
      expect(mint?.tokenName === undefined).toBe(length < whole.length)
    }
    // A name that says it is longer than its extension.
    const lying = whole.slice()
    lying.set([255, 255, 255, 255], 166 + 4 + 108 + 4 + 64)
    expect(decodeMint(lying)?.tokenName).toBeUndefined()
  })

  const fee = (epoch: bigint, max: bigint, bps: number): FeeFixture => ({ epoch, max, bps })
  const getFee = (epoch: bigint, fees: { older: FeeFixture; newer: FeeFixture }) => {
    const mint = decodeMint(mintBytes({ decimals: 6, fees }))
    if (mint === undefined) throw new Error('Expected a mint')
    return getTransferFee(mint, epoch)
  }

  test('takes the older fee of a transfer before the epoch of the newer, and the newer from then on', () => {
    const fees = { older: fee(0n, 2n ** 63n, 100), newer: fee(925n, 7n, 5_000) }
    expect(getFee(924n, fees)).toEqual({ max: 2n ** 63n, bps: 100n })
    expect(getFee(925n, fees)).toEqual({ max: 7n, bps: 5_000n })
  })

  test('takes no fee if there is none, or none in force', () => {
    expect(getFee(5n, { older: fee(0n, 9n, 0), newer: fee(5n, 0n, 100) })).toBeUndefined()
    expect(getFee(4n, { older: fee(0n, 9n, 0), newer: fee(5n, 0n, 100) })).toBeUndefined()
    const plain = decodeMint(mintBytes({ decimals: 6 }))
    expect(plain && getTransferFee(plain, 5n)).toBeUndefined()
  })
})

describe('a token account', () => {
  test.each([
    ['usable', 1, false],
    ['frozen', 2, true],
  ])('%s', (_, state, isFrozen) => {
    const data = tokenAccountBytes({
      mint: MINT,
      owner: OWNER,
      amount: 2n ** 64n - 1n,
      state,
      delegate: toFakeAddress('d'),
    })
    expect(decodeTokenAccount(data)).toEqual({ mint: MINT, owner: OWNER, amount: 2n ** 64n - 1n, isFrozen })
    expect(decodeTokenAccount(data.subarray(0, 109))).toEqual(decodeTokenAccount(data))
  })

  test('is undefined if it is shorter, uninitialized, or in an unknown state', () => {
    expect(decodeTokenAccount(tokenAccountBytes({ mint: MINT, owner: OWNER }).subarray(0, 108))).toBeUndefined()
    expect(decodeTokenAccount(tokenAccountBytes({ mint: MINT, owner: OWNER, state: 0 }))).toBeUndefined()
    expect(decodeTokenAccount(tokenAccountBytes({ mint: MINT, owner: OWNER, state: 3 }))).toBeUndefined()
  })
})

describe("Metaplex's name of a mint", () => {
  const data = metadataBytes({ mint: MINT, symbol: 'SOL', name: 'Wrapped SOL' })

  test('is without its padding zeros', () => {
    expect(decodeMetadata({ ...toServedAccount(data, METADATA), lamports: 1n }, MINT)).toEqual({
      symbol: 'SOL',
      name: 'Wrapped SOL',
    })
  })

  test.each([
    ['of another program', data, TOKEN],
    ['of another kind', data.with(0, 1), METADATA],
    ['of another mint', metadataBytes({ mint: OWNER, symbol: 'SOL', name: 'Wrapped SOL' }), METADATA],
    ['cut short', data.subarray(0, 100), METADATA],
    ['empty', new Uint8Array(), METADATA],
  ])('is refused if it is %s', (_, bytes, owner) => {
    expect(decodeMetadata({ owner, data: bytes, lamports: 1n }, MINT)).toBeUndefined()
    expect(decodeMetadata(null, MINT)).toBeUndefined()
  })

  test('is stored at a derived address', () => {
    expect(deriveMetadataAddress(MINT)).not.toBe(deriveMetadataAddress(OWNER))
  })
})
