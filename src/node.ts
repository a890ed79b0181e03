import { readFileSync } from 'node:fs'
import { serveNode } from './http/node.ts'
import { readConfig } from './service/config.ts'
import { serve } from './service/serve.ts'

/** The same service on Node, by Hattip's adapter; it needs `DATABASE_URL`, migrated by the executable's `migrate`. */
async function main(): Promise<void> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort(signal))
  await serve(
    readConfig(process.env, (path) => readFileSync(path, 'utf8')),
    {
      listen: serveNode,
      out: (text) => process.stdout.write(`${text}\n`),
      err: (text) => process.stderr.write(`${text}\n`),
      stop: stop.signal,
    },
  )
}

function fail(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`walletscope: ${message.replaceAll('\n', ' ')}\n`)
  process.exit(1)
}

// Whoever reads our lines may go away, a log's collector or `head`: that is no reason to stop serving.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

process.on('uncaughtException', fail)
process.on('unhandledRejection', fail)
main().then(() => process.exit(0), fail)
