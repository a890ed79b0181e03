import { instanceKeyInsert, type instanceKeyList, instanceSecretInsert } from '../../sql/queries.ts'
import type { Database } from '../db/database.ts'
import type { Actor } from './audit.ts'

/**
 * A present or former signing key of the instance. Its id is the first 16 hexadecimal digits of the SHA-256 of the
 * public key, 32 bytes of Ed25519. The private key, PKCS #8, is a secret: null if it is in a file, and once it is
 * retired. `retired_at` is null for the current key.
 */
export type InstanceKey = Awaited<ReturnType<typeof instanceKeyList>>[number]

/** Makes a key the current one instead of `replaced`, null for none. Returns false if another process was first. */
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
    account: by.account ?? null,
  })
  return rows.length > 0
}

/** Returns the instance's master secret, 32 bytes; stores `fresh` if there is none yet. */
export async function ensureInstanceSecret(db: Database, fresh: Uint8Array): Promise<Uint8Array> {
  for (;;) {
    const [row] = await instanceSecretInsert(db, { secret: Buffer.from(fresh).toString('hex') })
    if (row !== undefined) return row.secret
  }
}
