import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** `bun run build:node`: the same app for Node 20 and later as one file, `dist/node/walletscope.mjs`. */
const ROOT = join(import.meta.dir, '..')
const OUTDIR = join(ROOT, 'dist/node')

rmSync(OUTDIR, { recursive: true, force: true })
const { success, logs } = await Bun.build({
  entrypoints: [join(ROOT, 'src/node.ts')],
  root: join(ROOT, 'src'),
  outdir: OUTDIR,
  naming: 'walletscope.mjs',
  target: 'node',
  format: 'esm',
  // Names stay readable in stack traces; the file is read once at the start, so its size hardly matters.
  minify: { syntax: true, whitespace: true, identifiers: false },
})
for (const log of logs) console.error(String(log))
if (!success) process.exit(1)

const file = join(OUTDIR, 'walletscope.mjs')
console.log(`dist/node/walletscope.mjs  ${(statSync(file).size / 1e6).toFixed(2)} MB`)
