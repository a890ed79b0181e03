import { hash } from 'node:crypto'
import { FUNCTIONS, MIGRATIONS } from '../../sql/files.ts'
import { type Database, SchemaError, SERVER_VERSION_MIN, serverTooOldError } from './database.ts'

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
  /** Name of the function, and of its file without `.sql`. */
  readonly name: string
  readonly text: string
}

/** Migrations and functions of a release: this program's by default, no functions if only migrations are given. */
export interface Release {
  readonly migrations?: readonly Migration[]
  readonly functions?: readonly SqlFunction[]
}

/** This table exists while a restore is unfinished, so that no process serves the database. */
export const UNFINISHED_RESTORE = 'unfinished_restore'

const STATE = `select to_regclass('schema_function') is not null as exists,
  to_regclass('${UNFINISHED_RESTORE}') is not null as unfinished,
  (
    select count(*) = 2 from pg_attribute a
    where (a.attrelid, a.attname) in
      ((to_regclass('schema_migration'), 'runs_with'), (to_regclass('schema_function'), 'signature'))
  ) as complete,
  current_setting('default_transaction_isolation') as isolation, current_setting('server_encoding') as encoding,
  current_setting('server_version') as version, current_setting('server_version_num')::integer as version_no`

interface State {
  readonly exists: boolean
  readonly complete: boolean
  readonly unfinished: boolean
  readonly isolation: string
  readonly encoding: string
  readonly version: string
  readonly version_no: number
}

// Later columns are read as fields of the row, because older databases lack them.
const LIST = `select version, name, sha256, (to_jsonb(m) ->> 'runs_with')::integer as runs_with
  from schema_migration m order by version`

const LIST_FUNCTIONS = `select name, sha256, replaced_at is null as current, to_jsonb(f) ->> 'signature' as signature
  from schema_function f`

/**
 * Throws `SchemaError` unless the database has exactly this program's tables and functions.
 */
export async function checkSchema(db: Database, options: Release = {}): Promise<void> {
  checkUpToDate(await readSchema(db), withReleaseDefaults(options))
}

/**
 * Throws `SchemaError` unless this program can serve from the database: it has the program's own tables and functions
 * (`own`), or those of a newer release with which the program still works (`newer`).
 */
export async function checkServable(db: Database, options: Release = {}): Promise<'own' | 'newer'> {
  const present = await readSchema(db)
  const release = withReleaseDefaults(options)
  if (isNewerButRuns(present, release)) return 'newer'
  checkUpToDate(present, release)
  return 'own'
}

/** True if the database takes no writes: a standby, or one that was made read-only. Throws as `Database.run`. */
export async function isReadOnly(db: Database): Promise<boolean> {
  const [row] = await db.run<{ readonly read_only: boolean }>(
    `select pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as read_only`,
    [],
    LANE,
  )
  return row?.read_only === true
}

/** True if migrations or functions are a newer release's, and all of them are compatible with this one. */
function isNewerButRuns({ migrations, functions }: Schema, release: Required<Release>): boolean {
  const knownCount = release.migrations.length
  const newer = migrations.slice(knownCount)
  const { firstDifference } = compareMigrations(migrations, release.migrations)
  if (migrations.length < knownCount || firstDifference !== undefined) return false
  const states = release.functions.map((each) => functionState(functions, each))
  const canRun = newer.every(
    ({ runs_with: requiredCount }) => typeof requiredCount === 'number' && requiredCount <= knownCount,
  )
  const isNewer = newer.length > 0 || states.includes('replaced')
  return isNewer && canRun && states.every((state) => state === 'current' || state === 'replaced')
}

/** `replaced`: by a text with the same parameters and result; `changed`: by one with a different signature. */
function functionState(
  present: readonly AppliedFunction[],
  { name, text }: SqlFunction,
): 'current' | 'replaced' | 'changed' | 'unknown' {
  const sha256 = hash('sha256', text)
  const applied = present.find((each) => each.name === name && each.sha256 === sha256)
  if (applied === undefined) return 'unknown'
  if (applied.current) return 'current'
  const current = present.find((each) => each.name === name && each.current)
  return applied.signature !== null && applied.signature === current?.signature ? 'replaced' : 'changed'
}

/**
 * Parses the line `-- runs with: 16`: the minimum number of migrations that a program must know to run after this one.
 * Undefined without that line: only a program that knows the migration can run.
 */
