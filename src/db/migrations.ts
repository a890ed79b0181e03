/** One step of the schema, forward only. Its text runs in one transaction with its row in `schema_migration`. */
export interface Migration {
  /** Position in the list, from 1, and the number that the file's name begins with. */
  readonly version: number
  /** `0001_accounts`: the file without `.sql`. */
  readonly name: string
  readonly text: string
}

// A new file under sql/migrations is one import above and one line here.
const TEXTS: readonly (readonly [name: string, text: string])[] = []

/** Every migration, in order. */
export const MIGRATIONS: readonly Migration[] = TEXTS.map(([name, text], index) => ({
  version: index + 1,
  name,
  text,
}))
