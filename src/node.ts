import { UsageError } from './command/command.ts'
import { createOutput } from './command/output.ts'
import { parseCommandLine } from './command/parse.ts'
import { verifyCommand } from './command/verify.ts'
import { serveNode } from './http/server/node.ts'
import { readConfig } from './service/config/config.ts'
import { readTextFile } from './service/config/read_file.ts'
import { nodeFork } from './service/process/fork_node.ts'
import { serve } from './service/serve/serve.ts'

/**
 * Runs the service on Node, or the command `verify`; other commands need the executable. The service needs a
 * `DATABASE_URL` of a database that the executable's `migrate` has migrated. Returns the exit status.
 */
async function main(): Promise<number> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))
  const config = () => readConfig(process.env, readTextFile)
  const out = (text: string) => void process.stdout.write(`${text}\n`)
  const err = (text: string) => void process.stderr.write(`${text}\n`)
  const words = process.argv.slice(2)
  if (words[0] !== verifyCommand.name) {
    await serve(config(), {
      listen: serveNode,
      fork: nodeFork,
      environment: process.env,
      out,
      err,
      stop: stop.signal,
    })
    return 0
  }
  const invocation = parseCommandLine(words, [verifyCommand])
  if (invocation.kind === 'help') {
    out(invocation.text)
    return 0
  }
  const stdout = () => createOutput(process.stdout, 1)
  const io = { out, err, stdout, stdin: () => process.stdin, config, environment: process.env, stop: stop.signal }
  return (await invocation.command.run(invocation.args, io)) ?? 0
}

function fail(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`walletscope: ${message.replaceAll('\n', ' ')}\n`)
  process.exit(error instanceof UsageError ? 2 : 1)
}

// A reader of the output, such as `head` or a log collector, may exit; the process continues.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)
main().then((status) => process.exit(status), fail)
