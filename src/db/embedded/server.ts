import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { accessSettings } from './access.ts'
import { SERVER_ENVIRONMENT } from './cluster.ts'
import { clusterPath, type Home } from './home.ts'
import { findServerProcesses } from './server_processes.ts'
import { probeSession } from './socket.ts'
import { WATCHDOG_JS, WATCHDOG_SH } from './watchdog.ts'

export type Server = Awaited<ReturnType<typeof startServer>>

/** Settings by name, for `postgres -c`. */
export type ServerSettings = Readonly<Record<string, string>>

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

export interface ServerOptions {
  readonly program: string
  readonly clock: Clock
  readonly log: Log
  /** Additional settings, for tests; with `fsync` off, the first start does not wait for the disk either. */
  readonly settings?: ServerSettings
}

/**
 * Starts the server on the home's cluster and waits until it accepts connections. Throws with the server's messages,
 * or `AbortedError` if `signal` fires before it is ready; the server is stopped then.
 */
export async function startServer(home: Home, options: ServerOptions, signal: AbortSignal) {
  const settings = { ...SETTINGS, ...accessSettings(home.serverPath), ...options.settings }
  const child = spawnServer(home, { program: options.program, settings })
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
