import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { instanceKeyInsert, instanceKeyList, instanceSecretInsert } from '../../sql/queries.ts'
import { type Actor, FIRST_START_ACTOR } from '../account/audit.ts'
import type { Database } from '../db/database.ts'
import type { Clock } from '../lib/clock.ts'
import { computeKeyId, createSigner, type Signer } from '../lib/dsse.ts'
import { CodedError, UnavailableError } from '../lib/error.ts'
import type { PublishedKey } from './keys.ts'

/**
 * A present or former signing key of the instance. Its id is the first 16 hexadecimal digits of the SHA-256 of the
 * public key, 32 bytes of Ed25519. The private key, PKCS #8, is a secret: null if it is in a file, and once it is
 * retired. `retired_at` is null for the current key.
 */
type InstanceKey = Awaited<ReturnType<typeof instanceKeyList>>[number]

/** Makes a key the current one instead of `replaced`, null for none. Returns false if another process was first. */
async function insertInstanceKey(
  db: Database,
  key: Pick<InstanceKey, 'id' | 'public_key' | 'private_key'> & { readonly replaced: string | null },
  by: Actor,
): Promise<boolean> {
  const { id, replaced } = key
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  const rows = await instanceKeyInsert(db, {
    id,
    publicKey: hex(key.public_key),
    privateKey: key.private_key && hex(key.private_key),
    replaced,
    actor: by.kind,
    account: by.account ?? null,
  })
  return rows.length > 0
}

/** Returns the instance's master secret, 32 bytes; stores `fresh` if there is none yet. */
async function ensureInstanceSecret(db: Database, fresh: Uint8Array): Promise<Uint8Array> {
  for (;;) {
    const [row] = await instanceSecretInsert(db, { secret: Buffer.from(fresh).toString('hex') })
    if (row !== undefined) return row.secret
  }
}

/** How long a process may use a key that another process has retired. */
const CACHE_MS = 60_000

/** Creates access to the instance's key: in the operator's file, else in the database, created there if missing. */
export function createSigning({
  db,
  clock,
  pem,
}: {
  readonly db: Database
  readonly clock: Clock
  /** Text of `INSTANCE_KEY_FILE`. A secret. */
  readonly pem?: string | undefined
}) {
  let cached: { readonly signer: Signer; readonly atMs: number } | undefined

  async function readSigner(): Promise<Signer> {
    const [first] = await instanceKeyList(db, {})
    const active = first?.retired_at === null ? first : undefined
    if (pem !== undefined) {
      const signer = createSigner(pem)
      if (active?.id !== signer.keyId)
        await replaceKey(db, { key: signer.key, isInFile: true, active, by: FIRST_START_ACTOR })
      return signer
    }
    if (active?.private_key) return createSigner(Buffer.from(active.private_key))
    return await replaceKey(db, { key: newKey(), isInFile: false, active, by: FIRST_START_ACTOR })
  }

  async function signer(): Promise<Signer> {
    const nowMs = clock.monotonicMs()
    if (cached === undefined || nowMs - cached.atMs > CACHE_MS) cached = { signer: await readSigner(), atMs: nowMs }
    return cached.signer
  }

  let master: Uint8Array | undefined

  return {
    /** Returns the signer. Throws `UnavailableError` while the database is unreachable. */
    signer,
    /** Returns the master secret of webhooks, 32 bytes; key rotation keeps it. Throws as `signer`. */
    async master(): Promise<Uint8Array> {
      master ??= pem === undefined ? await ensureInstanceSecret(db, randomBytes(MASTER_BYTES)) : deriveMaster(pem)
      return master
    },
    /** Returns every key that has signed, including the active one. */
    async published(): Promise<readonly PublishedKey[]> {
      await signer()
      const keys = await instanceKeyList(db, {})
      return keys.map(({ id, public_key, created_at, retired_at }) => ({
        keyId: id,
        key: createPublicKey({
          key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(public_key).toString('base64url') },
          format: 'jwk',
        }),
        fromSec: Math.floor(created_at.getTime() / 1_000),
        untilSec: retired_at === null ? undefined : Math.ceil(retired_at.getTime() / 1_000),
      }))
    },
  }
}

/** Replaces the signing key by a new one and returns its id. Throws `CodedError` if the key is in a file. */
export async function rotateKey(db: Database, { pem, by }: { readonly pem: string | undefined; readonly by: Actor }) {
  if (pem !== undefined) {
    throw new CodedError('INVALID_REQUEST', 'Cannot rotate the key: it is in INSTANCE_KEY_FILE; replace it there')
  }
  const [first] = await instanceKeyList(db, {})
  const active = first?.retired_at === null ? first : undefined
  const signer = await replaceKey(db, { key: newKey(), isInFile: false, active, by })
  return { keyId: signer.keyId, replaced: active?.id ?? null }
}

/**
 * Derives the master secret from the last key of the file. The first key signs, so an operator who puts a new key
 * before the old one keeps the secrets of webhooks.
 */
function deriveMaster(pem: string): Uint8Array {
  const last = createPrivateKey(pem.slice(pem.lastIndexOf('-----BEGIN')))
  const bytes = last.export({ format: 'der', type: 'pkcs8' })
  return new Uint8Array(hkdfSync('sha256', bytes, '', 'master secret', MASTER_BYTES))
}

const MASTER_BYTES = 32

function newKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey
}

async function replaceKey(
  db: Database,
  {
    key,
    isInFile,
    active,
    by,
  }: {
    readonly key: KeyObject
    readonly isInFile: boolean
    readonly active: InstanceKey | undefined
    readonly by: Actor
  },
): Promise<Signer> {
  const bytes = key.export({ format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(createPrivateKey({ key: bytes, format: 'der', type: 'pkcs8' }))
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const newRow = {
    id: computeKeyId(publicKey),
    public_key: Buffer.from(x, 'base64url'),
    private_key: isInFile ? null : bytes,
    replaced: active?.id ?? null,
  }
  if (await insertInstanceKey(db, newRow, by)) return { key, keyId: newRow.id }
  const [current] = await instanceKeyList(db, {})
  if (current?.retired_at === null && current.private_key !== null && !isInFile)
    return createSigner(Buffer.from(current.private_key))
  if (current?.retired_at === null && current.id === newRow.id) return { key, keyId: newRow.id }
  throw new UnavailableError('Cannot sign: the key of the instance was retired or is being replaced')
}
