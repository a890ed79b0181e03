import { join } from 'node:path'
import { eachLine, spawnSupervised } from '../../devnet/supervised.ts'
import { cpuUs, family } from '../cpu.ts'
import { POOL } from '../market.ts'
import {
  createDatabase,
  type Indexer,
  type IndexJob,
  type IndexRun,
  installProject,
  LIMIT_MS,
  patchFile,
  runAt,
  toRowSet,
} from './program.ts'

/** It begins with 20 requests a second and raises that slowly, whatever the endpoint can do. */
const RATE = ['const INITIAL_MAX_RPS = 20;', 'const INITIAL_MAX_RPS = 100000;'] as const

/** Installs Ponder; with `lifted` it does not limit its own requests, for which it has no setting. */
export async function installPonder({ lifted }: { readonly lifted: boolean }): Promise<Indexer> {
  const project = await installProject('ponder')
  if (lifted) await patchFile(join(project, 'node_modules', 'ponder', 'dist', 'esm', 'rpc', 'index.js'), RATE)
  return { name: `Ponder 0.16.10${lifted ? ', lifted' : ''}`, run: (job) => runPonder(project, job) }
}

async function runPonder(project: string, job: IndexJob): Promise<IndexRun> {
  const url = await createDatabase(job, 'ponder')
  const port = await findFreePort()
  const env = {
    ...process.env,
    DATABASE_URL: url,
    BENCH_RPC: job.rpcUrl,
    BENCH_POOL: POOL,
    BENCH_END_BLOCK: String(job.endBlock),
    PONDER_TELEMETRY_DISABLED: 'true',
    NODE_ENV: 'production',
  } as Readonly<Record<string, string>>
  const words = ['start', '--schema', 'b1', '--log-format', 'json', '--port', String(port)]
  const program = join(project, 'node_modules', 'ponder', 'dist', 'esm', 'bin', 'ponder.js')
  const startedMs = performance.now()
  const child = spawnSupervised(['node', program, '--root', project, ...words], { env, stderr: 'inherit' })
  const done = Promise.withResolvers<void>()
  const last: string[] = []
  void eachLine(child.stdout, (line) => {
    last.push(line)
    if (last.length > 20) last.shift()
    if (line.includes('Completed indexing across all chains')) done.resolve()
  })
  void child.exited.then((status) => done.reject(new Error(`Ponder ended with status ${status}:\n${last.join('\n')}`)))
  const limit = setTimeout(() => done.reject(new Error(`Ponder takes too long:\n${last.join('\n')}`)), LIMIT_MS)
  try {
    await done.promise
    const wallMs = performance.now() - startedMs
    const cpuMs = (cpuUs(family(child.pid)) ?? Number.NaN) / 1_000
    const rows = await runAt<{ readonly row: string }>(
      url,
      `select format('%s:%s:%s:%s:%s:%s:%s:%s:%s:%s', block, "position", leg, kind, substr(wallet, 3), substr(asset, 3),
         amount, substr(counterparty, 3), substr(hash, 3), time) as row from b1.move`,
    )
    return { wallMs, cpuMs, rows: toRowSet(rows) }
  } finally {
    clearTimeout(limit)
    await child.stop('SIGTERM', 10_000)
  }
}

async function findFreePort(): Promise<number> {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  const { port } = server
  await server.stop(true)
  return port ?? 0
}
