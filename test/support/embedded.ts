import { afterAll } from 'bun:test'
import { openDatabase } from '../../src/db/connection/pool.ts'
import { type EmbeddedDatabase, startEmbedded } from '../../src/db/embedded/embedded.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { temporaryDirectory } from './database.ts'

/** What a test file needs to start servers of its own. */
export interface EmbeddedFixture {
  /** Program files that the file's servers share. */
  readonly programParent: string
  /** What to undo after the last test, in this order; servers close by themselves. */
  readonly closers: (() => unknown)[]
  /** Starts a server in this process, on the shared program files by default. */
  start(dataDir: string, options?: { readonly programs: 'shared' | 'own' }): Promise<EmbeddedDatabase>
}

const CLOSE_MS = 60_000

/** Makes the fixture of the test file that calls it. */
export function embeddedFixture(): EmbeddedFixture {
  const programParent = temporaryDirectory()
  const closers: (() => unknown)[] = []
  afterAll(async () => {
    for (const close of closers) await close()
  }, CLOSE_MS)
  return {
    programParent,
    closers,
    async start(dataDir, { programs } = { programs: 'shared' }) {
      const server = await startEmbedded({
        dataDir,
        clock: systemClock,
        log: silentLog,
        settings: { fsync: 'off' },
        ...(programs === 'shared' ? { programParent } : {}),
      })
      closers.push(() => server.close())
      return server
    },
  }
}

/** Runs one statement over a connection of its own. */
export async function runStatement(url: string, text: string): Promise<readonly object[]> {
  const db = openDatabase({ url, clock: systemClock, log: silentLog, max: 1 })
  return db.run(text, []).finally(() => db.close())
}
