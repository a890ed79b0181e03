import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Database } from '../database.ts'
import type { Append } from './file.ts'
import { type WriteOptions, type WriteResult, writeBackup } from './write.ts'

/** Level 3 takes a third of the default level's time; the file is a tenth larger. */
const GZIP_LEVEL = 3

/**
 * Writes a backup, compressed. A slow reader slows down reading from the database; memory does not grow. Throws what
 * `writeBackup` and `append` throw, and an `AbortError` if `stop` fires.
 */
export async function compressBackup(
  session: Database,
  { append, ...options }: WriteOptions & { readonly append: Append },
): Promise<WriteResult & { readonly bytes: number }> {
  let result: WriteResult | undefined
  let bytes = 0
  await pipeline(
    Readable.from(
      (async function* () {
        result = yield* writeBackup(session, options)
      })(),
      { objectMode: false },
    ),
    createGzip({ level: GZIP_LEVEL }),
    async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const chunk of chunks) {
        await append(chunk)
        bytes += chunk.length
      }
    },
    { signal: options.stop },
  )
  if (result === undefined) throw new Error('Cannot write the backup: it ended without its last line')
  return { ...result, bytes }
}
