import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createLazyRecords, createLensCursor } from '../../../../src/chain/call/cursor.ts'

test('kept records decode as in the answer, whether they are most of it or little', () => {
  const gap = fc.nat(12)
  const gapsAndLengths = fc.array(fc.tuple(gap, fc.integer({ min: 1, max: 12 })), { maxLength: 20 })
  fc.assert(
    fc.property(gapsAndLengths, gap, (pairs, rest) => {
      const bytes = pairs.reduce((sum, [gap, length]) => sum + gap + length, 0) + rest
      const answer = `0x${Buffer.from(Array.from({ length: bytes }, (_, index) => index)).toString('hex')}` as const
      const records = createLazyRecords()
      const from = createLensCursor(answer)
      let at = 0
      const kept = pairs.map(([gap, length]) => {
        const start = at + gap
        at = start + length
        from.seek(at)
        return { start, end: at, read: records.keep(from, start, (cursor) => cursor.hex(length)) }
      })
      records.join()
      for (const { start, end, read } of kept) expect(read()).toBe(`0x${answer.slice(2 + 2 * start, 2 + 2 * end)}`)
    }),
  )
})
