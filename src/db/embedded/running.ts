import { readFile, realpath } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { embeddedUrl } from './cluster.ts'
import { SOCKET_DIRECTORY_NOTE, SOCKET_NAME } from './home.ts'

const CONNECT_MAX_MS = 1_000

/**
 * Address of the embedded server that another process runs on this data directory, for `openDatabase`; undefined
 * where none does. Lets commands work beside a running service.
 */
export async function findRunningEmbedded(dataDir: string): Promise<string | undefined> {
  const home = join(await realpath(dataDir).catch(() => dataDir), 'postgres')
  const noted = await readFile(join(home, SOCKET_DIRECTORY_NOTE), 'utf8').catch(() => '')
  for (const directory of [join(home, 'socket'), noted]) {
    if (directory !== '' && (await listens(join(directory, SOCKET_NAME)))) return embeddedUrl(directory)
  }
  return undefined
}

function listens(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    const finish = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(CONNECT_MAX_MS, () => finish(false))
    socket.once('error', () => finish(false))
    socket.once('connect', () => finish(true))
  })
}
