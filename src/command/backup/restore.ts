import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { addAbortSignal, type Readable } from 'node:stream'
import { MIGRATIONS } from '../../../sql/files.ts'
import { requestLogExtend } from '../../../sql/functions.ts'
import { type BackupHeader, malformedBackupError } from '../../db/backup/format.ts'
import { type BackupPart, checkBackup, readBackup } from '../../db/backup/read.ts'
import { checkBackupVersion, checkTarget, type RestoreResult, restoreBackup } from '../../db/backup/restore.ts'
import { openSession } from '../../db/connection/session.ts'
import { SqlError } from '../../db/database.ts'
import { systemClock } from '../../lib/clock.ts'
import { getErrnoCode } from '../../lib/error.ts'
import { withNewDatabase } from '../account_database.ts'
import { type Command, CommandError, type CommandIo, usageError } from '../command.ts'
import { print } from '../print.ts'
import { createProgress } from './progress.ts'

const EXTEND_DEADLINE_MS = 600_000

/** `restore`: loads a backup into an empty database, completely or not at all. */
export const restoreCommand: Command = {
  name: 'restore',
  options: { from: 'file to read, or - for standard input; required' },
  summary: 'Load a backup into an empty database, completely or not at all',
  run: async (args, io) => {
    const from = args.options['from']
    if (from === undefined || from === '') throw usageError('Cannot restore a backup: expected --from')
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
    const reason = REASONS[getErrnoCode(error)]
    throw reason === undefined ? error : new CommandError(`Cannot read "${from}": ${reason}`, { cause: error })
  }
}

const REASONS: Readonly<Record<string, string>> = {
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
