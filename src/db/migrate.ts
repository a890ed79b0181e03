import { hash } from 'node:crypto'
import { type Database, SqlError } from './database.ts'
import { FUNCTIONS, type SqlFunction } from './functions.ts'
import { MIGRATIONS, type Migration } from './migrations.ts'

/** What `migrate` did. */
interface MigrationResult {
  /** Names of the migrations, then of the functions, that this call applied; empty if everything was in place. */
  readonly applied: readonly string[]
}

/** The database cannot be used with this program: it was migrated by a newer or a different one. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

/** Migrations and functions of a release; this program's if nothing is given, no functions if migrations alone are. */
interface Release {
  readonly migrations?: readonly Migration[]
  readonly functions?: readonly SqlFunction[]
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
const CREATE_TABLES = `do $walletscope$
begin
  perform pg_advisory_xact_lock(${LOCK});
  create table if not exists schema_migration (
    version integer primary key,
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default now()
  );
  -- Every text that a function ever had; the one that it has now was not replaced.
  create table if not exists schema_function (
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default now(),
    replaced_at timestamptz,
    primary key (name, sha256)
  );
end
$walletscope$`

const STATE = `select to_regclass('schema_function') is not null as exists,
  to_regclass('${UNFINISHED_RESTORE}') is not null as unfinished`

const LIST = 'select version, name, sha256 from schema_migration order by version'

const LIST_FUNCTIONS = 'select name, sha256, replaced_at is null as current from schema_function'

/**
 * Brings the schema up to date: new migrations, then functions whose text changed. Several processes may call it at
 * once: each migration and each function runs once, alone, in one transaction with its row in `schema_migration` or
 * `schema_function`. Throws `SchemaError` when the database is ahead of this program, `SqlError` when a statement fails
 * (nothing of it remains), `UnavailableError` when the database is away.
 */
export async function migrate(db: Database, options: Release = {}): Promise<MigrationResult> {
  const { migrations, functions } = releaseOf(options)
  const present = await readSchema(db)
  checkHistory(present.migrations, migrations)
  const outdated = outdatedFunctions(present.functions, functions)
  if (!present.exists) await db.run(CREATE_TABLES, [], { lane: 'background', deadlineMs: DEADLINE_MS })
  const applied: string[] = []
  for (const migration of migrations.slice(present.migrations.length)) {
    if (await apply(db, migrationStatement(migration))) applied.push(migration.name)
  }
  for (const each of outdated) {
    if (await apply(db, functionStatement(each))) applied.push(each.name)
  }
  checkCurrent(await readSchema(db), { migrations, functions })
  return { applied }
}

/**
 * Throws `SchemaError` unless the database has exactly this program's tables and functions. While a fleet is upgraded,
 * the processes of the release before are told so from the moment of `migrate` on: they are not ready any more.
 */
export async function checkSchema(db: Database, options: Release = {}): Promise<void> {
  checkCurrent(await readSchema(db), releaseOf(options))
}

function releaseOf({ migrations, functions }: Release): Required<Release> {
  return { migrations: migrations ?? MIGRATIONS, functions: functions ?? (migrations === undefined ? FUNCTIONS : []) }
}

/** A migration as the database remembers it. */
interface AppliedMigration {
  readonly version: number
  readonly name: string
  /** Of its text, hexadecimal. */
  readonly sha256: string
}

/** Migrations that the database has, in order; also if a restore into it did not finish. */
export async function listApplied(db: Database): Promise<readonly AppliedMigration[]> {
  return (await readSchema(db, { unfinished: true })).migrations
}

interface AppliedFunction {
  readonly name: string
  readonly sha256: string
  /** False for a text that another one has replaced. */
  readonly current: boolean
}

interface Schema {
  readonly exists: boolean
  readonly migrations: readonly AppliedMigration[]
  readonly functions: readonly AppliedFunction[]
}

/** Readiness asks for it: no slow read may make a service look unready. */
const LANE = { lane: 'gate' } as const

/** What the database has. Throws `SchemaError` if a restore into it did not finish, unless that is asked for. */
async function readSchema(
  db: Database,
  { unfinished = false }: { readonly unfinished?: boolean } = {},
): Promise<Schema> {
  const [found] = await db.run<{ exists: boolean; unfinished: boolean }>(STATE, [], LANE)
  if (found?.unfinished && !unfinished) {
    throw new SchemaError(
      'Cannot use the database: a restore into it is running or did not finish; run "walletscope restore" again',
    )
  }
  if (!found?.exists) return { exists: false, migrations: [], functions: [] }
  const migrations = await db.run<AppliedMigration>(LIST, [], LANE)
  return { exists: true, migrations, functions: await db.run<AppliedFunction>(LIST_FUNCTIONS, [], LANE) }
}

function checkCurrent(present: Schema, { migrations, functions }: Required<Release>): void {
  checkHistory(present.migrations, migrations)
  const version = present.migrations.length
  const [outdated] = outdatedFunctions(present.functions, functions)
  if (version === migrations.length && outdated === undefined) return
  const lacks =
    version === migrations.length
      ? `its function "${outdated?.name}" is not this program's`
      : `its schema is at version ${version}, this program needs ${migrations.length}`
  throw new SchemaError(`Cannot use the database: ${lacks}; run "walletscope migrate"`)
}

/** Functions whose text the database never had. Throws `SchemaError` if it had it once and has a newer one now. */
function outdatedFunctions(
  present: readonly AppliedFunction[],
  functions: readonly SqlFunction[],
): readonly SqlFunction[] {
  return functions.filter(({ name, text }) => {
    const sha256 = hash('sha256', text)
    const known = present.find((each) => each.name === name && each.sha256 === sha256)
    if (known === undefined || known.current) return known === undefined
    throw new SchemaError(
      `Cannot use the database: its function "${name}" is newer than this program's; run the newer program`,
    )
  })
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

function migrationStatement({ version, name, text }: Migration): string {
  return statementOf(`
  if exists (select from schema_migration where version = ${version}) then
    raise exception 'already applied' using errcode = '${ALREADY_APPLIED}';
  end if;
  execute ${dollarQuoted(text)};
  insert into schema_migration (version, name, sha256)
    values (${version}, ${dollarQuoted(name)}, '${hash('sha256', text)}');`)
}

/** A function with another signature is a second one to PostgreSQL: what it was before is dropped with it. */
function functionStatement({ name, text }: SqlFunction): string {
  const own = `p.proname = ${dollarQuoted(name)} and p.pronamespace = current_schema()::text::regnamespace`
  const sha256 = hash('sha256', text)
  return statementOf(`
  if exists (select from schema_function where name = ${dollarQuoted(name)} and sha256 = '${sha256}') then
    raise exception 'already applied' using errcode = '${ALREADY_APPLIED}';
  end if;
  select coalesce(array_agg(p.oid), '{}') into v_old from pg_proc p where ${own};
  begin
    execute ${dollarQuoted(text)};
  exception when invalid_function_definition then
    foreach v_each in array v_old loop
      execute 'drop function ' || v_each::regprocedure;
    end loop;
    execute ${dollarQuoted(text)};
  end;
  if exists (select from pg_proc p where ${own} and p.oid <> all (v_old)) then
    for v_each in select p.oid from pg_proc p where ${own} and p.oid = any (v_old) loop
      execute 'drop function ' || v_each::regprocedure;
    end loop;
  end if;
  update schema_function set replaced_at = now() where name = ${dollarQuoted(name)} and replaced_at is null;
  insert into schema_function (name, sha256) values (${dollarQuoted(name)}, '${sha256}');`)
}

/** One statement, hence one transaction: `begin … commit` over a connection that may drop could commit half. */
function statementOf(body: string): string {
  return `do $walletscope$
declare
  v_old oid[];
  v_each oid;
begin
  perform pg_advisory_xact_lock(${LOCK});${body}
end
$walletscope$`
}

/** False if another process was quicker. */
async function apply(db: Database, statement: string): Promise<boolean> {
  try {
    await db.run(statement, [], { lane: 'background', deadlineMs: DEADLINE_MS })
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
