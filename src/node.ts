import { serveNode } from './http/server/node.ts'
import { readConfig } from './service/config/config.ts'
import { readTextFile } from './service/config/read_file.ts'
import { serve } from './service/serve.ts'

/** The same service on Node. It needs a `DATABASE_URL` that the executable's `migrate` has migrated. */
async function main(): Promise<void> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))
  await serve(readConfig(process.env, readTextFile), {
    listen: serveNode,
    out: (text) => process.stdout.write(`${text}\n`),
    err: (text) => process.stderr.write(`${text}\n`),
    stop: stop.signal,
  })
}

function fail(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`walletscope: ${message.replaceAll('\n', ' ')}\n`)
  process.exit(1)
}

// A reader of the output may go away, such as `head` or a log collector; serving goes on.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)
main().then(() => process.exit(0), fail)
