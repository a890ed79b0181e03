import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { collectNotices } from './notices/mod.ts'

/**
 * `bun run build:node`: the same app for Node 20 and later, `dist/node/walletscope.mjs`, and beside it the thread of
 * proofs, `proof_worker.mjs`, and what `licenses` prints.
 */
const ROOT = join(import.meta.dir, '..')
const OUTDIR = join(ROOT, 'dist/node')

rmSync(OUTDIR, { recursive: true, force: true })
const [app, worker] = await Promise.all([
  bundle('node.ts', 'walletscope.mjs'),
  bundle('receipt/proof/worker.ts', 'proof_worker.mjs'),
])
for (const log of [...app.logs, ...worker.logs]) console.error(String(log))
if (!app.success || !worker.success) process.exit(1)
await Bun.write(join(OUTDIR, 'licenses.notices'), collectNotices({ hasPostgres: false }))

for (const name of ['walletscope.mjs', 'proof_worker.mjs']) {
  console.log(`dist/node/${name}  ${(statSync(join(OUTDIR, name)).size / 1e6).toFixed(2)} MB`)
}

function bundle(entry: string, naming: string) {
  return Bun.build({
    entrypoints: [join(ROOT, 'src', entry)],
    root: join(ROOT, 'src'),
    outdir: OUTDIR,
    naming,
    target: 'node',
    format: 'esm',
    // Names stay readable in stack traces; the file is read once at the start, so its size hardly matters.
    minify: { syntax: true, whitespace: true, identifiers: false },
  })
}
