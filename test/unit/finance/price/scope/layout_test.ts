import { describe, expect, test } from 'bun:test'
import { matchesAccountKind } from '../../../../../src/chain/solana/bytes.ts'
import {
  decodePricedReserve,
  decodeScopeEntry,
  findScopeFeed,
  SCOPE_PRICES_KIND,
} from '../../../../../src/finance/price/scope.ts'
import { reserveBytes, scopeBytes, toFakeAddress } from '../../../../support/kamino.ts'

const MARKET = toFakeAddress('market')
const A = toFakeAddress('a')

test('matchesAccountKind() distinguishes a feed from a reserve and from a truncated feed', () => {
  expect(matchesAccountKind(SCOPE_PRICES_KIND, scopeBytes([]))).toBe(true)
  expect(matchesAccountKind(SCOPE_PRICES_KIND, scopeBytes([]).subarray(1))).toBe(false)
  expect(matchesAccountKind(SCOPE_PRICES_KIND, reserveBytes({ market: MARKET }))).toBe(false)
})

test('decodeScopeEntry() reads the first and the last entry, and none past the end', () => {
  const data = scopeBytes([
    { index: 0, value: 1n, exponent: 2n, timestampSec: 3n },
    { index: 511, value: 2n ** 64n - 1n, exponent: 18n, timestampSec: 4n },
  ])
  expect(decodeScopeEntry(data, 0)).toEqual({ value: 1n, exponent: 2n, timestampSec: 3n })
  expect(decodeScopeEntry(data, 511)).toEqual({ value: 2n ** 64n - 1n, exponent: 18n, timestampSec: 4n })
  expect(decodeScopeEntry(data, 512)).toBeUndefined()
})

describe('findScopeFeed()', () => {
  test.each([
    ['an entry 0 that others end', [0], A],
    ['a chain of four', [1, 2, 3, 511], A],
    ['a chain that was never set', [0, 0, 0, 0], undefined],
    ['an empty chain', [65_535], undefined],
    ['a first entry past the end', [512], undefined],
  ] as const)('%s', (_, scopeChain, expected) => {
    expect(findScopeFeed(decodePricedReserve(reserveBytes({ market: MARKET, scopeFeed: A, scopeChain })))).toBe(
      expected,
    )
  })

  test('is undefined without a feed', () => {
    expect(findScopeFeed(decodePricedReserve(reserveBytes({ market: MARKET, scopeChain: [1] })))).toBeUndefined()
    const scopeFeed = 'nu11111111111111111111111111111111111111111'
    expect(
      findScopeFeed(decodePricedReserve(reserveBytes({ market: MARKET, scopeFeed, scopeChain: [1] }))),
    ).toBeUndefined()
  })
})
