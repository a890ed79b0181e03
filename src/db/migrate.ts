import { hash } from 'node:crypto'
import { FUNCTIONS, MIGRATIONS } from '../../sql/files.ts'
import { type Database, SqlError } from './database.ts'

/** One step of the schema, forward only. Its text runs in one transaction with its row in `schema_migration`. */
export interface Migration {
  /** Position in the list, from 1, and number of the file. */
  readonly version: number
  /** `0001_account`: the file's name without `.sql`. */
  readonly name: string
  readonly text: string
}

/**
 * One function of the database. Its text is `create or replace function` and the triggers that call it, if any; a
 * changed text is run again, in one transaction. Its signature may change. A function without a file stays, uncalled,
 * until a migration drops it.
 */
export interface SqlFunction {
  /** Of the function, and of its file without `.sql`. */
  readonly name: string
  readonly text: string
}

/** This program cannot use the database: it was migrated by a newer or a different one, or a restore is unfinished. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

/** Migrations and functions of a release: this program's by default, no functions if only migrations are given. */
interface Release {
  readonly migrations?: readonly Migration[]
  readonly functions?: readonly SqlFunction[]
}

/** A migration may build an index over a large table, or wait for another process that does. */
const DEADLINE_MS = 600_000
/** Advisory lock of all processes that migrate one database; arbitrary, must never change. */
const LOCK = 7_310_204_517
/** This table exists while a restore runs or has not finished: no process serves the database meanwhile. */
export const UNFINISHED_RESTORE = 'unfinished_restore'
/** Our own SQLSTATE: another process was quicker. */
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
end
$walletscope$`

const STATE = `select to_regclass('schema_function') is not null as exists,
  to_regclass('${UNFINISHED_RESTORE}') is not null as unfinished,
  current_setting('default_transaction_isolation') as isolation`

const LIST = 'select version, name, sha256 from schema_migration order by version'

const LIST_FUNCTIONS = 'select name, sha256, replaced_at is null as current from schema_function'

/**
 * Brings the schema up to date: new migrations, then functions whose text changed. Several processes may call it at
 * once: each migration and each function runs once, alone, in one transaction with its row in `schema_migration` or
 * `schema_function`. Returns the names of the migrations, then of the functions, that this call applied. Throws
 * `SchemaError` if the database is ahead of this program, `SqlError` if a statement fails (nothing of it remains),
 * `UnavailableError` if the database is away.
 */
export async function migrate(db: Database, options: Release = {}): Promise<{ readonly applied: readonly string[] }> {
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
 * Throws `SchemaError` unless the database has exactly this program's tables and functions. After `migrate` of a newer
 * release, processes of an older one fail this check and stop being ready.
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

/** Migrations that the database has, in order, even if a restore into it is unfinished. */
export async function listApplied(db: Database): Promise<readonly AppliedMigration[]> {
  return (await readSchema(db, { unfinished: true })).migrations
}

interface AppliedFunction {
  readonly name: string
  readonly sha256: string
  /** False if another text replaced it. */
  readonly current: boolean
}

interface Schema {
  readonly exists: boolean
  readonly migrations: readonly AppliedMigration[]
  readonly functions: readonly AppliedFunction[]
}

/** Readiness depends on these reads: slow reads of callers must not delay them. */
const LANE = { lane: 'gate' } as const

/** Migrations and functions of the database. Throws `SchemaError` if a restore is unfinished, unless `unfinished`. */
async function readSchema(
  db: Database,
  { unfinished = false }: { readonly unfinished?: boolean } = {},
): Promise<Schema> {
  const [found] = await db.run<{ exists: boolean; unfinished: boolean; isolation: string }>(STATE, [], LANE)
  if (found !== undefined && found.isolation !== ISOLATION) throw new SchemaError(isolationFault(found.isolation))
  if (found?.unfinished && !unfinished) {
    throw new SchemaError(
      'Cannot use the database: a restore into it is running or did not finish; run "walletscope restore" again',
    )
  }
  if (!found?.exists) return { exists: false, migrations: [], functions: [] }
  const migrations = await db.run<AppliedMigration>(LIST, [], LANE)
  return { exists: true, migrations, functions: await db.run<AppliedFunction>(LIST_FUNCTIONS, [], LANE) }
}

/** A statement that waited for a lock must see what the other wrote. Behind a pooler no session can ask for it. */
const ISOLATION = 'read committed'

function isolationFault(isolation: string): string {
  return (
    `Cannot use the database: its default_transaction_isolation is "${isolation}" and a pooler lets no client change ` +
    `it; run "alter role … set default_transaction_isolation = '${ISOLATION}'" for the role of DATABASE_URL`
  )
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

/** Functions whose text is new to the database. Throws `SchemaError` if the database has replaced that text already. */
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

/**
 * How migrations that were applied somewhere differ from this program's: `other` is the first that this program does not
 * have like that; else `isNewer` says that there are more of them.
 */
export function compareMigrations(
  applied: readonly AppliedMigration[],
  known: readonly Migration[],
): { readonly other: AppliedMigration | undefined; readonly isNewer: boolean } {
  const other = applied.slice(0, known.length).find(({ version, name, sha256 }, index) => {
    const ours = known[index]
    return ours?.version !== version || ours.name !== name || hash('sha256', ours.text) !== sha256
  })
  return { other, isNewer: other === undefined && applied.length > known.length }
}

function checkHistory(present: readonly AppliedMigration[], migrations: readonly Migration[]): void {
  const { other, isNewer } = compareMigrations(present, migrations)
  if (isNewer) {
    throw new SchemaError(
      `Cannot use the database: its schema is at version ${present.length}, this program knows ${migrations.length}; ` +
        'run the newer program',
    )
  }
  if (other === undefined) return
  // Statements would not fit the tables.
  const ours = migrations[other.version - 1]?.name ?? 'none'
  const difference = ours === other.name ? 'had another text than' : `is not "${ours}" as`
  throw new SchemaError(
    `Cannot use the database: its migration ${other.version}, "${other.name}", ${difference} this program's; run the ` +
      'program that made it, or use an empty database',
  )
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

/** To PostgreSQL a function with a new signature is a second function: the old one is dropped. */
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

/** One statement, hence one transaction: `begin … commit` on a connection that may be lost could commit half. */
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
