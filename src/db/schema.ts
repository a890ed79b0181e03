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
  /** Of the function, and of its file without `.sql`. */
  readonly name: string
  readonly text: string
}

/** Migrations and functions of a release: this program's by default, no functions if only migrations are given. */
export interface Release {
  readonly migrations?: readonly Migration[]
  readonly functions?: readonly SqlFunction[]
}

/** This table exists while a restore runs or has not finished: no process serves the database meanwhile. */
export const UNFINISHED_RESTORE = 'unfinished_restore'

const STATE = `select to_regclass('schema_function') is not null as exists,
  to_regclass('${UNFINISHED_RESTORE}') is not null as unfinished,
  (
    select count(*) = 2 from pg_attribute a
    where (a.attrelid, a.attname) in
      ((to_regclass('schema_migration'), 'runs_with'), (to_regclass('schema_function'), 'signature'))
  ) as complete,
  current_setting('default_transaction_isolation') as isolation,
  current_setting('server_version') as version, current_setting('server_version_num')::integer as version_no`

interface State {
  readonly exists: boolean
  readonly complete: boolean
  readonly unfinished: boolean
  readonly isolation: string
  readonly version: string
  readonly version_no: number
}

// Columns that came later are read as a field of the row, which may lack it.
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
 * Throws `SchemaError` unless this program can serve from the database: it has the program's own tables and functions,
 * or those of a newer release on which the program still runs. `own` or `newer` says which.
 */
export async function checkServable(db: Database, options: Release = {}): Promise<'own' | 'newer'> {
  const present = await readSchema(db)
  const release = withReleaseDefaults(options)
  if (isNewerButRuns(present, release)) return 'newer'
  checkUpToDate(present, release)
  return 'own'
}

/** True if migrations or functions are a newer release's, and each says or shows that this one runs with it. */
function isNewerButRuns({ migrations, functions }: Schema, release: Required<Release>): boolean {
  const known = release.migrations.length
  const further = migrations.slice(known)
  const { other } = compareMigrations(migrations, release.migrations)
  if (migrations.length < known || other !== undefined) return false
  const states = release.functions.map((each) => functionState(functions, each))
  const runs = further.every(({ runs_with: least }) => typeof least === 'number' && least <= known)
  const isNewer = further.length > 0 || states.includes('replaced')
  return isNewer && runs && states.every((state) => state === 'current' || state === 'replaced')
}

/** `replaced`: by a text with the same parameters and result; `changed`: by one with others. */
function functionState(
  present: readonly AppliedFunction[],
  { name, text }: SqlFunction,
): 'current' | 'replaced' | 'changed' | 'unknown' {
  const sha256 = hash('sha256', text)
  const known = present.find((each) => each.name === name && each.sha256 === sha256)
  if (known === undefined) return 'unknown'
  if (known.current) return 'current'
  const now = present.find((each) => each.name === name && each.current)
  return known.signature !== null && known.signature === now?.signature ? 'replaced' : 'changed'
}

/**
 * The least number of migrations that a program must know to run on the tables as they are after this one: the line
 * `-- runs with: 16` of its text. Undefined without that line: only a program that knows the migration runs then.
 */
export function parseRunsWith(text: string): number | undefined {
  const [, digits] = /^-- runs with: (\d+)$/m.exec(text) ?? []
  return digits === undefined ? undefined : Number(digits)
}

/** A release with what is left out of `options`. */
export function withReleaseDefaults({ migrations, functions }: Release): Required<Release> {
  return { migrations: migrations ?? MIGRATIONS, functions: functions ?? (migrations === undefined ? FUNCTIONS : []) }
}

interface AppliedMigration {
  readonly version: number
  readonly name: string
  /** Of its text, hexadecimal. */
  readonly sha256: string
  /** As `parseRunsWith` reads it; null of a migration that was applied before that was recorded. */
  readonly runs_with?: number | null
}

/** Migrations that the database has, in order, even if a restore into it is unfinished. */
export async function listAppliedMigrations(db: Database): Promise<readonly AppliedMigration[]> {
  return (await readSchema(db, { unfinished: true })).migrations
}

interface AppliedFunction {
  readonly name: string
  readonly sha256: string
  /** False if another text replaced it. */
  readonly current: boolean
  /** Null if it was not recorded. */
  readonly signature: string | null
}

interface Schema {
  /** False if its own tables lack something that `migrate` makes. */
  readonly isComplete: boolean
  readonly migrations: readonly AppliedMigration[]
  readonly functions: readonly AppliedFunction[]
}

/** Readiness depends on these reads: slow reads of callers must not delay them. */
const LANE = { lane: 'gate' } as const

/** Migrations and functions of the database. Throws `SchemaError` if a restore is unfinished, unless `unfinished`. */
export async function readSchema(
  db: Database,
  { unfinished = false }: { readonly unfinished?: boolean } = {},
): Promise<Schema> {
  const [found] = await db.run<State>(STATE, [], LANE)
  if (found !== undefined && found.version_no < SERVER_VERSION_MIN)
    throw serverTooOldError(`is PostgreSQL ${found.version}`)
  if (found !== undefined && found.isolation !== ISOLATION) throw new SchemaError(isolationFault(found.isolation))
  if (found?.unfinished && !unfinished) {
    throw new SchemaError(
      'Cannot use the database: a restore into it is running or did not finish; run "walletscope restore" again',
    )
  }
  if (!found?.exists) return { isComplete: false, migrations: [], functions: [] }
  const migrations = await db.run<AppliedMigration>(LIST, [], LANE)
  const functions = await db.run<AppliedFunction>(LIST_FUNCTIONS, [], LANE)
  return { isComplete: found.complete, migrations, functions }
}

/** A statement that waited for a lock must see what the other wrote. Behind a pooler no session can ask for it. */
const ISOLATION = 'read committed'

function isolationFault(isolation: string): string {
  return (
    `Cannot use the database: its default_transaction_isolation is "${isolation}" and a pooler lets no client change ` +
    `it; run "alter role … set default_transaction_isolation = '${ISOLATION}'" for the role of DATABASE_URL`
  )
}

/** Throws `SchemaError` unless these are the tables and functions of the release. */
export function checkUpToDate(present: Schema, { migrations, functions }: Required<Release>): void {
  checkMigrationHistory(present.migrations, migrations)
  const version = present.migrations.length
  const [outdated] = findOutdatedFunctions(present.functions, functions)
  if (version === migrations.length && outdated === undefined) return
  const lacks =
    version === migrations.length
      ? `its function "${outdated?.name}" is not this program's`
      : `its schema is at version ${version}, this program needs ${migrations.length}`
  throw new SchemaError(`Cannot use the database: ${lacks}; run "walletscope migrate"`)
}

/** Functions whose text is new to the database. Throws `SchemaError` if the database has replaced that text already. */
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

/** Throws `SchemaError` if the migrations that were applied are not those of the release, or more. */
export function checkMigrationHistory(present: readonly AppliedMigration[], migrations: readonly Migration[]): void {
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
