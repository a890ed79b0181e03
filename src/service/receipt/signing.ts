import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { instanceKeyList } from '../../../sql/queries.ts'
import { type Actor, FIRST_START_ACTOR } from '../../account/audit.ts'
import { ensureInstanceSecret, type InstanceKey, insertInstanceKey } from '../../account/instance_key.ts'
import { computeKeyId, createSigner, type Signer } from '../../chain/receipt/envelope.ts'
import type { Database } from '../../db/database.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError, UnavailableError } from '../../lib/error.ts'
import type { PublishedKey } from './keys.ts'

/** How long a process goes on with a key that another one may have retired. */
const KEPT_MS = 60_000

/** The key of the instance: in a file that the operator names, else in the database, where it is made when it is missing. */
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
  let known: { readonly signer: Signer; readonly atMs: number } | undefined

  async function readSigner(): Promise<Signer> {
    const [first] = await instanceKeyList(db, {})
    const active = first?.retired_at === null ? first : undefined
    if (pem !== undefined) {
      const signer = createSigner(pem)
      if (active?.id !== signer.keyId)
        await replace(db, { key: signer.key, isInFile: true, active, by: FIRST_START_ACTOR })
      return signer
    }
    if (active?.private_key) return createSigner(Buffer.from(active.private_key))
    return await replace(db, { key: newKey(), isInFile: false, active, by: FIRST_START_ACTOR })
  }

  async function signer(): Promise<Signer> {
    const nowMs = clock.monotonicMs()
    if (known === undefined || nowMs - known.atMs > KEPT_MS) known = { signer: await readSigner(), atMs: nowMs }
    return known.signer
  }

  let master: Uint8Array | undefined

  return {
    /** Who signs. Throws `UnavailableError` while the database is away. */
    signer,
    /** What secrets of webhooks are derived from, 32 bytes; it stays when the key is rotated. Throws as `signer`. */
    async master(): Promise<Uint8Array> {
      master ??= pem === undefined ? await ensureInstanceSecret(db, randomBytes(MASTER_BYTES)) : masterOf(pem)
      return master
    },
    /** Every key that ever signed, and the one that will. */
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

/** Makes a new key the one that signs; gives its id. Throws `CodedError` if the key is in a file. */
export async function rotateKey(db: Database, { pem, by }: { readonly pem: string | undefined; readonly by: Actor }) {
  if (pem !== undefined) {
    throw new CodedError('INVALID_REQUEST', 'Cannot rotate the key: it is in INSTANCE_KEY_FILE, put another one there')
  }
  const [first] = await instanceKeyList(db, {})
  const active = first?.retired_at === null ? first : undefined
  const signer = await replace(db, { key: newKey(), isInFile: false, active, by })
  return { keyId: signer.keyId, replaced: active?.id ?? null }
}

/**
 * From the last key of the file. Of several the first signs, so whoever puts a new key before the old one keeps the
 * secrets of webhooks.
 */
function masterOf(pem: string): Uint8Array {
  const last = createPrivateKey(pem.slice(pem.lastIndexOf('-----BEGIN')))
  const bytes = last.export({ format: 'der', type: 'pkcs8' })
  return new Uint8Array(hkdfSync('sha256', bytes, '', 'master secret', MASTER_BYTES))
}

const MASTER_BYTES = 32

function newKey(): KeyObject {
  return generateKeyPairSync('ed25519').privateKey
}

async function replace(
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
  const made = {
    id: computeKeyId(publicKey),
    public_key: Buffer.from(x, 'base64url'),
    private_key: isInFile ? null : bytes,
    replaced: active?.id ?? null,
  }
  if (await insertInstanceKey(db, made, by)) return { key, keyId: made.id }
  const [now] = await instanceKeyList(db, {})
  if (now?.retired_at === null && now.private_key !== null && !isInFile)
    return createSigner(Buffer.from(now.private_key))
  if (now?.retired_at === null && now.id === made.id) return { key, keyId: made.id }
  throw new UnavailableError('Cannot sign: the key of the instance was retired or is being replaced')
}
