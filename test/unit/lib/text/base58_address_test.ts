import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { base58 } from '@scure/base'
import { decodeBase58Address, encodeBase58Address } from '../../../../src/lib/text/base58.ts'
import { caseCount } from '../../../support/cases.ts'

test('addresses are encoded and decoded like any base58 bytes, including leading zeros', () => {
  const samples = Array.from({ length: caseCount(20_000) }, (_, index) => {
    const bytes = new Uint8Array(randomBytes(32))
    return index % 3 === 0 ? bytes.fill(0, 0, index % 33) : bytes
  })
  samples.push(new Uint8Array(32), new Uint8Array(32).fill(255))
  for (const bytes of samples) {
    const address = base58.encode(bytes)
    expect(encodeBase58Address(bytes)).toBe(address)
    expect(decodeBase58Address(address)).toEqual(bytes)
  }
})

test.each([31, 33])('decodeBase58Address() rejects text of %i bytes', (length) => {
  const text = base58.encode(new Uint8Array(length).fill(7))
  expect(() => decodeBase58Address(text)).toThrow('Cannot decode an address: it is not base58 of 32 bytes')
})
