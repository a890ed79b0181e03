import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import packageJson from '../../package.json' with { type: 'json' }
import { MIGRATIONS } from '../../sql/files.ts'
import { requestLogExtend } from '../../sql/functions.ts'
import { type Append, writeNewFile } from '../db/backup/file.ts'
import { type BackupHeader, malformedBackupError } from '../db/backup/format.ts'
import { type BackupPart, checkBackup, readBackup } from '../db/backup/read.ts'
import { checkBackupVersion, checkTarget, type RestoreResult, restoreBackup } from '../db/backup/restore.ts'
import { compressBackup, type WriteResult } from '../db/backup/write.ts'
import { openSession } from '../db/connection/session.ts'
import { SqlError } from '../db/database.ts'
import { systemClock } from '../lib/clock.ts'
import { getErrnoCode } from '../lib/error.ts'
import { withDatabase, withNewDatabase } from './account_database.ts'
import { type Command, CommandError, type CommandIo, usageError } from './command.ts'
import { print } from './print.ts'

/** `backup`: writes a consistent snapshot to one file, beside a running service. */
export const backupCommand: Command = {
  name: 'backup',
  required: 'to',
  options: { to: 'file to write, which must not exist yet, or - for standard output' },
  example: 'backup --to walletscope.backup',
  summary: 'Back up the whole database into one file while the service runs',
  json: 'answers as JSON, for programs; on standard error if the backup goes to standard output',
  run: async (args, io) => {
    const { to = '' } = args.options
    const isStreamed = to === '-'
    if (isStreamed && io.stdout().isTTY) {
      throw usageError('Cannot write a backup to a terminal: expected --to with a file, or a pipe')
    }
    const write = (append: Append) => writeTo(append, { io, quiet: args.json })
    const written = await (isStreamed ? write(createAppend(io)) : writeNewFile(to, write)).catch((error) => {
      if (io.stop.aborted) throw new CommandError('Stopped before the backup was complete', { cause: error })
      if (!(error instanceof SqlError)) throw error
      throw new CommandError(`Cannot write the backup: the database rejected a statement (${error.message})`, {
        cause: error,
      })
    })
    const warnings = await listWarnings(written, io.config().dataDir)
    for (const warning of warnings) if (!args.json) io.err(warning)
    const rows = Object.values(written.end.rows).reduce((sum, each) => sum + each, 0)
    print(
      {
        ...(isStreamed ? {} : { file: to }),
        bytes: written.bytes,
        sha256: written.sha256,
        created_at: written.header.created_at,
        postgresql: written.header.postgresql,
        schema_version: written.header.migrations.length,
        rows: written.end.rows,
        warnings,
      },
      {
        args,
        io: isStreamed ? { ...io, out: io.err } : io,
        text: `Wrote ${rows.toLocaleString('en')} rows into ${isStreamed ? 'standard output' : to}, ${formatSize(written.bytes)}`,
      },
    )
  },
}

function writeTo(append: Append, { io, quiet }: { readonly io: CommandIo; readonly quiet: boolean }) {
  return withDatabase(io, async (_db, { address }) => {
    const session = await openSession({ ...address, applicationName: 'walletscope backup', clock: systemClock })
    const report = quiet ? () => undefined : io.err
    try {
      return await compressBackup(session, {
        append,
        program: packageJson.version,
        stop: io.stop,
        onProgress: createProgress('Wrote', report),
      })
    } finally {
      await session.close()
    }
  })
}

