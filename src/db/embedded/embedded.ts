import { getErrnoCode } from '../../lib/error.ts'
import { checkOtherClusters, createCluster, hasCluster, removeStaleFiles } from './cluster.ts'
import { makeDataDirectory } from './directory.ts'
import { type DirectoryLock, lockDirectory } from './directory_lock.ts'
import { type Home, openHome } from './home.ts'
import { unpackProgram } from './program.ts'
import { type Server, type ServerOptions, startServer } from './server.ts'
import { embeddedUrl } from './socket.ts'

interface EmbeddedOptions extends Omit<ServerOptions, 'program'> {
  /** Absolute path of `DATA_DIR`; created if it is missing. */
  readonly dataDir: string
  /** Called before each slow step with its description. */
  readonly onProgress?: (step: string) => void
  /** Directory for program files that several data directories share, for tests. @default DATA_DIR/postgres */
  readonly programParent?: string
}

export type EmbeddedDatabase = Awaited<ReturnType<typeof startEmbedded>>

const RESTART_WAIT_MIN_MS = 50
const RESTART_WAIT_MAX_MS = 5_000
const START_ATTEMPTS = 5
/** PostgreSQL's message if another server has the cluster or its socket. */
const ANOTHER_SERVER = /lock file ".*" (?:already exists|is empty)|pre-existing shared memory block/

/**
 * Starts the PostgreSQL inside the executable on `DATA_DIR/postgres`: unpacks and creates it at the first start, lets
 * only its user reach the socket, restarts it if it exits, and stops it when this process ends. Throws if another
 * process owns the directory, or with PostgreSQL's messages.
 */
export async function startEmbedded(options: EmbeddedOptions) {
  const { dataDir, log, clock, onProgress = () => {} } = options
  if (typeof Bun === 'undefined') {
    throw new Error('Cannot start the embedded database under Node; set DATABASE_URL or run the executable')
  }
  const startedMs = clock.monotonicMs()
  let lock: DirectoryLock | undefined
  let home: Home | undefined
  try {
    const path = await makeDataDirectory(dataDir)
    lock = await lockDirectory(path, { displayPath: dataDir })
    await checkOtherClusters(path)
    home = await openHome(path)
    const durable = options.settings?.['fsync'] !== 'off'
    const program = await unpackProgram(options.programParent ?? home.programParent, {
      durable,
      onUnpack: () => onProgress('Unpacking PostgreSQL'),
    })
    await createCluster(home, { program, durable, onCreate: () => onProgress('Creating the database') })
    const supervisor = await supervise(home, { ...options, program })
    log.info({ msg: 'Started the embedded database', tookMs: Math.round(clock.monotonicMs() - startedMs) })
    const resources = { ownership: lock, home }
    return {
      /** URL for `openDatabase`. */
      url: embeddedUrl(home.socketDir),
      /** Directory of the server's socket, for `psql -h`. */
      socketDir: home.socketDir,
      /** Stops the server, kills it after three seconds, and releases the data directory. */
      async close(): Promise<void> {
        await supervisor.stop()
        await resources.home.close()
        resources.ownership.release()
      },
    }
  } catch (error) {
    await home?.close()
    lock?.release()
    throw toDataDirError(error, dataDir)
  }
}

/** True if a data directory holds a database of any version of PostgreSQL. Creates nothing. */
export async function hasEmbeddedDatabase(dataDir: string): Promise<boolean> {
  return hasCluster(dataDir).catch((error) => {
    throw toDataDirError(error, dataDir)
  })
}

/** Replaces `ENOENT: no such file or directory, mkdir '/x'` by an error that names the data directory. */
function toDataDirError(error: unknown, dataDir: string): unknown {
  const code = getErrnoCode(error)
  if (!/^(?:E[A-Z]{2,}|SQLITE_\w+)$/.test(code)) return error
  return new Error(`Cannot use data directory "${dataDir}": ${MEANINGS[code] ?? 'the system refused'} (${code})`, {
    cause: error,
  })
}

const MEANINGS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'it is on a file system that cannot be written',
  ENOSPC: 'the disk is full',
  EEXIST: 'it is not a directory',
  ENOTDIR: 'it is not a directory',
  ENOENT: 'it cannot be created there',
  SQLITE_CANTOPEN: 'this user may not write there',
  SQLITE_READONLY: 'this user may not write there',
  SQLITE_FULL: 'the disk is full',
}

async function supervise(home: Home, options: ServerOptions): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController()
  let server: Server = await startClean(home, options, stopping.signal)
  const watching = watch()

  async function watch(): Promise<void> {
    let waitMs = RESTART_WAIT_MIN_MS
    for (;;) {
      await server.ended
      if (stopping.signal.aborted) return undefined
      options.log.error({ msg: 'The embedded database exited' })
      try {
        server = await startClean(home, options, stopping.signal)
        if (stopping.signal.aborted) return server.stop()
        options.log.info({ msg: 'Restarted the embedded database' })
        waitMs = RESTART_WAIT_MIN_MS
      } catch (error) {
        if (stopping.signal.aborted) return undefined
        options.log.error({ msg: 'Failed to restart the embedded database', error })
        await options.clock.sleep(waitMs, stopping.signal).catch(() => {})
        waitMs = Math.min(waitMs * 2, RESTART_WAIT_MAX_MS)
      }
    }
  }

  return {
    async stop() {
      stopping.abort()
      await server.stop()
      await watching
    },
  }
}

/**
 * Removes the files of a killed server, then starts. A server whose service was just killed may appear after the check;
 * it ends by itself, so the start is tried again.
 */
async function startClean(home: Home, options: ServerOptions, signal: AbortSignal): Promise<Server> {
  for (let attempt = 1; ; attempt += 1) {
    await removeStaleFiles(home, options.clock, signal)
    try {
      return await startServer(home, options, signal)
    } catch (error) {
      if (attempt === START_ATTEMPTS || !(error instanceof Error && ANOTHER_SERVER.test(error.message))) throw error
    }
  }
}
