import { fstatSync, write } from 'node:fs'
import type { Writable } from 'node:stream'

/** Writes bytes and reports failures. */
export interface Output {
  /** True for a terminal. */
  readonly isTTY: boolean
  /** Resolves when it can take more; rejects with the system's error. */
  write(bytes: Uint8Array): Promise<void>
}

/**
 * Creates standard output for bytes. Writes to a file directly, because the runtime's stream does not report a full
 * disk, and to a pipe through the stream, because only the stream waits for a slow reader.
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
