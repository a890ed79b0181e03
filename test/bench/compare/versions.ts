import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../../support/database.ts'

const ROOT = join(import.meta.dir, '../../..')
const OPTION = '--against='

/** One version of the program: its files, with our packages. */
export interface Version {
  readonly name: 'old' | 'new'
  readonly root: string
}

/** The files as they are here, and those of the commit that `--against=` names. Throws if there is none. */
export async function versions(): Promise<readonly Version[]> {
  const against = process.argv.find((word) => word.startsWith(OPTION))?.slice(OPTION.length) ?? ''
  const root = temporaryDirectory()
  const unpack = 'git archive "$1" | tar -x -C "$2"'
  const child = Bun.spawn(['bash', '-o', 'pipefail', '-c', unpack, 'bash', against, root], { cwd: ROOT })
  if ((await child.exited) !== 0) throw new Error(`Cannot compare: expected a commit, as in ${OPTION}HEAD~1`)
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  return [
    { name: 'old', root },
    { name: 'new', root: ROOT },
  ]
}
