import { fstatSync, write } from 'node:fs'
import type { Writable } from 'node:stream'

/** Takes bytes and reports those that could not be written. */
export interface Output {
  /** True for a terminal. */
  readonly isTTY: boolean
  /** Resolves when it can take more; rejects with the system's error. */
  write(bytes: Uint8Array): Promise<void>
}

/**
 * Standard output for bytes. A file is written to directly, because the runtime's stream does not report a full
 * disk; a pipe through the stream, because only that waits for a slow reader.
 */
export function createOutput(stream: Writable & { readonly isTTY?: boolean }, fd: number): Output {
  return {
    isTTY: stream.isTTY === true,
    async write(bytes) {
      const kind = fstatSync(fd)
      if (kind.isFIFO() || kind.isSocket()) return writeToStream(stream, bytes)
      for (let at = 0; at < bytes.length; ) at += await writeToFile(fd, bytes.subarray(at))
    },
  }
}

function writeToStream(stream: Writable, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(bytes, (error) => (error ? reject(error) : resolve()))
  })
}

function writeToFile(fd: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, 0, bytes.length, null, (error, written) => (error ? reject(error) : resolve(written)))
  })
}
