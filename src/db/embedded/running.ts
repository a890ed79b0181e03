import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { openDirectory } from './directory.ts'
import { embeddedUrl, listens, socketPlace } from './socket.ts'

/** A server that another process runs. */
interface RunningDatabase {
  /** For `openDatabase`; valid until `close()`. */
  readonly url: string
  close(): Promise<void>
}

/**
 * The embedded server that another process runs on this data directory; undefined if there is none, or this user may
 * not reach it. Lets commands work beside a running service.
 */
export async function findRunningEmbedded(dataDir: string): Promise<RunningDatabase | undefined> {
  const home = join(await realpath(dataDir).catch(() => dataDir), 'postgres')
  const directory = await openDirectory(home).catch(() => undefined)
  if (directory === undefined) return undefined
  const { uid } = await directory.stat()
  const { socketDir } = socketPlace(home, { uid, fd: directory.fd })
  if (await listens(socketDir)) return { url: embeddedUrl(socketDir), close: () => directory.close() }
  await directory.close()
  return undefined
}
