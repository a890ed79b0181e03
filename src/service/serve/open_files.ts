import { open } from 'node:fs/promises'
import type { ListeningServer } from '../../http/server/listening.ts'
import { type Clock, repeat } from '../../lib/clock.ts'
import { getErrnoCode } from '../../lib/error.ts'
import { type Log, logThrottled } from '../../lib/log.ts'

/** How often a process looks whether it can open another file. */
const LOOK_MS = 500

/** True unless the process, or the system, has as many files open as it may. */
async function canOpenFile(): Promise<boolean> {
  try {
    await (await open('/dev/null')).close()
    return true
  } catch (error) {
    return !['EMFILE', 'ENFILE'].includes(getErrnoCode(error))
  }
}

/**
 * Closes callers' idle connections while the process can open no more files: those of strangers must leave room for the
 * database and for endpoints. A server itself has no limit of connections. Returns a function that ends the looks.
 */
export function freeFilesWhenFull(
  servers: readonly Pick<ListeningServer, 'closeIdle'>[],
  {
    clock,
    log,
    canOpen = canOpenFile,
  }: { readonly clock: Clock; readonly log: Log; readonly canOpen?: typeof canOpenFile },
): () => void {
  async function look(): Promise<void> {
    if (await canOpen()) return
    for (const server of servers) server.closeIdle()
    logThrottled(
      log,
      { level: 'warn', kind: 'open files', clock },
      { msg: 'Closed idle connections: the limit of open files is reached; raise it (ulimit -n)' },
    )
  }
  return repeat(clock, LOOK_MS, () => void look(), { keepsAlive: false })
}
