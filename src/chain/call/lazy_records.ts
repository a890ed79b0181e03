import type { Hex } from 'viem'
import { createLensCursor, type LensCursor } from './cursor.ts'

/**
 * Records of an answer that are decoded when they are asked for. Keeps the answer if most of it is records, else a copy
 * of these, so that few do not keep much in memory.
 */
export function createLazyRecords(answer: Hex) {
  let records: { place: number; readonly length: number }[] = []
  let length = 0
  // Functions keep what they name: after `join` that is the records alone.
  let text: string = answer
  let cursor: LensCursor | undefined
  return {
    /** Keeps what stands between two places of the answer. The function decodes it, from `join` on. */
    keep<T>(start: number, end: number, read: (from: LensCursor) => T): () => T {
      const record = { place: start, length: end - start }
      records.push(record)
      length += record.length
      return () => {
        if (cursor === undefined) throw new Error('Cannot decode records that are not joined')
        cursor.goTo(record.place)
        return read(cursor)
      }
    },
    /** Call it behind the last record. */
    join(): void {
      const digits = text.slice(2)
      if (length < digits.length / 4) {
        text = `0x${records.map(({ place, length }) => digits.slice(2 * place, 2 * (place + length))).join('')}`
        let place = 0
        for (const record of records) {
          record.place = place
          place += record.length
        }
      }
      cursor = createLensCursor(text as Hex)
      text = ''
      records = []
    },
  }
}
