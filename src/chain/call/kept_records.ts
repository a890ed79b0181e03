import type { Hex } from 'viem'
import { createLensCursor, type LensCursor } from './cursor.ts'

/** Records of an answer that are decoded when they are asked for. */
export interface KeptRecords {
  /** Keeps what stands between two places of the answer. The function decodes it, from `join` on. */
  keep<T>(start: number, end: number, read: (from: LensCursor) => T): () => T
  /** Call it behind the last record. */
  join(): void
}

/** Keeps records in a text of their own: parts of the answer would keep all of it in memory. */
export function keepRecords(answer: Hex): KeptRecords {
  let records: string[] = []
  let length = 0
  let text = ''
  return {
    keep(start, end, read) {
      const place = length
      records.push(answer.slice(start, end))
      length += end - start
      return () => read(createLensCursor(text, place))
    },
    join() {
      text = records.join('')
      records = []
    },
  }
}
