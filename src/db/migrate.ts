import { hash } from 'node:crypto'
import { type Database, SqlError } from './database.ts'
import {
  checkMigrationHistory,
  checkUpToDate,
  findOutdatedFunctions,
  type Migration,
  parseRunsWith,
  type Release,
  readSchema,
  type SqlFunction,
  withReleaseDefaults,
} from './schema.ts'

/** A migration may build an index over a large table, or wait for another process that builds one. */
const DEADLINE_MS = 600_000
/** Advisory lock of all processes that migrate one database; arbitrary, must never change. */
const LOCK = 7_310_204_517
/** Our own SQLSTATE: another process has already applied the migration or function. */
const ALREADY_APPLIED = 'WS001'

// These statements are not under sql/queries, because they create the tables that typing those needs.
const CREATE_TABLES = `do $walletscope$
begin
  perform pg_advisory_xact_lock(${LOCK});
  create table if not exists schema_migration (
    version integer primary key,
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default now()
  );
  -- Every text that a function ever had; replaced_at is null for the present one.
  create table if not exists schema_function (
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default now(),
    replaced_at timestamptz,
    primary key (name, sha256)
  );
  -- The least number of migrations that a program must know to run on the tables as they are after this one.
  alter table schema_migration add column if not exists runs_with integer;
  -- Parameters and result, of a text that is the present one or was.
  alter table schema_function add column if not exists signature text;
end
$walletscope$`

/**
 * Brings the schema up to date: new migrations, then functions whose text changed. Several processes may call it at
 * once: each migration and each function runs once, alone, in one transaction with its row in `schema_migration` or
 * `schema_function`. Returns the names of the migrations, then of the functions, that this call applied. Throws
 * `SchemaError` if the database is ahead of this program, `SqlError` if a statement fails (it is rolled back),
 * `UnavailableError` if the database is unreachable.
 */
export async function migrate(db: Database, options: Release = {}): Promise<{ readonly applied: readonly string[] }> {
  const release = withReleaseDefaults(options)
  const { isComplete, migrations, functions } = await readPending(db, release)
  if (!isComplete) await db.run(CREATE_TABLES, [], { lane: 'background', deadlineMs: DEADLINE_MS })
  const applied: string[] = []
  for (const migration of migrations) {
    if (await apply(db, migrationStatement(migration))) applied.push(migration.name)
  }
  for (const each of functions) {
    if (await apply(db, functionStatement(each))) applied.push(each.name)
  }
  checkUpToDate(await readSchema(db), release)
  return { applied }
}

/**
 * Lists the names of the migrations, then of the functions, that `migrate` would apply; changes nothing. Throws
 * `SchemaError` and `UnavailableError` as `migrate`.
 */
export async function listPending(db: Database, options: Release = {}): Promise<readonly string[]> {
  const { migrations, functions } = await readPending(db, withReleaseDefaults(options))
  return [...migrations, ...functions].map(({ name }) => name)
}

/** Reads what the database lacks of a release. `isComplete` is false if it lacks the tables that record it. */
async function readPending(
  db: Database,
  { migrations, functions }: Required<Release>,
): Promise<Required<Release> & { readonly isComplete: boolean }> {
  const present = await readSchema(db)
  checkMigrationHistory(present.migrations, migrations)
  return {
    isComplete: present.isComplete,
    migrations: migrations.slice(present.migrations.length),
    functions: findOutdatedFunctions(present.functions, functions),
  }
}

function migrationStatement({ version, name, text }: Migration): string {
  return toStatement(`
  if exists (select from schema_migration where version = ${version}) then
    raise exception 'already applied' using errcode = '${ALREADY_APPLIED}';
  end if;
  execute ${dollarQuote(text)};
  insert into schema_migration (version, name, sha256, runs_with)
    values (${version}, ${dollarQuote(name)}, '${hash('sha256', text)}', ${parseRunsWith(text) ?? 'null'});`)
}

/** Drops the old function if the signature changes, because PostgreSQL would keep it as a second function. */
function functionStatement({ name, text }: SqlFunction): string {
  const condition = `p.proname = ${dollarQuote(name)} and p.pronamespace = current_schema()::text::regnamespace`
  const sha256 = hash('sha256', text)
  return toStatement(`
  if exists (select from schema_function where name = ${dollarQuote(name)} and sha256 = '${sha256}') then
    raise exception 'already applied' using errcode = '${ALREADY_APPLIED}';
  end if;
  select coalesce(array_agg(p.oid), '{}'), ${SIGNATURE} into v_old, v_signature from pg_proc p where ${condition};
  begin
    execute ${dollarQuote(text)};
  exception when invalid_function_definition then
    foreach v_each in array v_old loop
      execute 'drop function ' || v_each::regprocedure;
    end loop;
    execute ${dollarQuote(text)};
  end;
  if exists (select from pg_proc p where ${condition} and p.oid <> all (v_old)) then
    for v_each in select p.oid from pg_proc p where ${condition} and p.oid = any (v_old) loop
      execute 'drop function ' || v_each::regprocedure;
    end loop;
  end if;
  update schema_function set replaced_at = now(), signature = v_signature
    where name = ${dollarQuote(name)} and replaced_at is null;
  insert into schema_function (name, sha256, signature)
    select ${dollarQuote(name)}, '${sha256}', ${SIGNATURE} from pg_proc p where ${condition};`)
}

/** SQL for a function's signature: names and types of parameters and columns. */
const SIGNATURE =
  "string_agg(pg_get_function_arguments(p.oid) || ' ' || pg_get_function_result(p.oid), '; ' order by p.oid)"

/** Wraps SQL in one statement, hence one transaction: `begin … commit` could commit half if the connection is lost. */
function toStatement(body: string): string {
  return `do $walletscope$
declare
  v_old oid[];
  v_each oid;
  v_signature text;
begin
  perform pg_advisory_xact_lock(${LOCK});${body}
end
$walletscope$`
}

/** Runs the statement; false if another process has already applied it. */
async function apply(db: Database, statement: string): Promise<boolean> {
  try {
    await db.run(statement, [], { lane: 'background', deadlineMs: DEADLINE_MS })
    return true
  } catch (error) {
    if (error instanceof SqlError && error.code === ALREADY_APPLIED) return false
    throw error
  }
}

function dollarQuote(text: string): string {
  if (text.includes('$walletscope')) throw new Error('Cannot run a migration: it contains a reserved quote')
  return `$walletscope_text$${text}$walletscope_text$`
}
