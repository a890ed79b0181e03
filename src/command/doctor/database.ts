import { databaseExamine } from '../../../sql/queries.ts'
import { CONNECTIONS_MAX } from '../../db/connection/pool.ts'
import { type Database, SchemaError, SERVER_VERSION_MIN } from '../../db/database.ts'
import { checkServable } from '../../db/schema.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Finding, failureFinding, okFinding, warningFinding } from '../../lib/finding.ts'

const DEADLINE_MS = 5_000
/** Acceptable difference of two clocks, milliseconds. */
const SKEW_MAX_MS = 2_000
const SLOW_MS = 20
const LOSS_COST = 'a crash of its machine can lose charges of delivered answers'

/** Settings that sessions request themselves, unless a pooler prevents it. */
const GIVE_UP_SETTINGS =
  "alter role … set statement_timeout = '11min'; alter role … set client_connection_check_interval = '250ms'"

/** Examines the database and its settings. Throws `UnavailableError` if it is unreachable. */
export async function examineDatabase(db: Database, clock: Clock): Promise<readonly Finding[]> {
  // The first statement also connects.
  await databaseExamine(db, {}, { deadlineMs: DEADLINE_MS })
  const startedMs = clock.monotonicMs()
  const [row] = await databaseExamine(db, {}, { deadlineMs: DEADLINE_MS })
  const tookMs = clock.monotonicMs() - startedMs
  if (row === undefined) throw new Error('Cannot examine the database: it returned no row')
  const skewMs = Number(row.now_ms) - (clock.now() - tookMs / 2)
  return [
    examineVersion(row),
    row.is_standby
      ? failureFinding('role', 'a standby', 'a standby is read-only: no request can be charged or answered')
      : okFinding('role', 'primary'),
    tookMs > SLOW_MS
      ? warningFinding('answers', `in ${tookMs.toFixed(0)} ms`, 'every request waits for the database twice')
      : okFinding('answers', `in ${tookMs.toFixed(1)} ms`),
    Math.abs(skewMs) > SKEW_MAX_MS
      ? warningFinding(
          'clock',
          `${(skewMs / 1_000).toFixed(1)} s apart from this machine's`,
          'times in the log are those of the database',
        )
      : okFinding('clock', 'as this machine'),
    await examineSchema(db),
    row.fsync ? okFinding('fsync', 'on') : warningFinding('fsync', 'off', LOSS_COST),
    row.full_page_writes ? okFinding('full_page_writes', 'on') : warningFinding('full_page_writes', 'off', LOSS_COST),
    row.synchronous_commit === 'off'
      ? warningFinding('synchronous_commit', 'off', LOSS_COST)
      : okFinding('synchronous_commit', row.synchronous_commit),
    row.connections_max < CONNECTIONS_MAX
      ? warningFinding('connections', `at most ${row.connections_max}`, `a process uses up to ${CONNECTIONS_MAX}`)
      : okFinding('connections', `at most ${row.connections_max}; a process uses up to ${CONNECTIONS_MAX}`),
    row.gives_up
      ? okFinding('abandoned statements', 'end')
      : warningFinding('abandoned statements', 'keep running behind the pooler', `to end them: ${GIVE_UP_SETTINGS}`),
    okFinding('size', `${(Number(row.bytes) / 1e6).toFixed(1)} MB`),
  ]
}

function examineVersion({
  version,
  version_no: no,
}: {
  readonly version: string
  readonly version_no: number
}): Finding {
  if (no >= SERVER_VERSION_MIN) return okFinding('version', `PostgreSQL ${version}`)
  return failureFinding('version', `PostgreSQL ${version}`, 'expected 15 or later')
}

async function examineSchema(db: Database): Promise<Finding> {
  try {
    const release = await checkServable(db)
    return okFinding('tables', release === 'own' ? 'up to date' : 'newer, compatible')
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    return failureFinding('tables', error.message, 'this program cannot serve from it')
  }
}
