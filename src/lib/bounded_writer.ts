import type { Writable } from 'node:stream'

/** Bytes that may wait for a reader of standard error. */
const WAITING_MAX = 8 * 2 ** 20

/**
 * Creates a writer of lines for a stream whose reader may stop reading: what would wait beyond `waitingMax` bytes is
 * dropped and counted, and one line says how many once the reader goes on.
 */
export function createBoundedWriter(stream: Pick<Writable, 'write'>, waitingMax = WAITING_MAX): (line: string) => void {
  let waiting = 0
  let dropped = 0

  function write(text: string): void {
    const bytes = Buffer.byteLength(text)
    waiting += bytes
    stream.write(text, () => {
      waiting -= bytes
      if (dropped === 0 || waiting > waitingMax / 2) return
      const lines = dropped
      dropped = 0
      write(`${JSON.stringify({ level: 'warn', msg: 'Dropped lines because their reader was late', lines })}\n`)
    })
  }

  return (line) => {
    if (waiting > waitingMax) dropped++
    else write(`${line}\n`)
  }
}
