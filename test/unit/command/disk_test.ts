import { expect, test } from 'bun:test'
import { examineDisk } from '../../../src/command/doctor/disk.ts'

const URL = 'postgres://localhost/app'

test.each([
  [undefined, false, 99_999_999, 'failed', '99 MB free in DATA_DIR, 100 MB are needed'],
  [undefined, false, 100e6, 'lack', '100 MB free in DATA_DIR'],
  [undefined, true, 31_999_999, 'failed', '31 MB free in DATA_DIR, 32 MB are needed'],
  [undefined, true, 32e6, 'lack', '32 MB free in DATA_DIR'],
  [undefined, true, 999_999_999, 'lack', '999 MB free in DATA_DIR'],
  [undefined, true, 1_999_999_999, 'good', '1.9 GB free in DATA_DIR'],
  [URL, false, 999_999, 'failed', '0 MB free in DATA_DIR, 1 MB are needed'],
  [URL, false, 1e6, 'lack', '1 MB free in DATA_DIR'],
  [URL, true, 100e6, 'good', '100 MB free in DATA_DIR'],
] as const)(
  'examineDisk() of %p, database %p and %d bytes is %s',
  (databaseUrl, hasDatabase, freeBytes, verdict, found) => {
    expect(examineDisk({ databaseUrl }, { freeBytes, hasDatabase })).toMatchObject({ verdict, found })
  },
)
