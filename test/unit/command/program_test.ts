import { expect, test } from 'bun:test'
import { join } from 'node:path'

const SRC = join(import.meta.dir, '../../../src')

/** Lists the modules that a module loads before it runs anything, itself included. */
async function listLoaded(entry: string): Promise<ReadonlySet<string>> {
  const transpiler = new Bun.Transpiler({ loader: 'ts' })
  const found = new Set([entry])
  for (const path of found) {
    if (!path.endsWith('.ts')) continue
    for (const { path: target, kind } of transpiler.scanImports(await Bun.file(path).text())) {
      if (kind === 'import-statement') found.add(target.startsWith('.') ? join(path, '..', target) : target)
    }
  }
  return found
}

test.each(['main.ts', 'node.ts'])('%s loads commands and their service only to run them', async (entry) => {
  const loaded = [...(await listLoaded(join(SRC, entry)))].map((path) => path.replace(`${SRC}/`, ''))
  expect(loaded).toContain('program.ts')
  expect(
    loaded.filter((path) => /^(family|portfolio|account\/gate|operator|trigger|db|history|finance)\//.test(path)),
  ).toEqual([])
  expect(loaded.filter((path) => /^(viem|valibot|postgres)$/.test(path))).toEqual([])
})

test('commands about accounts load no family', async () => {
  for (const name of ['org', 'login', 'instance_key']) {
    const loaded = [...(await listLoaded(join(SRC, `command/account/${name}.ts`)))]
    expect(loaded.filter((path) => path.startsWith(`${SRC}/family/`))).toEqual([])
  }
})
