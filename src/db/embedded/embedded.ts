import { type ChildProcess, spawn } from 'node:child_process'
import { constants, existsSync } from 'node:fs'
import { chmod, lstat, open, readFile, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import { getErrnoCode } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { checkOtherClusters, createCluster, hasCluster, removeStaleFiles, SERVER_ENVIRONMENT } from './cluster.ts'
import { makeDataDirectory, openDirectory } from './directory.ts'
import { accessSettings, clusterPath, type Home, openHome } from './home.ts'
import { unpackProgram } from './program.ts'
import { findServerProcesses } from './server_processes.ts'
import { embeddedUrl, isListening, probeSession, resolveSocketDirectory } from './socket.ts'
import { WATCHDOG_JS, WATCHDOG_SH } from './watchdog.ts'

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
      onUnpack: () => onProgress('Unpacking the PostgreSQL inside, once'),
    })
    await createCluster(home, { program, durable, onCreate: () => onProgress(`Creating a database in ${dataDir}`) })
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

/** An exclusive lock on a data directory. */
interface DirectoryLock {
  release(): void
}

/** Held locks: without a reference, the garbage collector would release a lock. */
const heldLocks = new Set<object>()

/**
 * Locks the data directory for this process until `release()` or the process's end: an operating-system lock on
 * `owner.lock`, held through SQLite because neither Bun nor Node offers such locks directly. Throws if another process
 * holds it; the message shows `displayPath`.
 */
async function lockDirectory(
  dataDir: string,
  { displayPath = dataDir }: { readonly displayPath?: string } = {},
): Promise<DirectoryLock> {
  const lockFile = join(dataDir, 'owner.lock')
  const pidFile = join(dataDir, 'owner.pid')
  await makeLockFile(lockFile)
  const { Database } = await import('bun:sqlite')
  const lock = new Database(lockFile)
  try {
    lock.run('begin exclusive')
  } catch (error) {
    lock.close()
    if (getErrnoCode(error) !== 'SQLITE_BUSY') throw error
    const pid = (await readFile(pidFile, 'utf8').catch(() => '')).trim()
    throw new Error(`Cannot use data directory "${displayPath}": another walletscope (pid ${pid || 'unknown'}) owns it`)
  }
  heldLocks.add(lock)
  const release = () => {
    heldLocks.delete(lock)
    lock.close()
  }
  try {
    await writePid(pidFile)
  } catch (error) {
    release()
    throw error
  }
  return { release }
}

/** Creates the lock file for its owner alone: a user who can open it can lock it and keep the service from starting. */
async function makeLockFile(path: string): Promise<void> {
  try {
    await (await open(path, 'wx', 0o600)).close()
  } catch (error) {
    if (getErrnoCode(error) !== 'EEXIST') throw error
    // Do not open it: this process may hold the lock, and closing any descriptor of a file releases its locks.
    if (!(await lstat(path)).isFile()) throw new Error(`Cannot use "${path}": expected a plain file`, { cause: error })
    await chmod(path, 0o600)
  }
}

/** Writes the pid, never through a link. */
async function writePid(path: string): Promise<void> {
  const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = constants
  const file = await open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o644)
  try {
    await file.write(`${process.pid}\n`)
  } finally {
    await file.close()
  }
}

type Server = Awaited<ReturnType<typeof startServer>>

/** Settings by name, for `postgres -c`. */
type ServerSettings = Readonly<Record<string, string>>

/** Small (about 40 MB), reachable only by socket; every commit is durable. */
const SETTINGS: ServerSettings = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  max_connections: '50',
  shared_buffers: '32MB',
  max_wal_size: '256MB',
  io_method: 'sync',
  jit: 'off',
  huge_pages: 'off',
  max_logical_replication_workers: '0',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_min_messages: 'warning',
  // Statement texts may hold secrets.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_line_prefix: '',
}

const READY_MAX_MS = 60_000
const READY_POLL_MS = 3
const FAST_STOP_MS = 2_000
const STOP_MAX_MS = 3_000
const ABANDON_MS = 5_000
/** How long to wait for the last messages of an exited server. */
const LAST_OUTPUT_MAX_MS = 1_000
const MESSAGES_CHARS_MAX = 2_000

interface ServerOptions {
  readonly program: string
  readonly clock: Clock
  readonly log: Log
  /** Called once the server's process runs, before it accepts connections. */
  readonly onSpawned?: () => void
  /** Additional settings, for tests; with `fsync` off, the first start does not wait for the disk either. */
  readonly settings?: ServerSettings
}

/**
 * Starts the server on the home's cluster and waits until it accepts connections. Throws with the server's messages,
 * or `AbortedError` if `signal` fires before it is ready; the server is stopped then.
 */
