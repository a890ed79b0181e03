import { instanceKeyCommands } from './command/account/instance_key.ts'
import { keyCommands } from './command/account/key.ts'
import { loginCommands } from './command/account/login.ts'
import { creditCommands, organizationCommands } from './command/account/org.ts'
import { settingsCommands } from './command/account/settings.ts'
import { triggerCommands } from './command/account/trigger.ts'
import { backupCommand, restoreCommand } from './command/backup.ts'
import { type Command, CommandError, type CommandIo, type Output } from './command/command.ts'
import { doctorCommand } from './command/doctor/doctor.ts'
import { indexCommand } from './command/history.ts'
import { kitCommands } from './command/kit/kit.ts'
import { licensesCommand } from './command/licenses.ts'
import { migrateCommand } from './command/migrate.ts'
import { openapiCommand } from './command/openapi.ts'
import { parseCommandLine } from './command/parse.ts'
import { createOutput } from './command/print.ts'
import { createServeCommand } from './command/serve.ts'
import { verifyCommand } from './command/verify.ts'
import { ConfigError, readConfig } from './config/config.ts'
import { readTextFile } from './config/read_file.ts'
import { createBoundedWriter } from './lib/bounded_writer.ts'
import { systemClock } from './lib/clock.ts'
import { getErrnoCode } from './lib/error.ts'
import { listenForStop } from './service/process/lifecycle.ts'

/** Longest wait of a stopping process for a slow reader of its output. */
const FLUSH_MS = 500

/**
 * Runs the command of the command line and ends the process. `runtime` says how this one serves; everything else is the
 * same on Bun and Node. Exit statuses: 0 done, 1 failed, 2 wrong usage, others by command. A failure prints one line, a
 * wrong configuration one for each mistake.
 */
export function runProgram(runtime: Parameters<typeof createServeCommand>[0]): void {
  const commands: readonly Command[] = [
    createServeCommand(runtime),
    migrateCommand,
    backupCommand,
    restoreCommand,
    doctorCommand,
    openapiCommand,
    verifyCommand,
    licensesCommand,
    indexCommand,
    ...kitCommands,
    ...organizationCommands,
    ...keyCommands,
    ...instanceKeyCommands,
    ...creditCommands,
    ...triggerCommands,
    ...settingsCommands,
    ...loginCommands,
  ]
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
  runCommand(commands, { out, err, output, stop: stop.signal }).then(async (status) => {
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
  commands: readonly Command[],
  { out, err, output, stop }: Pick<CommandIo, 'out' | 'err' | 'stop'> & { readonly output: Output },
): Promise<number> {
  const io: CommandIo = {
    out,
    err,
    stdout: () => output,
    stdin: () => process.stdin,
    config: () => readConfig(process.env, readTextFile),
    environment: process.env,
    stop,
  }
  try {
    const invocation = parseCommandLine(process.argv.slice(2), commands)
    if (invocation.kind === 'run') return (await invocation.command.run(invocation.args, io)) ?? 0
    io.out(invocation.text)
    return 0
  } catch (error) {
    err(formatError(error))
    return error instanceof CommandError ? error.exitStatus : 1
  }
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
  return `walletscope: ${error instanceof ConfigError ? message : message.replaceAll('\n', ' ')}`
}
