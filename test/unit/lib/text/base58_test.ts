import { describe, expect, test } from 'bun:test'
import { base58 } from '@scure/base'
import fc from 'fast-check'
import { isBase58Address } from '../../../../src/lib/text/base58.ts'
import { caseCount } from '../../../support/cases.ts'

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

  test('agrees with decoding', () => {
    const isDecoded = (text: string) => {
      try {
        return base58.decode(text).length === 32
      } catch {
        return false
      }
    }
    const bytes = fc.uint8Array({ minLength: 30, maxLength: 34 })
    const zeros = fc.nat(3).map((count) => new Uint8Array(count))
    const encoded = fc.tuple(zeros, bytes).map(([front, rest]) => base58.encode(Uint8Array.of(...front, ...rest)))
    const edges = [0, 1, 255].flatMap((first) =>
      [0, 255].flatMap((others) =>
        [31, 32, 33].map((length) => base58.encode(new Uint8Array(length).fill(others).fill(first, 0, 1))),
      ),
    )
    const letters = fc.string({ unit: fc.constantFrom(...'12AJKzg0O'), minLength: 31, maxLength: 45 })
    fc.assert(
      fc.property(fc.oneof(encoded, fc.constantFrom(...edges), letters), (text) => {
        expect(isBase58Address(text)).toBe(isDecoded(text))
      }),
      { numRuns: caseCount(3_000) },
    )
  })
})