async function startServer(home: Home, options: ServerOptions, signal: AbortSignal) {
  const settings = { ...SETTINGS, ...accessSettings(home.serverPath), ...options.settings }
  const child = spawnServer(home, { program: options.program, settings })
  options.onSpawned?.()
  const getLatestMessages = logServerOutput(child, { log: options.log, home })
  let isRunning = true
  let abandon = () => {}
  const ended = new Promise<void>((resolve) => {
    abandon = resolve
    child.once('error', () => resolve())
    // `close` fires once all processes of the server have ended, but not while a program of a session holds our pipe.
    child.once('close', () => resolve())
    child.once('exit', () => options.clock.after(LAST_OUTPUT_MAX_MS, resolve))
  }).then(() => {
    isRunning = false
  })

  /** Shuts the server down, kills it after three seconds. Resolves once it has ended, at the latest after five. */
  async function stop(): Promise<void> {
    child.stdin?.destroy()
    const { clock, log } = options
    const cancels = [
      clock.after(FAST_STOP_MS, () => void signalServer(home, 'SIGQUIT')),
      clock.after(STOP_MAX_MS, () => void killServer(home, child)),
      clock.after(ABANDON_MS, () => {
        log.warn({ msg: 'Could not confirm that the embedded database stopped' })
        abandon()
      }),
    ]
    await ended
    for (const cancel of cancels) cancel()
  }

  try {
    await waitUntilReady()
  } catch (error) {
    await stop()
    throw error
  }
  return { ended, stop }

  async function waitUntilReady(): Promise<void> {
    const deadlineMs = options.clock.monotonicMs() + READY_MAX_MS
    for (;;) {
      const answer = await probeSession(home.socketDir)
      const state = answer !== 'away' && (await isStartedByOther(home, child)) ? 'away' : answer
      if (state === 'ready') return
      if (state === 'refused') {
        throw new Error(
          `Cannot start the embedded database: uid ${process.geteuid?.()} is unknown to PostgreSQL; ` +
            'it needs an entry in /etc/passwd',
        )
      }
      if (!isRunning)
        throw new Error(`Cannot start the embedded database: ${getLatestMessages() || 'the server ended'}`)
      if (options.clock.monotonicMs() > deadlineMs) {
        throw new Error('Cannot start the embedded database: it was not ready within 60 seconds')
      }
      await options.clock.sleep(READY_POLL_MS, signal)
    }
  }
}

/** True if the responding server belongs to a killed service: it started late and is about to end. */
async function isStartedByOther(home: Home, child: ChildProcess): Promise<boolean> {
  const { parent } = await findServerProcesses(home)
  return parent !== undefined && parent !== child.pid
}

function spawnServer(
  home: Home,
  { program, settings }: { readonly program: string; readonly settings: ServerSettings },
): ChildProcess {
  const command = [
    join(program, 'bin', 'postgres'),
    ...['-D', clusterPath(home.serverPath), '-k', home.serverSocketDir],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
  const hasShell = existsSync('/bin/sh')
  return spawn(
    hasShell ? '/bin/sh' : process.execPath,
    hasShell ? ['-c', WATCHDOG_SH, ...command] : ['-e', WATCHDOG_JS, ...command],
    {
      cwd: '/',
      // In its own session, or Ctrl-C in a terminal would stop the server before the service has drained.
      detached: true,
      env: {
        ...SERVER_ENVIRONMENT,
        ...(hasShell ? {} : { BUN_BE_BUN: '1' }),
        ...(home.fd === undefined ? {} : { WALLETSCOPE_HOME_FD: '3' }),
      },
      stdio: ['pipe', 'ignore', 'pipe', ...(home.fd === undefined ? [] : [home.fd])],
      ...home.user,
    },
  )
}

/** Logs the server's messages; returns a function that returns the latest ones. */
function logServerOutput(child: ChildProcess, { log, home }: { readonly log: Log; readonly home: Home }): () => string {
  let latest = ''
  let unfinished = ''
  child.stderr?.on('data', (chunk) => {
    const lines = `${unfinished}${chunk}`.replaceAll(home.serverPath, home.path).split('\n')
    unfinished = (lines.pop() ?? '').slice(-MESSAGES_CHARS_MAX)
    for (const line of lines.filter((each) => each !== '')) {
      latest = `${latest}${line}\n`.slice(-MESSAGES_CHARS_MAX)
      // Statement errors reach their senders; warnings and panics concern the whole server.
      if (/^(WARNING|PANIC):/.test(line)) log.warn({ msg: 'PostgreSQL warning', text: line })
      else log.debug({ msg: 'PostgreSQL logged a line', text: line })
    }
  })
  return () => latest.trim()
}

/** Signals the postmaster itself, not its watchdog. */
async function signalServer(home: Home, signal: NodeJS.Signals): Promise<void> {
  const { postmaster } = await findServerProcesses(home)
  if (postmaster !== undefined) signalProcess(postmaster, signal)
}

/** Kills the postmaster, its children, because frozen ones would outlive it, and the watchdog. */
async function killServer(home: Home, watchdog: ChildProcess): Promise<void> {
  for (const pid of (await findServerProcesses(home)).pids) signalProcess(pid, 'SIGKILL')
  // A negative number means the process group; the watchdog has its own.
  if (watchdog.pid !== undefined && watchdog.exitCode === null) signalProcess(-watchdog.pid, 'SIGKILL')
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended meanwhile.
  }
}

/**
 * Finds the embedded server that another process runs on this data directory; undefined if there is none, or this user
 * may not reach it. Its URL is valid until `close()`, which does not stop it. Lets commands work beside a service.
 */
export async function findRunningEmbedded(
  dataDir: string,
): Promise<Pick<EmbeddedDatabase, 'url' | 'close'> | undefined> {
  const home = join(await realpath(dataDir).catch(() => dataDir), 'postgres')
  const directory = await openDirectory(home).catch(() => undefined)
  if (directory === undefined) return undefined
  const { uid } = await directory.stat()
  const { socketDir } = resolveSocketDirectory(home, { uid, fd: directory.fd })
  if (await isListening(socketDir)) return { url: embeddedUrl(socketDir), close: () => directory.close() }
  await directory.close()
  return undefined
}
