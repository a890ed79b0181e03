import { expect, test } from 'bun:test'
import { type Hex, keccak256, toHex } from 'viem'
import { computeLookAges } from '../../../../../src/finance/price/pool/read_past_blocks.ts'

test('each look has a moment of its own in its ten minutes, by the hash of the block and its number', () => {
  const hashes = Array.from({ length: 20 }, (_, index) => keccak256(toHex(index)))
  for (const hash of hashes) {
    const expected = ['00', '01', '02'].map((no, index) => {
      const digest: Hex = keccak256(`${hash}${no}`)
      return 600 * index + 1 + Number(BigInt(digest) % 600n)
    })
    expect(computeLookAges(hash)).toEqual(expected)
  }
  const places = hashes.map((hash) => new Set(computeLookAges(hash).map((age) => (age - 1) % 600)).size)
  expect(places.filter((count) => count === 3).length).toBeGreaterThan(15)
})
