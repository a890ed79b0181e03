import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { base58FromBytes, bytesFromBase58, isBase58Address } from '../../src/lib/base58.ts'

describe('bytesFromBase58()', () => {
  test.each([
    ['2NEpo7TZRRrLZSi2U', '48656c6c6f20576f726c6421'],
    ['11233QC4', '0000287fb4cd'],
    ['1', '00'],
    ['11111111111111111111111111111111', '00'.repeat(32)],
    [
      'So11111111111111111111111111111111111111112',
      `069b8857feab8184fb687f634618c035dac439dc1aeb3b5598a0f000000000${'01'}`,
    ],
  ])('of %p is %p', (text, hex) => {
    expect(Buffer.from(bytesFromBase58(text) ?? []).toString('hex')).toBe(hex)
    expect(base58FromBytes(Buffer.from(hex, 'hex'))).toBe(text)
  })

  test.each(['', '0', 'O', 'I', 'l', 'abc def', 'é', '1'.repeat(89)])('of %p is nothing', (text) => {
    expect(bytesFromBase58(text)).toBeUndefined()
  })

  test('gives back what base58FromBytes() wrote', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64, minLength: 1 }), (bytes) => {
        expect(bytesFromBase58(base58FromBytes(bytes))).toEqual(bytes)
      }),
    )
  })
})

describe('isBase58Address()', () => {
  test('knows 32 bytes from more and from fewer, and upper from lower case', () => {
    expect(isBase58Address('KLend2g3cP87fffoy8q1mQqGKjrxjC8boSyAYavgmjD')).toBe(true)
    expect(isBase58Address('11111111111111111111111111111111')).toBe(true)
    expect(isBase58Address('1111111111111111111111111111111')).toBe(false)
    expect(isBase58Address('111111111111111111111111111111111')).toBe(false)
    expect(isBase58Address('z'.repeat(44))).toBe(false)
    expect(isBase58Address('KLend2g3cP87fffoy8q1mQqGKjrxjC8boSyAYavgmjl')).toBe(false)
    expect(isBase58Address('0x1F98431c8aD98523631AE4a59f267346ea31F984')).toBe(false)
  })
})
