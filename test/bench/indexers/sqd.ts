import { join } from 'node:path'
import { POOL } from '../market.ts'
import { createDatabase, type Indexer, installProject, patchFile, runAt, runToEnd, toRowSet } from './program.ts'

const TABLE = `create table move (
  id text primary key, wallet text not null, block int not null, position int not null, leg int not null,
  kind text not null, asset text not null, amount numeric not null, counterparty text not null, hash text not null,
  time int not null
)`
/** Blocks of a request and requests at a time: what it comes with, and what is quickest here. */
const SPLIT = ['splitSize: 10,', 'splitSize: 100,'] as const
const AT_ONCE = ['Math.min(5, this.rpc', 'Math.min(16, this.rpc'] as const
const CAPACITY = ['capacity ?? 10', 'capacity ?? 16'] as const

/** Installs SQD; with `lifted` its own limits are raised, for which it has no settings. */
export async function installSqd({ lifted }: { readonly lifted: boolean }): Promise<Indexer> {
  const project = await installProject('sqd')
  // One file is the program, and what the store takes for the model.
  const built = await Bun.build({
    entrypoints: [join(project, 'main.ts')],
    format: 'cjs',
    target: 'node',
    packages: 'external',
    naming: 'index.js',
    outdir: join(project, 'lib', 'model'),
  })
  if (!built.success) throw new AggregateError(built.logs, 'Cannot build the program of SQD')
  const library = join(project, 'node_modules', '@subsquid', 'evm-processor', 'lib')
  if (lifted) {
    await patchFile(join(library, 'ds-rpc', 'client.js'), SPLIT)
    await patchFile(join(library, 'ds-rpc', 'client.js'), AT_ONCE)
    await patchFile(join(library, 'processor.js'), CAPACITY)
  }
  return {
    name: `SQD (evm-processor 1.27.3)${lifted ? ', lifted' : ''}`,
    async run(job) {
      const url = await createDatabase(job, 'sqd')
      await runAt(url, TABLE)
      const env = {
        DB_URL: url,
        BENCH_RPC: job.rpcUrl,
        BENCH_POOL: POOL,
        BENCH_END_BLOCK: String(job.endBlock),
        BENCH_FINALITY: String(job.finalAfter),
      }
      const took = await runToEnd(['node', join('lib', 'model', 'index.js')], { cwd: project, env })
      const rows = await runAt<{ readonly row: string }>(
        url,
        `select format('%s:%s:%s:%s:%s:%s:%s:%s:%s:%s', block, position, leg, kind, substr(wallet, 3),
           substr(asset, 3), amount, substr(counterparty, 3), substr(hash, 3), time) as row from move`,
      )
      return { ...took, rows: toRowSet(rows) }
    },
  }
}
