import insertSql from '../../sql/queries/instance_key_insert.sql' with { type: 'text' }
import listSql from '../../sql/queries/instance_key_list.sql' with { type: 'text' }
import secretSql from '../../sql/queries/instance_secret_insert.sql' with { type: 'text' }
import type { Database } from '../db/database.ts'
import { query } from '../db/query.ts'
import type { Actor } from './audit.ts'

const list = query(listSql, 'read')
const insert = query(insertSql, 'read')
const insertSecret = query(secretSql, 'read')

/** A key with which the instance signs, or once did. */
export interface InstanceKey {
  /** First 16 digits of the SHA-256 of the public key. */
  readonly id: string
  /** 32 bytes of Ed25519. */
  readonly publicKey: Uint8Array
  /** PKCS #8; null if it is in a file, and once it is retired. A secret. */
  readonly privateKey: Uint8Array | null
  readonly createdAt: Date
  /** Null for the one that signs. */
  readonly retiredAt: Date | null
}

/** A key that is to sign. */
export interface NewInstanceKey extends Pick<InstanceKey, 'id' | 'publicKey' | 'privateKey'> {
  /** Id of the key that it replaces; null if none signs. */
  readonly replaced: string | null
}

/** Every key that ever signed, the one that signs first. */
export async function listInstanceKeys(db: Database): Promise<readonly InstanceKey[]> {
  const rows = await list(db, [])
  return rows.map(({ id, public_key, private_key, created_at, retired_at }) => ({
    id,
    publicKey: public_key,
    privateKey: private_key,
    createdAt: created_at,
    retiredAt: retired_at,
  }))
}

/** Makes a key the one that signs. False if somebody else has made another one meanwhile. */
export async function insertInstanceKey(
  db: Database,
  { id, publicKey, privateKey, replaced }: NewInstanceKey,
  by: Actor,
): Promise<boolean> {
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  const rows = await insert(db, [id, hex(publicKey), privateKey && hex(privateKey), replaced, by.kind])
  return rows.length > 0
}

/** The secret of the instance that others are derived from: the given one if there is none yet. 32 bytes. */
export async function keepInstanceSecret(db: Database, fresh: Uint8Array): Promise<Uint8Array> {
  for (;;) {
    const [row] = await insertSecret(db, [Buffer.from(fresh).toString('hex')])
    if (row !== undefined) return row.secret
  }
}
