import { afterAll, beforeEach, expect, test } from 'bun:test'
import { generateKeyPairSync } from 'node:crypto'
import { instanceKeyList } from '../../../sql/queries.ts'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { readConfig } from '../../../src/config/config.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { isSignedBy, signEnvelope } from '../../../src/lib/dsse.ts'
import { parseKeys, presentKeys } from '../../../src/receipt/keys.ts'
import { createSigning, rotateKey } from '../../../src/receipt/signing.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'

let database: TestDatabase
let monotonicMs = 0
const clock = { ...systemClock, monotonicMs: () => monotonicMs }

beforeEach(async () => {
  await database?.close()
  database = await testDatabase()
  monotonicMs = 0
}, 60_000)
afterAll(() => database?.close(), 60_000)

function signing(pem?: string) {
  return createSigning({ db: database.db, clock, pem })
}

function newPem(): string {
  return String(generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }))
}

test('many processes that start at the same time sign with one key, which is published', async () => {
  const made = await Promise.all(Array.from({ length: 8 }, () => signing().signer()))
  expect(new Set(made.map(({ keyId }) => keyId)).size).toBe(1)
  const [signer] = made
  if (signer === undefined) throw new Error('Expected a signer')
  const [key, ...others] = parseKeys(JSON.stringify(presentKeys(await signing().published()))) ?? []
  expect([key?.keyId, others.length, key?.untilSec]).toEqual([signer.keyId, 0, undefined])
  if (key === undefined) throw new Error('Expected a key')
  expect(isSignedBy(signEnvelope('text', 'a text', signer), key.key)).toBe(true)
})

test('keys are published before anything was signed', async () => {
  expect(await signing().published()).toHaveLength(1)
})

test('a retired key stays published without its secret, and is used no longer than a minute', async () => {
  const process = signing()
  const before = await process.signer()
  const { keyId, replaced } = await rotateKey(database.db, { pem: undefined, by: CLI_ACTOR })
  expect(replaced).toBe(before.keyId)
  expect((await process.signer()).keyId).toBe(before.keyId)
  monotonicMs += 60_001
  expect((await process.signer()).keyId).toBe(keyId)
  const published = await process.published()
  expect(published.map((each) => [each.keyId, each.untilSec === undefined])).toEqual([
    [keyId, true],
    [before.keyId, false],
  ])
  const [, old] = await instanceKeyList(database.db, {})
  expect(old).toMatchObject({ id: before.keyId, private_key: null })
})

test('concurrent rotations each retire the signing key, and one key is left', async () => {
  await signing().signer()
  const made = await Promise.allSettled(
    Array.from({ length: 6 }, () => rotateKey(database.db, { pem: undefined, by: CLI_ACTOR })),
  )
  expect(made.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0)
  const keys = await instanceKeyList(database.db, {})
  expect(keys.filter(({ retired_at }) => retired_at === null)).toHaveLength(1)
  expect((await signing().signer()).keyId).toBe(keys[0]?.id ?? '')
})

test('a key in a file replaces the one in the database, whose secret goes; its own is never stored', async () => {
  const before = await signing().signer()
  const pem = newPem()
  const { keyId } = await signing(pem).signer()
  expect(keyId).not.toBe(before.keyId)
  const keys = await instanceKeyList(database.db, {})
  expect(keys.map(({ id, private_key, retired_at }) => [id, private_key, retired_at === null])).toEqual([
    [keyId, null, true],
    [before.keyId, null, false],
  ])
  await expect(rotateKey(database.db, { pem, by: CLI_ACTOR })).rejects.toThrow('INSTANCE_KEY_FILE')
  // Without the file another key is made.
  expect((await signing().signer()).keyId).not.toBe(keyId)
})

test('INSTANCE_KEY_FILE that holds no key is a mistake, which does not quote it', () => {
  const read = (text: string) => readConfig({ INSTANCE_KEY_FILE: 'key.pem' }, () => text)
  expect(read(newPem()).instanceKey).toStartWith('-----BEGIN PRIVATE KEY-----')
  const other = String(generateKeyPairSync('x25519').privateKey.export({ format: 'pem', type: 'pkcs8' }))
  for (const text of ['', 'secret', other]) {
    expect(() => read(text)).toThrow(/INSTANCE_KEY_FILE: expected a private key of Ed25519 in PEM \(PKCS #8\)$/)
  }
})
