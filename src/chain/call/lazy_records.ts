import { createBytesCursor, type LensCursor } from './cursor.ts'

/**
 * Creates a set of records of an answer that are decoded on demand. Holds the answer's bytes if most of them are records,
 * else a copy of the records, so that a few records do not hold a long answer in memory.
 */
export function createLazyRecords() {
  let records: { start: number; readonly length: number }[] = []
  let length = 0
  /** The answer's, until `join` reduces it to the records: the returned closures hold its bytes in memory. */
  let cursor: LensCursor | undefined
  let isJoined = false
  return {
    /**
     * Keeps the bytes from `start` to where the cursor is, the same cursor each time. The returned function decodes them;
     * call it after `join` only.
     */
    keep<T>(from: LensCursor, start: number, read: (from: LensCursor) => T): () => T {
      const record = { start, length: from.getPosition() - start }
      records.push(record)
      length += record.length
      cursor = from
      return () => {
        if (cursor === undefined || !isJoined) throw new Error('Cannot decode records that are not joined')
        cursor.seek(record.start)
        return read(cursor)
      }
    },
    /** Completes the set; call it after the last record. */
    join(): void {
      isJoined = true
      if (cursor !== undefined && length < cursor.bytes.length / 2) {
        const { bytes } = cursor
        cursor = createBytesCursor(
          Buffer.concat(records.map(({ start, length }) => bytes.subarray(start, start + length))),
        )
        let position = 0
        for (const record of records) {
          record.start = position
          position += record.length
        }
      }
      records = []
    },
  }
}
