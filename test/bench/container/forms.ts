import { join } from 'node:path'
import { temporaryDirectory } from '../../support/database.ts'
import { executableProgram, nodeProgram, type Program } from '../../system/program/program.ts'

const ROOT = join(import.meta.dir, '../../..')

/** A form of the program with the watch of `holds/watch.ts` in it. */
export interface WatchedForm {
  readonly name: string
  readonly program: Program
}

/** Builds the executable and the bundle for Node, each with the watch. The bundle itself must be in `dist`. */
export async function buildWatchedForms(env: Program['env']): Promise<readonly WatchedForm[]> {
  const [executable, watch] = [join(temporaryDirectory(), 'walletscope'), join(temporaryDirectory(), 'watch.mjs')]
  const entry = join(import.meta.dir, 'watched.ts')
  const compiled = Bun.spawnSync([process.execPath, join(ROOT, '.ci/build.ts'), entry, executable], { cwd: ROOT })
  if (!compiled.success) throw new Error(`Cannot build the watched executable: ${compiled.stderr}`)
  const { success, logs, outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, '../holds/watch.ts')],
    target: 'node',
  })
  const [bundle] = outputs
  if (!success || bundle === undefined) throw new Error(`Cannot bundle the watch: ${logs.join('\n')}`)
  await Bun.write(watch, bundle)
  const onBun = executableProgram(env)
  const onNode = nodeProgram(env)
  const [node = '', ...words] = onNode.serve
  return [
    { name: 'executable', program: { ...onBun, serve: [executable] } },
    { name: 'bundle on Node', program: { ...onNode, serve: [node, '--import', watch, ...words] } },
  ]
}
