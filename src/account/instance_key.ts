import { instanceKeyInsert, type instanceKeyList, instanceSecretInsert } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import type { Actor } from './audit.ts'

/**
 * A key with which the instance signs, or once did. Its id is the first 16 digits of the SHA-256 of the public key, which
 * is 32 bytes of Ed25519. The private key, PKCS #8, is a secret: null if it is in a file, and once it is retired.
 * `retired_at` is null for the one that signs.
 */
export type InstanceKey = Awaited<ReturnType<typeof instanceKeyList>>[number]

/** Makes a key the one that signs, in place of `replaced`, null if none does. False if somebody else was quicker. */
export async function insertInstanceKey(
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
  })
  return rows.length > 0
}

/** The secret of the instance that others are derived from: the given one if there is none yet. 32 bytes. */
export async function ensureInstanceSecret(db: Database, fresh: Uint8Array): Promise<Uint8Array> {
  for (;;) {
    const [row] = await instanceSecretInsert(db, { secret: Buffer.from(fresh).toString('hex') })
    if (row !== undefined) return row.secret
  }
}
