import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { setOrganizationState } from '../../../src/account/organization.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { serveBun } from '../../../src/http/server/bun.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { createLog } from '../../../src/lib/log.ts'
import { createAccount } from '../../support/account/scene.ts'
import { openProcess } from '../../support/operator/scene.ts'

/** Message of the server once it listens. */
export interface ServedReady {
  readonly port: number
  /** Address of the script of the API reference. */
  readonly script: string
  /** Keys of an organization that may ask, of one over its rate, and of a suspended one. */
  readonly keys: { readonly victim: string; readonly hasty: string; readonly suspended: string }
}

/** What the process has used so far: statements but those of jobs, lines of the log, microseconds of CPU. */
export interface Used {
  readonly statements: number
  readonly lines: number
  readonly cpuUs: number
}

/** As a child process: the whole service over a database, without chains; a line on stdin asks what it has used. */
const db = openDatabase({
  url: process.env['BENCH_DATABASE_URL'] ?? '',
  clock: systemClock,
  log: createLog({ level: 'error', write: console.error, clock: systemClock }),
})
let statements = 0
let lines = 0
const counted: Database = {
  ...db,
  run(text, params, options) {
    if (options?.lane !== 'background') statements++
    return db.run(text, params, options)
  },
}
const log = createLog({ level: 'info', write: () => void lines++, clock: systemClock })
const service = await openProcess(counted, { HOST_NAMES: '*' }, { log, isWhole: true })
const server = serveBun(service.app, { port: 0, host: '127.0.0.1' })
const [victim, hasty, suspended] = [
  await createAccount(db, { credits: 1_000_000_000 }),
  await createAccount(db, { rateLimit: 5 }),
  await createAccount(db),
]
await setOrganizationState(db, 'suspend', { by: CLI_ACTOR, id: suspended.organizationId })
const script = service.app.endpoints.find(({ path }) => /reference[^/]*\.js$/.test(path))?.path
if (script === undefined) throw new Error('Cannot measure: the reference has no script')
const keys = { victim: victim.key, hasty: hasty.key, suspended: suspended.key }
console.log(JSON.stringify({ port: server.port, script, keys } satisfies ServedReady))
for await (const line of console) {
  if (line === '') continue
  const { user, system } = process.cpuUsage()
  console.log(JSON.stringify({ statements, lines, cpuUs: user + system } satisfies Used))
}
