import { databaseExamine } from '../../../sql/queries.ts'
import { CONNECTIONS_MAX } from '../../db/connection/pool.ts'
import { type Database, SchemaError, SERVER_VERSION_MIN } from '../../db/database.ts'
import { checkServable } from '../../db/schema.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Finding, failureFinding, okFinding, warningFinding } from '../../lib/finding.ts'

const DEADLINE_MS = 5_000
/** An honest difference of two clocks, milliseconds. */
const SKEW_MAX_MS = 2_000
const SLOW_MS = 20
const LOSES = 'a crash of its machine can lose charges of answers that have left'

/** Sessions ask for it themselves, if no pooler keeps them from it. */
const GIVE_UP =
  "alter role … set statement_timeout = '11min'; alter role … set client_connection_check_interval = '250ms'"

/** What the database is and how it is set. Throws `UnavailableError` if it is away. */
export async function examineDatabase(db: Database, clock: Clock): Promise<readonly Finding[]> {
  // The first statement also connects.
  await databaseExamine(db, {}, { deadlineMs: DEADLINE_MS })
  const startedMs = clock.monotonicMs()
  const [row] = await databaseExamine(db, {}, { deadlineMs: DEADLINE_MS })
  const tookMs = clock.monotonicMs() - startedMs
  if (row === undefined) throw new Error('Cannot examine the database: it answered no row')
  const skewMs = Number(row.now_ms) - (clock.now() - tookMs / 2)
  return [
    versionOf(row),
    row.is_standby
      ? failureFinding('role', 'a standby', 'nothing can be charged or logged, so nothing is answered')
      : okFinding('role', 'primary'),
    tookMs > SLOW_MS
      ? warningFinding('answers', `in ${tookMs.toFixed(0)} ms`, 'every request waits for it twice')
      : okFinding('answers', `in ${tookMs.toFixed(1)} ms`),
    Math.abs(skewMs) > SKEW_MAX_MS
      ? warningFinding(
          'clock',
          `${(skewMs / 1_000).toFixed(1)} s apart from this machine's`,
          'times of the log are those of the database',
        )
      : okFinding('clock', 'as this machine'),
    await schemaOf(db),
    row.fsync ? okFinding('fsync', 'on') : warningFinding('fsync', 'off', LOSES),
    row.full_page_writes ? okFinding('full_page_writes', 'on') : warningFinding('full_page_writes', 'off', LOSES),
    row.synchronous_commit === 'off'
      ? warningFinding('synchronous_commit', 'off', LOSES)
      : okFinding('synchronous_commit', row.synchronous_commit),
    row.connections_max < CONNECTIONS_MAX
      ? warningFinding('connections', `at most ${row.connections_max}`, `a process uses up to ${CONNECTIONS_MAX}`)
      : okFinding('connections', `at most ${row.connections_max}; a process uses up to ${CONNECTIONS_MAX}`),
    row.gives_up
      ? okFinding('given-up statements', 'end')
      : warningFinding('given-up statements', 'run on behind the pooler', `to end them: ${GIVE_UP}`),
    okFinding('size', `${(Number(row.bytes) / 1e6).toFixed(1)} MB`),
  ]
}

function versionOf({ version, version_no: no }: { readonly version: string; readonly version_no: number }): Finding {
  if (no >= SERVER_VERSION_MIN) return okFinding('version', `PostgreSQL ${version}`)
  return failureFinding('version', `PostgreSQL ${version}`, 'expected 15 or later')
}

async function schemaOf(db: Database): Promise<Finding> {
  try {
    const release = await checkServable(db)
    return okFinding(
      'tables',
      release === 'own' ? 'those of this program' : 'of a newer release, on which this one runs',
    )
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    return failureFinding('tables', error.message, 'this program does not serve from it')
  }
}
