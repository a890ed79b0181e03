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

/** Bytes of rows in one part, about. */
const PART_SIZE = 500_000
const NEWLINE = 10
const BRACKET = 91

/**
 * Reads a backup from the bytes of its file. Rows come before the checksum is verified, so whatever is done with them
 * must be undone if no end comes. Throws `BackupError` if the file is not a backup, is cut short, altered or of a newer
 * program, and what `source` throws.
 */
export async function* readBackup(source: AsyncIterable<Uint8Array>): AsyncGenerator<BackupPart> {
  const reader = createReader()
  for await (const line of lines(source)) yield* reader.take(line)
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

/** Takes lines without their newlines and yields the parts that they complete. */
function createReader() {
  const sha256 = createHash('sha256')
  const rows = new Map<string, number>()
  let header: BackupHeader | undefined
  let table: string | undefined
  let pending: Buffer[] = []
  let size = 0
  let end: BackupTrailer | undefined
  let proved = false

  function* flush(): Generator<BackupPart> {
    if (pending.length === 0 || table === undefined) return
    const json = `[${pending.map((each) => each.toString()).join(',')}]`
    rows.set(table, (rows.get(table) ?? 0) + pending.length)
    yield { kind: 'rows', table, count: pending.length, json }
    pending = []
    size = 0
  }

  function* takeMark(mark: MarkerLine): Generator<BackupPart> {
    if ('sha256' in mark) {
      if (end === undefined) throw malformedBackupError()
      if (mark.sha256 !== sha256.digest('hex')) {
        throw new BackupError('Cannot read the backup: it was altered, for its checksum does not fit')
      }
      proved = true
      yield { kind: 'end', end }
    } else if (end !== undefined) throw malformedBackupError()
    else if ('end' in mark) {
      yield* flush()
      checkCounts(mark.end, rows)
      end = mark.end
    } else {
      yield* flush()
      const known = header?.tables.some(({ name }) => name === mark.table)
      if (!known || rows.has(mark.table)) throw malformedBackupError()
      table = mark.table
      rows.set(table, 0)
    }
  }

  return {
    *take(line: Buffer): Generator<BackupPart> {
      if (proved) throw malformedBackupError()
      if (header === undefined) {
        header = parseHeader(line.toString())
        yield { kind: 'header', header }
      } else if (line[0] === BRACKET) {
        if (table === undefined || end !== undefined) throw malformedBackupError()
        pending.push(line)
        size += line.length
        if (size >= PART_SIZE) yield* flush()
      } else {
        yield* takeMark(parseMarkerLine(line.toString()))
        if (proved) return
      }
      sha256.update(line).update('\n')
    },
    finish() {
      if (!proved) throw cutShort()
    },
  }
}

function checkCounts(end: BackupTrailer, rows: ReadonlyMap<string, number>): void {
  const counted = Object.entries(end.rows)
  if (counted.length !== rows.size || counted.some(([table, count]) => rows.get(table) !== count))
    throw malformedBackupError()
}

/** Lines of the decompressed bytes. Only lines that span two chunks are copied. */
async function* lines(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = []
  let length = 0
  for await (const chunk of decompressed(source)) {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const part = chunk.subarray(from, at)
      yield rest.length === 0 ? part : Buffer.concat([...rest, part])
      rest = []
      length = 0
      from = at + 1
    }
    if (from < chunk.length) rest.push(chunk.subarray(from))
    length += chunk.length - from
    if (length > LINE_MAX) throw malformedBackupError()
  }
  if (rest.length > 0) throw cutShort()
}

async function* decompressed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let failure: unknown
  // An error of the source is reported as it is, not as the failure of decompression that follows from it.
  const watched = async function* () {
    try {
      yield* source
    } catch (error) {
      failure = error
      throw error
    }
  }
  const gunzip = createGunzip()
  // Errors are thrown by the loop below; without a callback they would be thrown twice.
  pipeline(Readable.from(watched(), { objectMode: false }), gunzip, () => undefined)
  try {
    for await (const chunk of gunzip) yield chunk
  } catch (error) {
    if (failure !== undefined) throw failure
    const code = getErrnoCode(error)
    if (code === 'Z_BUF_ERROR') throw cutShort(error)
    if (code.startsWith('Z_')) {
      throw new BackupError('Cannot read the backup: it was altered, or is not a backup of walletscope', {
        cause: error,
      })
    }
    throw error
  }
}

function cutShort(cause?: unknown): BackupError {
  return new BackupError('Cannot read the backup: it is cut short', { cause })
}
