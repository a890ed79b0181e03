import insertSql from '../../sql/queries/instance_key_insert.sql' with { type: 'text' }
import listSql from '../../sql/queries/instance_key_list.sql' with { type: 'text' }
import secretSql from '../../sql/queries/instance_secret_insert.sql' with { type: 'text' }
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import type { Actor } from './audit.ts'

const list = query(listSql, 'read')
const insert = query(insertSql, 'read')
const insertSecret = query(secretSql, 'read')

/**
 * A key with which the instance signs, or once did. Its id is the first 16 digits of the SHA-256 of the public key, which
 * is 32 bytes of Ed25519. The private key, PKCS #8, is a secret: null if it is in a file, and once it is retired.
 * `retired_at` is null for the one that signs.
 */
export type InstanceKey = Awaited<ReturnType<typeof list>>[number]

/** Every key that ever signed, the one that signs first. */
export function listInstanceKeys(db: Database): Promise<readonly InstanceKey[]> {
  return list(db, [])
}

/** Makes a key the one that signs, in place of `replaced`, null if none does. False if somebody else was quicker. */
export async function insertInstanceKey(
  db: Database,
  key: Pick<InstanceKey, 'id' | 'public_key' | 'private_key'> & { readonly replaced: string | null },
  by: Actor,
): Promise<boolean> {
  const { id, public_key, private_key, replaced } = key
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  const rows = await insert(db, [id, hex(public_key), private_key && hex(private_key), replaced, by.kind])
  return rows.length > 0
}

/** The secret of the instance that others are derived from: the given one if there is none yet. 32 bytes. */
export async function keepInstanceSecret(db: Database, fresh: Uint8Array): Promise<Uint8Array> {
  for (;;) {
    const [row] = await insertSecret(db, [Buffer.from(fresh).toString('hex')])
    if (row !== undefined) return row.secret
  }
}
