import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'
import { withProcessLock } from '../../support/process_lock.ts'

const ROOT = join(import.meta.dir, '../../..')
/** What a build is made from: when all of it is older than the build, the build is fresh. */
const SOURCES = [
  'src/**',
  'sql/**',
  '.ci/build*.ts',
  '.ci/notices/*',
  'package.json',
  'bun.lock',
  'bunfig.toml',
  'tsconfig.json',
]
const BUILDS = [
  { file: 'dist/walletscope', script: '.ci/build.ts' },
  { file: 'dist/node/walletscope.mjs', script: '.ci/build_node.ts' },
] as const

/** Builds the executable and the Node bundle if those in `dist` are older than the source. Throws a build's output. */
export function buildWhatIsStale(): Promise<void> {
  return withProcessLock('build', () => {
    const changed = Math.max(
      ...SOURCES.flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: ROOT, dot: true })]).map(changedMs),
    )
    for (const { file, script } of BUILDS) {
      if (existsSync(join(ROOT, file)) && changedMs(file) > changed) continue
      const { success, stdout, stderr } = Bun.spawnSync([process.execPath, script], { cwd: ROOT })
      if (!success) throw new Error(`Cannot build ${file}: ${stdout}${stderr}`)
    }
  })
}

function changedMs(file: string): number {
  return statSync(join(ROOT, file)).mtimeMs
}
