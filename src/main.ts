import { creditCommands } from './command/account/credits.ts'
import { instanceKeyCommands } from './command/account/instance_key.ts'
import { keyCommands } from './command/account/key.ts'
import { loginCommands } from './command/account/login.ts'
import { organizationCommands } from './command/account/org.ts'
import { settingsCommands } from './command/account/settings.ts'
import { triggerCommands } from './command/account/trigger.ts'
import { backupCommand } from './command/backup/backup.ts'
import { restoreCommand } from './command/backup/restore.ts'
import { type Command, type CommandIo, UsageError } from './command/command.ts'
import { doctorCommand } from './command/doctor/doctor.ts'
import { indexCommand } from './command/history.ts'
import { kitCommands } from './command/kit/kit.ts'
import { migrateCommand } from './command/migrate.ts'
import { openapiCommand } from './command/openapi.ts'
import { createOutput } from './command/output.ts'
import { parseCommandLine } from './command/parse.ts'
import { serveCommand } from './command/serve.ts'
import { verifyCommand } from './command/verify.ts'
import { systemClock } from './lib/clock.ts'
import { readConfig } from './service/config/config.ts'
import { readTextFile } from './service/config/read_file.ts'

const COMMANDS: readonly Command[] = [
  serveCommand,
  migrateCommand,
  backupCommand,
  restoreCommand,
  doctorCommand,
  openapiCommand,
  verifyCommand,
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

/** Longest wait of a stopping process for a slow reader of its output. */
const FLUSH_MS = 500

/** Runs one command. Exit statuses: 0 done, 1 failed, 2 wrong usage, others by command. A failure prints one line. */
async function main(stop: AbortController): Promise<number> {
  const io: CommandIo = {
    out: (text) => process.stdout.write(`${text}\n`),
    err: (text) => process.stderr.write(`${text}\n`),
    stdout: () => createOutput(process.stdout, 1),
    stdin: () => process.stdin,
    config: () => readConfig(process.env, readTextFile),
    environment: process.env,
    stop: stop.signal,
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // A second Ctrl-C ends the process at once.
      if (stop.signal.aborted && signal === 'SIGINT') process.exit(130)
      stop.abort(signal)
    })
  }
  try {
    const invocation = parseCommandLine(process.argv.slice(2), COMMANDS)
    if (invocation.kind === 'run') return (await invocation.command.run(invocation.args, io)) ?? 0
    io.out(invocation.text)
    return 0
  } catch (error) {
    io.err(formatError(error))
    return error instanceof UsageError ? 2 : 1
  }
}

/** Waits until all output has been read: an exit would lose output that does not fit into the pipe. */
async function flushOutput(stop: AbortSignal): Promise<void> {
  const ended = [process.stdout, process.stderr].map((stream) => new Promise<void>((done) => stream.end(() => done())))
  const timeout = new Promise<void>((done) => {
    const startTimer = () => systemClock.after(FLUSH_MS, done)
    if (stop.aborted) startTimer()
    else stop.addEventListener('abort', startTimer)
  })
  await Promise.race([Promise.all(ended), timeout])
}

function formatError(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return `walletscope: ${message.replaceAll('\n', ' ')}`
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
main(stop).then(async (status) => {
  await flushOutput(stop.signal)
  process.exit(status)
})
