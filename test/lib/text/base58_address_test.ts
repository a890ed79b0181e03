import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { base58 } from '@scure/base'
import { base58Address } from '../../../src/lib/text/base58.ts'
import { cases } from '../../support/cases.ts'

test('an address is written as base58 writes any bytes, zeros in front too', () => {
  const samples = Array.from({ length: cases(20_000) }, (_, index) => {
    const bytes = new Uint8Array(randomBytes(32))
    return index % 3 === 0 ? bytes.fill(0, 0, index % 33) : bytes
  })
  samples.push(new Uint8Array(32), new Uint8Array(32).fill(255))
  for (const bytes of samples) expect(base58Address(bytes)).toBe(base58.encode(bytes))
})
