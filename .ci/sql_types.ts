/**
 * Writes what is generated of `sql`, or with `--check` fails unless it is current: `sql/files.ts`, `sql/functions.ts`
 * and `sql/queries.ts`.
 */
import { connect } from './sql/catalogue.ts'
import { FILES_FILE, generateFiles } from './sql/files.ts'
import { FUNCTIONS_FILE, generateFunctions } from './sql/functions.ts'
import { generateQueries, QUERIES_FILE } from './sql/queries.ts'

/** Every generated file with its text for the migrated database at `url`. Throws with every mistake found in `sql`. */
export async function generateAll(url: string): Promise<ReadonlyMap<string, string>> {
  const sql = connect(url)
  try {
    return new Map([
      [FILES_FILE, generateFiles()],
      [FUNCTIONS_FILE, await generateFunctions(sql)],
      [QUERIES_FILE, await generateQueries(sql)],
    ])
  } finally {
    await sql.end({ timeout: 1 })
  }
}

if (import.meta.main) {
  const isCheck = process.argv.includes('--check')
  // The database is migrated with these files.
  if (!isCheck) await Bun.write(FILES_FILE, generateFiles())
  const { closeTestDatabases, testDatabase } = await import('../test/support/database.ts')
  try {
    const database = await testDatabase()
    for (const [path, text] of await generateAll(database.url)) {
      if (!isCheck) await Bun.write(path, text)
      else if ((await Bun.file(path).text()) !== text) {
        throw new Error(`${path} is out of date: run \`bun run sql:types\``)
      }
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  } finally {
    await closeTestDatabases()
  }
}
