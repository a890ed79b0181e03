import { type Command, CommandError, type CommandIo, type Output } from './command/command.ts'
import { isVersionRequest, parseCommandLine } from './command/parse.ts'
import { createOutput } from './command/print.ts'
import type { Runtime } from './command/serve.ts'
import { readTextFile } from './config/read_file.ts'
import { createBoundedWriter } from './lib/bounded_writer.ts'
import { systemClock } from './lib/clock.ts'
import { getErrnoCode } from './lib/error.ts'
import { listenForStop } from './service/process/lifecycle.ts'

/** Loads commands, and with them what they do. */
type LoadCommands = (runtime: Runtime) => Promise<readonly Command[]>

/**
 * Commands by their first word. Each is loaded only to be run or described: to evaluate the modules of all takes a tenth
 * of a second of CPU.
 */
const COMMANDS: Readonly<Record<string, LoadCommands>> = {
  serve: async (runtime) => [(await import('./command/serve.ts')).createServeCommand(runtime)],
  migrate: async () => [(await import('./command/migrate.ts')).migrateCommand],
  backup: async () => [(await import('./command/backup.ts')).backupCommand],
  restore: async () => [(await import('./command/backup.ts')).restoreCommand],
  doctor: async () => [(await import('./command/doctor/doctor.ts')).doctorCommand],
  openapi: async () => [(await import('./command/openapi.ts')).openapiCommand],
  verify: async () => [(await import('./command/verify.ts')).verifyCommand],
  licenses: async () => [(await import('./command/licenses.ts')).licensesCommand],
  index: async () => [(await import('./command/history.ts')).indexCommand],
  kit: async () => (await import('./command/kit/kit.ts')).kitCommands,
  org: async () => (await import('./command/account/org.ts')).organizationCommands,
  key: async () => (await import('./command/account/key.ts')).keyCommands,
  keys: async () => (await import('./command/account/instance_key.ts')).instanceKeyCommands,
  credits: async () => (await import('./command/account/org.ts')).creditCommands,
  trigger: async () => (await import('./command/account/trigger.ts')).triggerCommands,
  settings: async () => (await import('./command/account/settings.ts')).settingsCommands,
  login: async () => [(await import('./command/account/login.ts')).loginCommand],
  logout: async () => [(await import('./command/account/login.ts')).logoutCommand],
}

/** Longest wait of a stopping process for a slow reader of its output. */
const FLUSH_MS = 500

/**
 * Runs the command of the command line and ends the process. `runtime` says how this one serves; everything else is the
 * same on Bun and Node. Exit statuses: 0 done, 1 failed, 2 wrong usage, others by command. A failure prints one line, a
 * wrong configuration one for each mistake.
 */
export function runProgram(runtime: Runtime): void {
  const err = createBoundedWriter(process.stderr)
  const output = createOutput(process.stdout, 1)
  let outputFailure: unknown
  let written = Promise.resolve()
  /** Writes a line after those before it. */
  const out = (text: string): void => {
    written = written
      .then(() => output.write(Buffer.from(`${text}\n`)))
      .catch((error: unknown) => {
        // A reader such as `head` may have enough.
        if (getErrnoCode(error) !== 'EPIPE') outputFailure ??= error
      })
  }

  // The state is undefined after an unexpected error: exit, so that a supervisor restarts the process.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error) => {
      process.stderr.write(`${formatError(error)} (${event})\n`)
      process.exit(1)
    })
  }
  // A reader of the output, such as `head` or a log collector, may exit; the process continues.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

  const stop = new AbortController()
  listenForStop((signal) => {
    // A second Ctrl-C ends the process at once.
    if (stop.signal.aborted && signal === 'SIGINT') process.exit(130)
    stop.abort(signal)
  })
  runCommand(runtime, { out, err, output, stop: stop.signal }).then(async (status) => {
    await waitUnlessStopped(
      written.then(() => endStream(process.stdout)),
      stop.signal,
    )
    if (outputFailure !== undefined) err(`walletscope: Cannot write all output: ${getErrnoCode(outputFailure)}`)
    await waitUnlessStopped(endStream(process.stderr), stop.signal)
    process.exit(status === 0 && outputFailure !== undefined ? 1 : status)
  })
}

/** Runs the command of the command line and returns the exit status. */
async function runCommand(
  runtime: Runtime,
  { out, err, output, stop }: Pick<CommandIo, 'out' | 'err' | 'stop'> & { readonly output: Output },
): Promise<number> {
  try {
    const words = process.argv.slice(2)
    const invocation = parseCommandLine(words, await loadCommands(words, runtime))
    if (invocation.kind === 'help') {
      out(invocation.text)
      return 0
    }
    const { readConfig } = await import('./config/config.ts')
    const io: CommandIo = {
      out,
      err,
      stdout: () => output,
      stdin: () => process.stdin,
      config: () => readConfig(process.env, readTextFile),
      environment: process.env,
      stop,
    }
    return (await invocation.command.run(invocation.args, io)) ?? 0
  } catch (error) {
    err(formatError(error))
    return error instanceof CommandError ? error.exitStatus : 1
  }
}

/** Loads the commands that a command line may mean: all, unless its first word decides. */
export async function loadCommands(words: readonly string[], runtime: Runtime): Promise<readonly Command[]> {
  if (isVersionRequest(words)) return []
  const [first = 'serve'] = words
  const load = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined
  const loads = load === undefined ? Object.values(COMMANDS) : [load]
  return (await Promise.all(loads.map((each) => each(runtime)))).flat()
}

/** Resolves once the stream's output has been read: an exit would lose what does not fit into the pipe. */
function endStream(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((done) => stream.end(() => done()))
}

/** Waits for `work`; after a stop signal only as long as a stopping process may take. */
async function waitUnlessStopped(work: Promise<unknown>, stop: AbortSignal): Promise<void> {
  const timeout = new Promise<void>((done) => {
    const startTimer = () => systemClock.after(FLUSH_MS, done)
    if (stop.aborted) startTimer()
    else stop.addEventListener('abort', startTimer)
  })
  await Promise.race([work, timeout])
}

function formatError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return `walletscope: ${error instanceof Error && error.name === 'ConfigError' ? message : message.replaceAll('\n', ' ')}`
}
