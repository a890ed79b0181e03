import { describe, expect, test } from 'bun:test'
import { isBase58Address } from '../../../src/lib/text/base58.ts'

describe('isBase58Address()', () => {
  test('is true for exactly 32 bytes, and depends on upper and lower case', () => {
    expect(isBase58Address('KLend2g3cP87fffoy8q1mQqGKjrxjC8boSyAYavgmjD')).toBe(true)
    expect(isBase58Address('11111111111111111111111111111111')).toBe(true)
    expect(isBase58Address('1111111111111111111111111111111')).toBe(false)
    expect(isBase58Address('111111111111111111111111111111111')).toBe(false)
    expect(isBase58Address('z'.repeat(44))).toBe(false)
    expect(isBase58Address('KLend2g3cP87fffoy8q1mQqGKjrxjC8boSyAYavgmjl')).toBe(false)
    expect(isBase58Address('0x1F98431c8aD98523631AE4a59f267346ea31F984')).toBe(false)
  })
})
