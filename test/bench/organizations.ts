import { mintKey } from '../../src/account/key.ts'
import type { Database } from '../../src/db/database.ts'

/** What each organization begins with. */
export const CREDITS = 1_000_000_000
const RATE_LIMIT = 100_000

/** Makes organizations with plenty of credits, and gives a key of each. */
export async function createOrganizations(db: Database, count: number): Promise<readonly string[]> {
  const minted = Array.from({ length: count }, mintKey)
  // By process, because several may share the database.
  const ids = minted.map((_, index) => `bench_${process.pid}_${String(index).padStart(6, '0')}`)
  await db.run(
    `insert into organization (id, name, rate_limit) select id, id, ${RATE_LIMIT} from unnest($1::text[]) id`,
    [ids],
  )
  await db.run(`insert into spending_limit (organization_id, most) select id, ${CREDITS} from unnest($1::text[]) id`, [
    ids,
  ])
  await db.run(
    `insert into api_key (organization_id, id, name, hash, last4)
     select id, 'key_' || id, 'bench', decode(hash, 'hex'), last4 from unnest($1::text[], $2::text[], $3::text[]) k (id, hash, last4)`,
    [ids, minted.map(({ hash }) => hash), minted.map(({ last4 }) => last4)],
  )
  return minted.map(({ key }) => key)
}
