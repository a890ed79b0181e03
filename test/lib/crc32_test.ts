import { expect, test } from 'bun:test'
import { crc32 as zlibCrc32 } from 'node:zlib'
import fc from 'fast-check'
import { crc32 } from '../../src/lib/crc32.ts'

test('crc32() of the standard check text', () => {
  expect(crc32('123456789')).toBe(0xcbf43926)
  expect(crc32('')).toBe(0)
})

test('crc32() equals that of zlib for ASCII text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary-ascii' }), (text) => {
      expect(crc32(text)).toBe(zlibCrc32(text))
    }),
  )
})
