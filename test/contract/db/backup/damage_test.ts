import { afterAll, beforeAll, expect, test } from 'bun:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { BackupError } from '../../../../src/db/backup/format.ts'
import { checkBackup, readBackup } from '../../../../src/db/backup/read.ts'
import { createAccount } from '../../../support/account/scene.ts'
import { caseCount, IS_FULL } from '../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { waitFor } from '../../../support/wait_for.ts'
import { createBackup, packed, readContent, restoreInto, streamBytes, withEmpty } from './scene.ts'

/** Gzip's bytes for time and system, which do not matter. */
const GZIP_HEADER = 10

let database: TestDatabase
let whole: Buffer
let lines: readonly string[]

beforeAll(async () => {
  database = await testDatabase()
  for (let count = 0; count < 3; count++) await createAccount(database.db)
  whole = await createBackup(database.url)
  lines = gunzipSync(whole).toString().trimEnd().split('\n')
}, 60_000)
afterAll(() => database.close(), 60_000)

const check = (bytes: Uint8Array) => checkBackup(streamBytes(bytes))

test('a whole backup is read to its end', async () => {
  expect((await check(whole)).end.rows['organization']).toBe(3)
  expect(Object.keys((await check(whole)).end.rows)).toEqual((await check(whole)).header.tables.map(({ name }) => name))
})

/** Looks at every byte with `SEEDS=full`. */
const STRIDE = IS_FULL ? 1 : 7

test('a backup truncated anywhere is refused', async () => {
  for (let length = 0; length < whole.length; length += STRIDE) {
    await expect(check(whole.subarray(0, length))).rejects.toBeInstanceOf(BackupError)
  }
})

test('a backup with any byte altered is refused, or has the same content', async () => {
  const content = gunzipSync(whole)
  for (let at = GZIP_HEADER; at < whole.length; at += STRIDE) {
    const bytes = Buffer.from(whole)
    bytes.writeUInt8((bytes.readUInt8(at) + 1) % 256, at)
    const error = await check(bytes).then(
      () => undefined,
      (refused: unknown) => refused,
    )
    // The same content can be compressed in several ways.
    if (error === undefined) expect(gunzipSync(bytes).equals(content)).toBe(true)
    else expect(error).toBeInstanceOf(BackupError)
  }
})

test('content that was altered and compressed again is refused', async () => {
  const text = gunzipSync(whole)
  await fc.assert(
    fc.asyncProperty(fc.nat(text.length - 2), fc.integer({ min: 1, max: 255 }), async (at, by) => {
      const altered = Buffer.from(text)
      altered.writeUInt8((altered.readUInt8(at) + by) % 256, at)
      await expect(check(gzipSync(altered))).rejects.toBeInstanceOf(BackupError)
    }),
    { numRuns: caseCount(300) },
  )
})

test.each([
  ['without its last line', () => packed(lines.slice(0, -1)), 'truncated'],
  ['without a row', () => packed(lines.filter((line) => !line.startsWith('["org_'))), 'malformed'],
  [
    'with a row twice',
    () => packed(lines.flatMap((line) => (line.startsWith('[') ? [line, line] : line))),
    'malformed',
  ],
  ['with more after its end', () => packed([...lines, lines.at(-1) ?? '']), 'malformed'],
  ['twice in one file', () => Buffer.concat([whole, whole]), 'malformed'],
  ['with a table that its header does not name', () => packed([lines[0] ?? '', '{"table":"else"}']), 'malformed'],
  ['with rows before a table', () => packed([lines[0] ?? '', '["a"]']), 'malformed'],
  ['of a newer format', () => packed([`{"format":"walletscope backup","version":2}`]), 'run the newer program'],
  ['that is no backup', () => packed(['{"name":"package"}']), 'not a backup'],
  ['that is not compressed', () => Buffer.from('hello'), 'not a backup'],
  ['that is empty', () => Buffer.alloc(0), 'truncated'],
  ['whose line never ends', () => gzipSync(Buffer.alloc(70_000_000, 'x')), 'malformed'],
] as const)('a backup %s is refused', async (_, bytes, reason) => {
  const failure = await check(bytes()).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(BackupError)
  expect(String(failure)).toContain(reason)
})

test('a failure of the source is reported as it is', async () => {
  const failure = new Error('The disk failed')
  const source = (async function* () {
    yield whole.subarray(0, 100)
    throw failure
  })()
  await expect(checkBackup(source)).rejects.toBe(failure)
})

test('a reader that stops early closes its source', async () => {
  let closed = false
  const source = (async function* () {
    try {
      yield whole.subarray(0, -20)
      for (;;) {
        await Bun.sleep(5)
        yield new Uint8Array(0)
      }
    } finally {
      closed = true
    }
  })()
  const reader = readBackup(source)
  await reader.next()
  await reader.return(undefined)
  await waitFor('what it reads from to be closed', () => closed)
})

test.each([
  [
    'type',
    (header: string) => header.replace('"type":"text"', '"type":"text), (select pg_terminate_backend(1)::text"'),
  ],
  ['column', (header: string) => header.replace('"name":"rate_limit"', '"name":"rate_limit\\") select 1; --"')],
  ['table', (header: string) => header.replaceAll('"organization"', '"pg_class"')],
  ['left out column', (header: string) => header.replace('{"name":"rate_limit","type":"integer"},', '')],
] as const)('a backup with a valid checksum and a %s that the database does not have is refused', (_, change) =>
  withEmpty(async (target) => {
    const [header = '', ...rest] = lines
    const changed = change(header)
    expect(changed).not.toBe(header)
    const body = [changed, ...rest.slice(0, -1)].map((line) =>
      changed.includes('pg_class') ? line.replaceAll('"organization"', '"pg_class"') : line,
    )
    const sha256 = new Bun.CryptoHasher('sha256').update(body.map((line) => `${line}\n`).join('')).digest('hex')
    const forged = packed([...body, JSON.stringify({ sha256 })])
    await checkBackup(streamBytes(forged))
    await expect(restoreInto(target.url, forged)).rejects.toThrow("differs from the database's")
    expect(await target.db.run(`select to_regclass('organization') is null as absent`, [])).toEqual([{ absent: true }])
  }),
)

test('what an altered backup had loaded before its end was read is rolled back', () =>
  withEmpty(async (target) => {
    const altered = packed(lines.map((line) => line.replace('"0","1000"', '"0","9000"')))
    await expect(restoreInto(target.url, altered)).rejects.toThrow('it was altered')
    expect(await target.db.run(`select to_regclass('organization') is null as absent`, [])).toEqual([{ absent: true }])
    await restoreInto(target.url, whole)
    expect(await readContent(target.db)).toEqual(await readContent(database.db))
  }))
