import { createHash } from 'node:crypto'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { getErrnoCode } from '../../lib/error.ts'
import {
  BackupError,
  type BackupHeader,
  type BackupTrailer,
  LINE_MAX,
  type MarkerLine,
  malformedBackupError,
  parseHeader,
  parseMarkerLine,
} from './format.ts'

/** A part of a backup, in the order of the file. */
export type BackupPart =
  | { readonly kind: 'header'; readonly header: BackupHeader }
  /** Rows of one table, as the text of a JSON array of arrays. */
  | { readonly kind: 'rows'; readonly table: string; readonly count: number; readonly json: string }
  /** Comes last, once the checksum and the number of rows are verified. */
  | { readonly kind: 'end'; readonly end: BackupTrailer }

/** Approximate bytes of rows in one part. */
const PART_SIZE = 500_000
const NEWLINE = 10
const BRACKET = 91

/**
 * Reads a backup from the bytes of its file. Rows are yielded before the checksum is verified: roll back if the
 * trailer is missing. Throws `BackupError` if the file is not a backup, is truncated, altered or of a newer program,
 * and what `source` throws.
 */
export async function* readBackup(source: AsyncIterable<Uint8Array>): AsyncGenerator<BackupPart> {
  const reader = createReader()
  for await (const line of splitLines(source)) yield* reader.acceptLine(line)
  reader.finish()
}

/** Reads a backup to its end. Throws like `readBackup`. */
export async function checkBackup(
  source: AsyncIterable<Uint8Array>,
): Promise<{ header: BackupHeader; end: BackupTrailer }> {
  let header: BackupHeader | undefined
  let end: BackupTrailer | undefined
  for await (const part of readBackup(source)) {
    if (part.kind === 'header') header = part.header
    if (part.kind === 'end') end = part.end
  }
  if (header === undefined || end === undefined) throw malformedBackupError()
  return { header, end }
}

/** Creates a parser that accepts lines without their newlines and yields the parts they complete. */
function createReader() {
  const sha256 = createHash('sha256')
  const rows = new Map<string, number>()
  let header: BackupHeader | undefined
  let table: string | undefined
  let pending: Buffer[] = []
  let size = 0
  let end: BackupTrailer | undefined
  let isVerified = false

  function* flush(): Generator<BackupPart> {
    if (pending.length === 0 || table === undefined) return
    const json = `[${pending.map((each) => each.toString()).join(',')}]`
    rows.set(table, (rows.get(table) ?? 0) + pending.length)
    yield { kind: 'rows', table, count: pending.length, json }
    pending = []
    size = 0
  }

  function* acceptMarker(marker: MarkerLine): Generator<BackupPart> {
    if ('sha256' in marker) {
      if (end === undefined) throw malformedBackupError()
      if (marker.sha256 !== sha256.digest('hex')) {
        throw new BackupError('Cannot read the backup: it was altered: its checksum does not match')
      }
      isVerified = true
      yield { kind: 'end', end }
    } else if (end !== undefined) throw malformedBackupError()
    else if ('end' in marker) {
      yield* flush()
      checkCounts(marker.end, rows)
      end = marker.end
    } else {
      yield* flush()
      const isKnownTable = header?.tables.some(({ name }) => name === marker.table)
      if (!isKnownTable || rows.has(marker.table)) throw malformedBackupError()
      table = marker.table
      rows.set(table, 0)
    }
  }

  return {
    *acceptLine(line: Buffer): Generator<BackupPart> {
      if (isVerified) throw malformedBackupError()
      if (header === undefined) {
        header = parseHeader(line.toString())
        yield { kind: 'header', header }
      } else if (line[0] === BRACKET) {
        if (table === undefined || end !== undefined) throw malformedBackupError()
        pending.push(line)
        size += line.length
        if (size >= PART_SIZE) yield* flush()
      } else {
        yield* acceptMarker(parseMarkerLine(line.toString()))
        if (isVerified) return
      }
      sha256.update(line).update('\n')
    },
    finish() {
      if (!isVerified) throw truncatedError()
    },
  }
}

function checkCounts(end: BackupTrailer, rows: ReadonlyMap<string, number>): void {
  const counts = Object.entries(end.rows)
  if (counts.length !== rows.size || counts.some(([table, count]) => rows.get(table) !== count))
    throw malformedBackupError()
}

/** Splits the decompressed bytes into lines. Copies only lines that span two chunks. */
async function* splitLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let partial: Buffer[] = []
  let length = 0
  for await (const chunk of decompress(source)) {
    let start = 0
    for (let newlineIndex = chunk.indexOf(NEWLINE); newlineIndex >= 0; newlineIndex = chunk.indexOf(NEWLINE, start)) {
      const part = chunk.subarray(start, newlineIndex)
      yield partial.length === 0 ? part : Buffer.concat([...partial, part])
      partial = []
      length = 0
      start = newlineIndex + 1
    }
    if (start < chunk.length) partial.push(chunk.subarray(start))
    length += chunk.length - start
    if (length > LINE_MAX) throw malformedBackupError()
  }
  if (partial.length > 0) throw truncatedError()
}

async function* decompress(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let failure: unknown
  // Reports an error of the source as it is, not as the decompression failure that follows from it.
  const trackedSource = async function* () {
    try {
      yield* source
    } catch (error) {
      failure = error
      throw error
    }
  }
  const gunzip = createGunzip()
  // Errors are thrown by the loop below; without a callback they would be thrown twice.
  pipeline(Readable.from(trackedSource(), { objectMode: false }), gunzip, () => undefined)
  try {
    for await (const chunk of gunzip) yield chunk
  } catch (error) {
    if (failure !== undefined) throw failure
    const code = getErrnoCode(error)
    if (code === 'Z_BUF_ERROR') throw truncatedError(error)
    if (code.startsWith('Z_')) {
      throw new BackupError('Cannot read the backup: it was altered, or is not a backup of walletscope', {
        cause: error,
      })
    }
    throw error
  }
}

function truncatedError(cause?: unknown): BackupError {
  return new BackupError('Cannot read the backup: it is truncated', { cause })
}
