import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { ARTIFACT_PATH, artifactText, compileContracts, hashCompilation } from '../../devnet/contract/compile.ts'
import { IS_FULL } from '../../support/cases.ts'

const CACHE = join(import.meta.dir, '../../../.cache/contract')

/** Compiled once for the same compiler and sources, and always with `SEEDS=full`: it takes seconds. */
async function compileOnce(): Promise<string> {
  const kept = Bun.file(join(CACHE, `${hashCompilation()}.json`))
  if (!IS_FULL && (await kept.exists())) return await kept.text()
  const text = artifactText(compileContracts())
  await Bun.write(kept, text)
  return text
}

test('compileContracts() gives the committed artifact, byte for byte', async () => {
  expect(await compileOnce()).toBe(await Bun.file(ARTIFACT_PATH).text())
}, 600_000)
