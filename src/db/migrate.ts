import { hash } from 'node:crypto'
import { type Database, SqlError } from './database.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'

/** What `migrate` did. */
export interface MigrationResult {
  /** Names of the migrations that this call applied, in order; empty where everything was in place. */
  readonly applied: readonly string[]
}

/** The database cannot be used with this program: it was migrated by a newer or a different one. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

/** A migration may build an index over a large table, or wait for another process that does. */
const DEADLINE_MS = 600_000
/** Number of the advisory lock that all processes migrating one database take; arbitrary, never to change. */
const LOCK = 7_310_204_517
/** Table that exists from before a restore writes its first row until all of it is there: nobody serves meanwhile. */
export const UNFINISHED_RESTORE = 'unfinished_restore'
/** Raised where another process was quicker; not a code that PostgreSQL uses. */
const ALREADY_APPLIED = 'WS001'

// The statements of this file live here and not under sql/queries, because they make what those presuppose.
const CREATE_TABLE = `do $walletscope$
begin
  perform pg_advisory_xact_lock(${LOCK});
  create table if not exists schema_migration (
    version integer primary key,
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default now()
  );
end
$walletscope$`

const STATE = `select to_regclass('schema_migration') is not null as exists,
  to_regclass('${UNFINISHED_RESTORE}') is not null as unfinished`

const LIST = 'select version, name, sha256 from schema_migration order by version'

/**
 * Brings the schema up to date. Several processes may call it at once: each migration runs once, alone, in one
 * transaction with its row in `schema_migration`. Throws `SchemaError` when the database is ahead of this program,
 * `SqlError` when a migration fails (nothing of it remains), `UnavailableError` when the database is away.
 */
export async function migrate(
  db: Database,
  options: { readonly migrations?: readonly Migration[] } = {},
): Promise<MigrationResult> {
  const { migrations = MIGRATIONS } = options
  const present = await listApplied(db)
  checkHistory(present, migrations)
  if (present.length === 0) await db.run(CREATE_TABLE, [], { deadlineMs: DEADLINE_MS })
  const applied: string[] = []
  for (const migration of migrations.slice(present.length)) {
    if (await apply(db, migration)) applied.push(migration.name)
  }
  checkHistory(await listApplied(db), migrations)
  return { applied }
}

/** Throws `SchemaError` unless the database is exactly as far as this program. */
export async function checkSchema(
  db: Database,
  { migrations = MIGRATIONS }: { readonly migrations?: readonly Migration[] } = {},
): Promise<void> {
  const present = await listApplied(db)
  checkHistory(present, migrations)
  if (present.length === migrations.length) return
  throw new SchemaError(
    `Cannot use the database: its schema is at version ${present.length}, this program needs ${migrations.length}; ` +
      'run "walletscope migrate"',
  )
}

/** A migration as the database remembers it. */
export interface AppliedMigration {
  readonly version: number
  readonly name: string
  /** Of its text, hexadecimal. */
  readonly sha256: string
}

/** Migrations that the database has, in order. Throws `SchemaError` where a restore into it did not finish, unless that is asked for. */
export async function listApplied(
  db: Database,
  { unfinished = false }: { readonly unfinished?: boolean } = {},
): Promise<readonly AppliedMigration[]> {
  const [found] = await db.run<{ exists: boolean; unfinished: boolean }>(STATE, [])
  if (found?.unfinished && !unfinished) {
    throw new SchemaError(
      'Cannot use the database: a restore into it is running or did not finish; run "walletscope restore" again',
    )
  }
  return found?.exists ? db.run<AppliedMigration>(LIST, []) : []
}

function checkHistory(present: readonly AppliedMigration[], migrations: readonly Migration[]): void {
  const last = present.at(-1)
  if (last !== undefined && last.version > migrations.length) {
    throw new SchemaError(
      `Cannot use the database: its schema is at version ${last.version}, this program knows ${migrations.length}; ` +
        'run the newer program',
    )
  }
  for (const [index, { version, name, sha256 }] of present.entries()) {
    const known = migrations[index]
    if (known?.version !== version || known.name !== name) {
      throw new SchemaError(
        `Cannot use the database: its migration ${version} is "${name}", this program's is "${known?.name ?? 'none'}"`,
      )
    }
    // A migration that was edited after it ran would leave tables that the statements do not fit.
    if (sha256 === hash('sha256', known.text)) continue
    throw new SchemaError(`Cannot use the database: its migration "${name}" had another text than this program's`)
  }
}

/** One statement, hence one transaction: `begin … commit` over a connection that may drop could commit half. */
async function apply(db: Database, { version, name, text }: Migration): Promise<boolean> {
  const statement = `do $walletscope$
begin
  perform pg_advisory_xact_lock(${LOCK});
  if exists (select from schema_migration where version = ${version}) then
    raise exception 'already applied' using errcode = '${ALREADY_APPLIED}';
  end if;
  execute ${dollarQuoted(text)};
  insert into schema_migration (version, name, sha256)
    values (${version}, ${dollarQuoted(name)}, '${hash('sha256', text)}');
end
$walletscope$`
  try {
    await db.run(statement, [], { deadlineMs: DEADLINE_MS })
    return true
  } catch (error) {
    if (error instanceof SqlError && error.code === ALREADY_APPLIED) return false
    throw error
  }
}

function dollarQuoted(text: string): string {
  if (text.includes('$walletscope')) throw new Error('Cannot run a migration: it contains a reserved quote')
  return `$walletscope_text$${text}$walletscope_text$`
}
