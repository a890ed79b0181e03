import { readFileSync } from 'node:fs'
import { type Command, type CommandIo, UsageError } from './command/command.ts'
import { creditCommands } from './command/credits.ts'
import { keyCommands } from './command/key.ts'
import { migrateCommand } from './command/migrate.ts'
import { openapiCommand } from './command/openapi.ts'
import { organizationCommands } from './command/org.ts'
import { parseCommandLine } from './command/parse.ts'
import { serveCommand } from './command/serve.ts'
import { readConfig } from './config.ts'

const COMMANDS: readonly Command[] = [
  serveCommand,
  migrateCommand,
  openapiCommand,
  ...organizationCommands,
  ...keyCommands,
  ...creditCommands,
]

/** Exit statuses: 0 done, 1 failed, 2 wrong usage. Every failure is one line on standard error. */
async function main(): Promise<number> {
  const stop = new AbortController()
  const io: CommandIo = {
    out: (text) => process.stdout.write(`${text}\n`),
    err: (text) => process.stderr.write(`${text}\n`),
    config: () => readConfig(process.env, (path) => readFileSync(path, 'utf8')),
    stop: stop.signal,
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // The second request to stop is obeyed at once: whoever sends it no longer wants to wait.
      if (stop.signal.aborted && signal === 'SIGINT') process.exit(130)
      stop.abort(signal)
    })
  }
  try {
    const invocation = parseCommandLine(process.argv.slice(2), COMMANDS)
    if (invocation.kind === 'help') io.out(invocation.text)
    else await invocation.command.run(invocation.args, io)
    return 0
  } catch (error) {
    io.err(oneLine(error))
    return error instanceof UsageError ? 2 : 1
  }
}

function oneLine(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return `walletscope: ${message.replaceAll('\n', ' ')}`
}

// State that cannot be trusted any more is not served from: a supervisor starts afresh within 300 ms.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error) => {
    process.stderr.write(`${oneLine(error)} (${event})\n`)
    process.exit(1)
  })
}

main().then((status) => process.exit(status))
