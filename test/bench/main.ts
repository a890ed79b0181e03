import { startEmbedded } from '../../src/db/embedded/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { openDatabase } from '../../src/db/pool.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { temporaryDirectory } from '../support/database.ts'
import { benchAnswers } from './answers/answers.ts'
import { benchHistory } from './history.ts'
import { benchMetered } from './metered.ts'
import { benchRpc } from './rpc.ts'

/**
 * `bun run bench [--quick]`: every performance claim of README, each as a ratio to something measured beside it, so
 * that it means the same on another machine. Speeds below their target are only shown, for they depend on what else the
 * machine does; exit status 1 says that the books do not balance or that a list takes too many round trips.
 */
async function main(): Promise<number> {
  const quick = process.argv.includes('--quick')
  // Unlike the servers of the tests this one waits for the disk: a benchmark without fsync would prove nothing.
  const server = await startEmbedded({ dataDir: temporaryDirectory(), clock: systemClock, log: silentLog })
  try {
    const db = openDatabase({ url: server.url, clock: systemClock, log: silentLog, max: 1 })
    await migrate(db).finally(() => db.close())
    console.log(`bun ${Bun.version}, ${navigator.hardwareConcurrency} cores, embedded PostgreSQL with fsync\n`)
    const booksRight = await benchMetered({ quick, databaseUrl: server.url })
    const rpcHeld = await benchRpc({ quick })
    await benchAnswers({ quick, databaseUrl: server.url })
    await benchHistory({ quick, databaseUrl: server.url })
    return booksRight && rpcHeld ? 0 : 1
  } finally {
    await server.close()
  }
}

main().then((status) => process.exit(status))
