import { gzipSync } from 'node:zlib'
import { type BackupPart, readBackup } from '../../../../src/db/backup/read.ts'
import { type RestoreOptions, type RestoreResult, restoreBackup } from '../../../../src/db/backup/restore.ts'
import { BACKUP_TABLES, quoteIdentifier, readTables } from '../../../../src/db/backup/tables.ts'
import { compressBackup, type WriteOptions } from '../../../../src/db/backup/write.ts'
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import { openSession } from '../../../../src/db/connection/session.ts'
import type { Database } from '../../../../src/db/database.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { emptyDatabase } from '../../../support/database.ts'
import { slowClock } from '../../../support/test_clock.ts'

const NEVER = new AbortController().signal

/** A backup in memory. */
export async function createBackup(url: string, options: Partial<WriteOptions> = {}): Promise<Buffer> {
  const session = await openSession({ url, applicationName: 'walletscope backup', clock: slowClock })
  const chunks: Uint8Array[] = []
  const append = async (bytes: Uint8Array) => {
    chunks.push(bytes)
  }
  await compressBackup(session, { append, program: 'test', stop: NEVER, ...options }).finally(() => session.close())
  return Buffer.concat(chunks)
}

/** Bytes as a file would give them, a few at a time. */
export async function* streamBytes(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 4_096) yield bytes.subarray(at, at + 4_096)
}

/** Restores a backup, whose parts `through` may change or hold up. */
export async function restoreInto(
  url: string,
  bytes: Uint8Array,
  options: Partial<RestoreOptions> & { readonly through?: (part: BackupPart) => Promise<BackupPart> } = {},
): Promise<RestoreResult> {
  const { through = async (part) => part, ...rest } = options
  const reader = readBackup(streamBytes(bytes))
  const { value: first } = await reader.next()
  if (first?.kind !== 'header') throw new Error('Expected a header first')
  const parts = (async function* () {
    for await (const part of reader) yield await through(part)
  })()
  const session = await openSession({ url, applicationName: 'walletscope restore', clock: slowClock })
  return restoreBackup(session, { header: first.header, parts, stop: NEVER, ...rest }).finally(() => session.close())
}

/** Every row of every table as PostgreSQL writes it, in the order of its text. */
export async function readContent(
  db: Database,
  tables: readonly string[] = BACKUP_TABLES,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const content: Record<string, readonly string[]> = {}
  for (const { name, columns } of await readTables(db, tables)) {
    // Numbers of transactions mean nothing in another database, and are written anew.
    const row = columns.filter(({ type }) => type !== 'xid8').map((column) => `t.${quoteIdentifier(column.name)}`)
    const rows = await db.run<{ line: string }>(
      `select row(${row})::text as line from ${quoteIdentifier(name)} t order by line`,
      [],
    )
    content[name] = rows.map(({ line }) => line)
  }
  return content
}

/** A new database without tables, open for the length of `work`. */
export async function withEmpty<T>(
  work: (empty: { readonly url: string; readonly db: Database }) => Promise<T>,
): Promise<T> {
  const { url, drop } = await emptyDatabase()
  const db = openDatabase({ url, clock: slowClock, log: silentLog })
  try {
    return await work({ url, db })
  } finally {
    await db.close()
    await drop()
  }
}

/** A backup with these lines. */
export function packed(lines: readonly string[]): Buffer {
  return gzipSync(lines.map((line) => `${line}\n`).join(''))
}