function createAppend(io: CommandIo): Append {
  const output = io.stdout()
  return async (bytes) => {
    try {
      await output.write(bytes)
    } catch (error) {
      const reason = REASONS[getErrnoCode(error)] ?? 'the system refused'
      throw new CommandError(`Cannot write the backup to standard output: ${reason}`, { cause: error })
    }
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EPIPE: 'the reader closed it',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk is full',
  EFBIG: 'the file is too large for the file system',
}

/** Lists warnings about the backup's content. */
async function listWarnings({ end }: WriteResult, dataDir: string): Promise<readonly string[]> {
  const warnings: string[] = []
  if (end.ledger.odd > 0) {
    warnings.push(
      `Credits do not add up in ${end.ledger.odd} of ${end.ledger.organizations} organizations: ` +
        'granted is not balance plus charged',
    )
  }
  const journal = join(dataDir, 'journal')
  if (await hasEntries(journal)) {
    warnings.push(`Charges to be voided wait in "${journal}", which the backup does not include: copy it too`)
  }
  return warnings
}

async function hasEntries(journal: string): Promise<boolean> {
  for (const name of await readdir(journal).catch(() => [])) {
    if (!name.endsWith('.jsonl')) continue
    const file = await stat(join(journal, name)).catch(() => undefined)
    if (file !== undefined && file.size > 0) return true
  }
  return false
}

function formatSize(bytes: number): string {
  return bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}

const INTERVAL_MS = 5_000

/** Creates a progress callback that reports every five seconds. */
function createProgress(
  verb: 'Wrote' | 'Restored',
  report: (line: string) => void,
): (table: string, rows: number) => void {
  let nextMs = systemClock.monotonicMs() + INTERVAL_MS
  return (table, rows) => {
    const nowMs = systemClock.monotonicMs()
    if (nowMs < nextMs) return
    nextMs = nowMs + INTERVAL_MS
    report(`${verb} ${rows.toLocaleString('en')} rows of ${table} …`)
  }
}

const EXTEND_DEADLINE_MS = 600_000

/** `restore`: loads a backup into an empty database, completely or not at all. */
export const restoreCommand: Command = {
  name: 'restore',
  required: 'from',
  options: { from: 'file to read, or - for standard input' },
  example: 'restore --from walletscope.backup',
  summary: 'Load a backup into an empty database, completely or not at all',
  run: async (args, io) => {
    const { from = '' } = args.options
    if (from === '-' && io.stdin().isTTY) {
      throw usageError('Cannot restore a backup from a terminal: expected --from with a file, or a pipe')
    }
    try {
      const { end, migrated } = await restoreFile(from, { io, quiet: args.json })
      const rows = Object.values(end.rows).reduce((sum, each) => sum + each, 0)
      print(
        { rows: end.rows, migrated },
        {
          args,
          io,
          text: [`Restored ${rows.toLocaleString('en')} rows`, ...migrated.map((name) => `Applied ${name}`)].join('\n'),
        },
      )
    } catch (error) {
      if (io.stop.aborted) throw new CommandError('Stopped before the backup was restored', { cause: error })
      if (!(error instanceof SqlError)) throw error
      throw new CommandError(`Cannot restore the backup: the database rejected a statement (${error.message})`, {
        cause: error,
      })
    }
  },
}

async function restoreFile(
  from: string,
  { io, quiet }: { readonly io: CommandIo; readonly quiet: boolean },
): Promise<RestoreResult> {
  // A file is read twice, so that a damaged file changes nothing. A pipe is checked while it is loaded, and a damaged
  // backup is rolled back.
  const file = from === '-' ? undefined : await stat(from).catch(() => undefined)
  if (file?.isFile()) checkBackupVersion((await checkBackup(readBytes(from, io))).header, MIGRATIONS)
  const parts = readBackup(readBytes(from, io))
  const header = await readHeader(parts)
  checkBackupVersion(header, MIGRATIONS)
  return withNewDatabase(io, async (db, { address }) => {
    await checkTarget(db, { header, migrations: MIGRATIONS })
    const session = await openSession({ ...address, applicationName: 'walletscope restore', clock: systemClock })
    const report = quiet ? () => undefined : io.err
    try {
      const result = await restoreBackup(session, {
        header,
        parts,
        stop: io.stop,
        onProgress: createProgress('Restored', report),
      })
      // Create this week's partition now, else the first service moves this week's log while it is read, and pages of
      // the log miss it for a moment. A running service does this by itself.
      await requestLogExtend(session, { weeks: 1 }, { deadlineMs: EXTEND_DEADLINE_MS }).catch(() => undefined)
      return result
    } finally {
      await session.close()
    }
  })
}

async function* readBytes(from: string, io: CommandIo): AsyncGenerator<Uint8Array> {
  const stream: Readable = from === '-' ? io.stdin() : createReadStream(from)
  try {
    yield* addAbortSignal(io.stop, stream)
  } catch (error) {
    const reason = READ_REASONS[getErrnoCode(error)]
    throw reason === undefined ? error : new CommandError(`Cannot read "${from}": ${reason}`, { cause: error })
  }
}

const READ_REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a directory',
  EACCES: 'this user may not read it',
  EIO: 'the disk failed',
}

async function readHeader(parts: AsyncGenerator<BackupPart>): Promise<BackupHeader> {
  const { value } = await parts.next()
  if (value?.kind !== 'header') throw malformedBackupError()
  return value.header
}
