/** Types of PostgreSQL's catalogue, as the program sends and receives them. */
import postgres from 'postgres'
import { parseDatabaseUrl } from '../../src/db/address.ts'
import { DECODED_TYPES } from '../../src/db/codec.ts'

/** A connection to the database whose catalogue is read. */
export type Sql = ReturnType<typeof postgres>

/** Connects to the migrated database at `url`. */
export function connect(url: string): Sql {
  const address = parseDatabaseUrl(url)
  const [listener] = address.listeners
  return postgres({
    ...('path' in listener ? { path: listener.path } : { host: listener.host, port: listener.port }),
    database: address.database,
    user: address.user,
    password: address.password,
    ssl: address.tls ? 'verify-full' : false,
    max: 1,
    fetch_types: false,
    onnotice: () => {},
  })
}

/** Types that stay text, and arrays of them. */
const TEXT_ARRAYS = [1009, 1015, 1016, 1231, 2951, 1182]

/** What the program gets for a type. */
export function columnType(oid: number): string {
  for (const { oid: scalar, arrayOid, tsType } of DECODED_TYPES) {
    if (oid === scalar) return tsType
    if (oid === arrayOid) return `readonly ${tsType}[]`
  }
  return TEXT_ARRAYS.includes(oid) ? 'readonly string[]' : 'string'
}

const INT8 = 20
/** What may be sent for each parameter type; text for all others. bigint takes numbers too, safe integers only. */
const PARAM_TYPES: ReadonlyMap<number, string> = new Map([
  [16, 'boolean'],
  [17, 'Uint8Array'],
  [21, 'number'],
  [23, 'number'],
  [INT8, 'string | number'],
  [700, 'number'],
  [701, 'number'],
  [1114, 'Date | string'],
  [1184, 'Date | string'],
  [1005, 'readonly number[]'],
  [1007, 'readonly number[]'],
  [1016, 'readonly string[] | readonly number[]'],
  [1021, 'readonly number[]'],
  [1022, 'readonly number[]'],
  [1009, 'readonly string[]'],
  [1015, 'readonly string[]'],
  [1231, 'readonly string[]'],
  [2951, 'readonly string[]'],
])

/** What the program sends for a type. Throws if it is not the one that the header claims, or cannot be sent. */
export async function paramType(
  sql: Sql,
  { name, oid, claimed }: { readonly name: string; readonly oid: number; readonly claimed?: string },
): Promise<string> {
  const [row] = await sql.unsafe(
    `select ${oid}::regtype::text as found, to_regtype('${claimed}')::oid::int4 as claimed, typcategory
     from pg_type where oid = ${oid}`,
  )
  if (claimed !== undefined && row?.['claimed'] !== oid) {
    throw new Error(`parameter ${name} is ${row?.['found']}, the header says ${claimed}`)
  }
  if (row?.['typcategory'] === 'A' && !PARAM_TYPES.has(oid)) {
    throw new Error(`parameter ${name} is ${row['found']}: send it as text[] and cast, $1::text[]::${row['found']}`)
  }
  return PARAM_TYPES.get(oid) ?? 'string'
}
