import { describe, expect, test } from 'bun:test'
import { decodeMetadata, deriveMetadataAddress } from '../../../src/chain/solana/token/metadata.ts'
import { decodeMint, getTransferFee } from '../../../src/chain/solana/token/mint.ts'
import { decodeTokenAccount } from '../../../src/chain/solana/token_account.ts'
import { toFakeAddress, toServedAccount } from '../../support/kamino.ts'
import {
  type FeeFixture,
  METADATA,
  metadataBytes,
  mintBytes,
  TOKEN,
  tokenAccountBytes,
} from '../../support/solana_token.ts'

const MINT = toFakeAddress('mint')
const OWNER = toFakeAddress('owner')

describe('a mint', () => {
  test('of the first program has decimals and a supply', () => {
    expect(decodeMint(mintBytes({ decimals: 9, supply: 2n ** 64n - 1n }))).toEqual({
      decimals: 9,
      supply: 2n ** 64n - 1n,
      transferFee: undefined,
      isScaled: false,
      named: undefined,
    })
  })

  test('of the second program has a fee and a name, in any order and among others', () => {
    const fees = { older: { epoch: 1n, max: 2n, bps: 3 }, newer: { epoch: 4n, max: 2n ** 64n - 1n, bps: 10_000 } }
    const named = { symbol: '', name: 'Ü'.repeat(20) }
    const decoded = decodeMint(mintBytes({ decimals: 0, fees, named, extensions: [[3, new Uint8Array(32)]] }))
    expect(decoded).toMatchObject({
      named,
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

  test('is none if it was never begun, is a token account, or has another size', () => {
    const honest = mintBytes({ decimals: 6 })
    expect(decodeMint(honest.with(45, 0))).toBeUndefined()
    expect(decodeMint(honest.subarray(1))).toBeUndefined()
    expect(decodeMint(new Uint8Array())).toBeUndefined()
    expect(decodeMint(tokenAccountBytes({ mint: MINT, owner: OWNER }))).toBeUndefined()
    expect(decodeMint(tokenAccountBytes({ mint: MINT, owner: OWNER, isExtended: true }))).toBeUndefined()
  })

  test('with broken extensions has those before them, and never fails', () => {
    const fees = { older: { epoch: 0n, max: 0n, bps: 0 }, newer: { epoch: 0n, max: 5n, bps: 1 } }
    const whole = mintBytes({ decimals: 6, fees, named: { symbol: 'S', name: 'N' } })
    for (let length = 166; length <= whole.length; length++) {
      const mint = decodeMint(whole.subarray(0, length))
      expect(mint?.transferFee === undefined).toBe(length < 166 + 4 + 108)
      expect(mint?.named === undefined).toBe(length < whole.length)
    }
    // A name that says it is longer than its extension.
    const lying = whole.slice()
    lying.set([255, 255, 255, 255], 166 + 4 + 108 + 4 + 64)
    expect(decodeMint(lying)?.named).toBeUndefined()
  })

  const fee = (epoch: bigint, max: bigint, bps: number): FeeFixture => ({ epoch, max, bps })
  const feeIn = (epoch: bigint, fees: { older: FeeFixture; newer: FeeFixture }) => {
    const mint = decodeMint(mintBytes({ decimals: 6, fees }))
    if (mint === undefined) throw new Error('Expected a mint')
    return getTransferFee(mint, epoch)
  }

  test('takes the older fee of a transfer before the epoch of the newer, and the newer from then on', () => {
    const fees = { older: fee(0n, 2n ** 63n, 100), newer: fee(925n, 7n, 5_000) }
    expect(feeIn(924n, fees)).toEqual({ max: 2n ** 63n, bps: 100n })
    expect(feeIn(925n, fees)).toEqual({ max: 7n, bps: 5_000n })
  })

  test('takes no fee if there is none, or none in force', () => {
    expect(feeIn(5n, { older: fee(0n, 9n, 0), newer: fee(5n, 0n, 100) })).toBeUndefined()
    expect(feeIn(4n, { older: fee(0n, 9n, 0), newer: fee(5n, 0n, 100) })).toBeUndefined()
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

  test('is none if it is shorter, was never begun, or is in no known state', () => {
    expect(decodeTokenAccount(tokenAccountBytes({ mint: MINT, owner: OWNER }).subarray(0, 108))).toBeUndefined()
    expect(decodeTokenAccount(tokenAccountBytes({ mint: MINT, owner: OWNER, state: 0 }))).toBeUndefined()
    expect(decodeTokenAccount(tokenAccountBytes({ mint: MINT, owner: OWNER, state: 3 }))).toBeUndefined()
  })
})

describe("Metaplex's name of a mint", () => {
  const data = metadataBytes({ mint: MINT, symbol: 'SOL', name: 'Wrapped SOL' })

  test('is without the zeros that fill it up', () => {
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
  ])('is not believed if it is %s', (_, bytes, owner) => {
    expect(decodeMetadata({ owner, data: bytes, lamports: 1n }, MINT)).toBeUndefined()
    expect(decodeMetadata(null, MINT)).toBeUndefined()
  })

  test('is kept at an address of its own', () => {
    expect(deriveMetadataAddress(MINT)).not.toBe(deriveMetadataAddress(OWNER))
  })
})
