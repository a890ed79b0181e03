import type { Hex } from 'viem'
import { createLensCursor, type LensCursor } from './cursor.ts'

/** Records of an answer that are decoded when they are asked for. */
export interface KeptRecords {
  /** Keeps what stands between two places of the answer. The function decodes it, from `join` on. */
  keep<T>(start: number, end: number, read: (from: LensCursor) => T): () => T
  /** Call it behind the last record. */
  join(): void
}

/** Keeps the answer if most of it is records, else a copy of these, so that few do not keep much in memory. */
export function keepRecords(answer: Hex): KeptRecords {
  let records: { place: number; readonly length: number }[] = []
  let length = 0
  let text: string = answer
  return {
    keep(start, end, read) {
      const record = { place: start, length: end - start }
      records.push(record)
      length += record.length
      return () => read(createLensCursor(text, record.place))
    },
    join() {
      if (length < answer.length / 2) {
        text = records.map(({ place, length }) => answer.slice(place, place + length)).join('')
        let place = 0
        for (const record of records) {
          record.place = place
          place += record.length
        }
      }
      records = []
    },
  }
}