export function parseRunsWith(text: string): number | undefined {
  const [, digits] = /^-- runs with: (\d+)$/m.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** Completes a release with the defaults. */
export function withReleaseDefaults({ migrations, functions }: Release): Required<Release> {
  return { migrations: migrations ?? MIGRATIONS, functions: functions ?? (migrations === undefined ? FUNCTIONS : []) }
}

interface AppliedMigration {
  readonly version: number
  readonly name: string
  /** Hash of the text, hexadecimal. */
  readonly sha256: string
  /** The number of `parseRunsWith`; null for migrations applied before it was recorded. */
  readonly runs_with?: number | null
}

/** Lists the applied migrations, in order, even if a restore is unfinished. */
export async function listAppliedMigrations(db: Database): Promise<readonly AppliedMigration[]> {
  return (await readSchema(db, { allowUnfinished: true })).migrations
}

interface AppliedFunction {
  readonly name: string
  readonly sha256: string
  /** False if another text replaced it. */
  readonly current: boolean
  /** Null if none was recorded. */
  readonly signature: string | null
}

interface Schema {
  /** False if its own tables lack a column that `migrate` adds. */
  readonly isComplete: boolean
  readonly migrations: readonly AppliedMigration[]
  readonly functions: readonly AppliedFunction[]
}

/** Readiness depends on these reads: slow reads of callers must not delay them. */
const LANE = { lane: 'gate' } as const

/** Reads migrations and functions. Throws `SchemaError` if a restore is unfinished, unless `allowUnfinished`. */
export async function readSchema(
  db: Database,
  { allowUnfinished = false }: { readonly allowUnfinished?: boolean } = {},
): Promise<Schema> {
  const [state] = await db.run<State>(STATE, [], LANE)
  if (state !== undefined && state.version_no < SERVER_VERSION_MIN)
    throw serverTooOldError(`is PostgreSQL ${state.version}`)
  if (state !== undefined && state.isolation !== ISOLATION) throw new SchemaError(formatIsolationError(state.isolation))
  if (state !== undefined && !ENCODINGS.includes(state.encoding)) {
    throw new SchemaError(
      `Cannot use the database: its encoding ${state.encoding} cannot store every text; ` +
        "create one with encoding 'UTF8' template template0",
    )
  }
  if (state?.unfinished && !allowUnfinished) {
    throw new SchemaError(
      'Cannot use the database: a restore into it is running or did not finish; run "walletscope restore" again',
    )
  }
  if (!state?.exists) return { isComplete: false, migrations: [], functions: [] }
  const migrations = await db.run<AppliedMigration>(LIST, [], LANE)
  const functions = await db.run<AppliedFunction>(LIST_FUNCTIONS, [], LANE)
  return { isComplete: state.complete, migrations, functions }
}

/** Required isolation: a statement that waited for a lock must see the other's writes. Poolers do not let us set it. */
const ISOLATION = 'read committed'

/** Encodings that store every text; SQL_ASCII stores bytes as they come. */
const ENCODINGS: readonly string[] = ['UTF8', 'SQL_ASCII']

function formatIsolationError(isolation: string): string {
  return (
    `Cannot use the database: its default_transaction_isolation is "${isolation}" and a pooler lets no client change ` +
    `it; run "alter role … set default_transaction_isolation = '${ISOLATION}'" for the role of DATABASE_URL`
  )
}

/** Throws `SchemaError` unless tables and functions are those of the release. */
export function checkUpToDate(present: Schema, { migrations, functions }: Required<Release>): void {
  checkMigrationHistory(present.migrations, migrations)
  const version = present.migrations.length
  const [outdated] = findOutdatedFunctions(present.functions, functions)
  if (version === migrations.length && outdated === undefined) return
  const reason =
    version === migrations.length
      ? `its function "${outdated?.name}" is not this program's`
      : `its schema is at version ${version}, this program needs ${migrations.length}`
  throw new SchemaError(`Cannot use the database: ${reason}; run "walletscope migrate"`)
}

/** Lists functions whose text the database lacks. Throws `SchemaError` if it has already replaced that text. */
export function findOutdatedFunctions(
  present: readonly AppliedFunction[],
  functions: readonly SqlFunction[],
): readonly SqlFunction[] {
  return functions.filter((each) => {
    const state = functionState(present, each)
    if (state === 'unknown' || state === 'current') return state === 'unknown'
    throw new SchemaError(
      `Cannot use the database: its function "${each.name}" is newer than this program's; run the newer program`,
    )
  })
}

/**
 * Compares applied migrations with this program's: `firstDifference` is the first one that differs; else `isNewer` is
 * true if there are more.
 */
export function compareMigrations(
  applied: readonly AppliedMigration[],
  knownMigrations: readonly Migration[],
): { readonly firstDifference: AppliedMigration | undefined; readonly isNewer: boolean } {
  const firstDifference = applied.slice(0, knownMigrations.length).find(({ version, name, sha256 }, index) => {
    const ours = knownMigrations[index]
    return ours?.version !== version || ours.name !== name || hash('sha256', ours.text) !== sha256
  })
  return { firstDifference, isNewer: firstDifference === undefined && applied.length > knownMigrations.length }
}

/** Throws `SchemaError` if the applied migrations differ from the release's, or if there are more. */
export function checkMigrationHistory(present: readonly AppliedMigration[], migrations: readonly Migration[]): void {
  const { firstDifference, isNewer } = compareMigrations(present, migrations)
  if (isNewer) {
    throw new SchemaError(
      `Cannot use the database: its schema is at version ${present.length}, this program knows ${migrations.length}; ` +
        'run the newer program',
    )
  }
  if (firstDifference === undefined) return
  // Statements would not match the tables.
  const ours = migrations[firstDifference.version - 1]?.name ?? 'none'
  const difference = ours === firstDifference.name ? 'had another text than' : `is not "${ours}" as`
  throw new SchemaError(
    `Cannot use the database: its migration ${firstDifference.version}, "${firstDifference.name}", ${difference} this program's; run the ` +
      'program that applied it, or use an empty database',
  )
}
