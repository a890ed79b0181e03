import type { Hex } from 'viem'
import { createLensCursor, type LensCursor } from './cursor.ts'

/**
 * Creates a set of records of an answer that are decoded on demand. Holds the answer if most of it is records, else a
 * copy of the records, so that a few records do not hold a long answer in memory.
 */
export function createLazyRecords(answer: Hex) {
  let records: { start: number; readonly length: number }[] = []
  let length = 0
  // The returned closures hold `text` in memory, so `join` reduces it to the records.
  let text: string = answer
  let cursor: LensCursor | undefined
  return {
    /** Keeps the bytes between two positions. The returned function decodes them; call it after `join` only. */
    keep<T>(start: number, end: number, read: (from: LensCursor) => T): () => T {
      const record = { start, length: end - start }
      records.push(record)
      length += record.length
      return () => {
        if (cursor === undefined) throw new Error('Cannot decode records that are not joined')
        cursor.seek(record.start)
        return read(cursor)
      }
    },
    /** Completes the set; call it after the last record. */
    join(): void {
      const digits = text.slice(2)
      if (length < digits.length / 4) {
        text = `0x${records.map(({ start, length }) => digits.slice(2 * start, 2 * (start + length))).join('')}`
        let position = 0
        for (const record of records) {
          record.start = position
          position += record.length
        }
      }
      cursor = createLensCursor(text as Hex)
      text = ''
      records = []
    },
  }
}
