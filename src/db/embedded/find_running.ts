import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { openDirectory } from './directory.ts'
import type { EmbeddedDatabase } from './embedded.ts'
import { embeddedUrl, isListening, resolveSocketDirectory } from './socket.ts'

/**
 * Finds the embedded server that another process runs on this data directory; undefined if there is none, or this user
 * may not reach it. Its URL is valid until `close()`, which does not stop it. Lets commands work beside a service.
 */
export async function findRunningEmbedded(
  dataDir: string,
): Promise<Pick<EmbeddedDatabase, 'url' | 'close'> | undefined> {
  const home = join(await realpath(dataDir).catch(() => dataDir), 'postgres')
  const directory = await openDirectory(home).catch(() => undefined)
  if (directory === undefined) return undefined
  const { uid } = await directory.stat()
  const { socketDir } = resolveSocketDirectory(home, { uid, fd: directory.fd })
  if (await isListening(socketDir)) return { url: embeddedUrl(socketDir), close: () => directory.close() }
  await directory.close()
  return undefined
}
