import { hash } from 'node:crypto'
import { connect } from 'node:net'
import { join } from 'node:path'

/** The one role of the embedded database. */
export const EMBEDDED_USER = 'walletscope'
/** Name of the server's socket in its directory. */
export const SOCKET_NAME = '.s.PGSQL.5432'

/** Longest path of a Unix socket, without the final zero: 107 bytes on Linux, 103 on macOS. */
const PATH_MAX = process.platform === 'linux' ? 107 : 103
const ANSWER_MAX_MS = 1_000
const REFUSED = 'C28000\0'

/** Returns the URL of the embedded database behind a socket, for `openDatabase`. */
export function embeddedUrl(socketDir: string): string {
  return `postgres://${EMBEDDED_USER}@localhost/postgres?host=${encodeURIComponent(socketDir)}`
}

/**
 * Resolves the directory `socket` of a home: in the home, unless the path is too long or has characters that socket
 * names cannot have. Then Linux uses the open home `fd`, and other systems a directory in /tmp, named by the home's
 * path and its owner `uid`.
 */
export function resolveSocketDirectory(
  home: string,
  { uid, fd, platform = process.platform }: { readonly uid: number; readonly fd: number; readonly platform?: string },
): { readonly base: string; readonly socketDir: string } {
  const plainPath = join(home, 'socket')
  // Commas and colons separate sockets in URLs; PostgreSQL trims and unquotes names.
  if (Buffer.byteLength(join(plainPath, SOCKET_NAME)) <= PATH_MAX && !/[,:"]/.test(plainPath)) {
    return { base: home, socketDir: plainPath }
  }
  if (platform === 'linux') return { base: home, socketDir: `/proc/${process.pid}/fd/${fd}/socket` }
  const base = `/tmp/walletscope-${uid}-${hash('sha256', home).slice(0, 16)}`
  return { base, socketDir: join(base, 'socket') }
}

/** True if a process listens on the socket in a directory. */
export async function isListening(socketDir: string): Promise<boolean> {
  return (await exchange(socketDir, undefined)) === 'connected'
}

/** Tests whether a session opens: `ready`; `refused` if this process's user may not; `away` if no server answers. */
export async function probeSession(socketDir: string): Promise<'ready' | 'refused' | 'away'> {
  const body = Buffer.from(`user\0${EMBEDDED_USER}\0database\0postgres\0\0`)
  const head = Buffer.alloc(8)
  head.writeInt32BE(head.length + body.length, 0)
  head.writeInt32BE(196_608, 4)
  const answer = await exchange(socketDir, Buffer.concat([head, body]))
  if (answer.startsWith('R')) return 'ready'
  return answer.startsWith('E') && answer.includes(REFUSED) ? 'refused' : 'away'
}

/** Sends `message` and returns the first bytes of the reply, empty if none; `connected` without a message. */
function exchange(socketDir: string, message: Buffer | undefined): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(join(socketDir, SOCKET_NAME))
    const finish = (answer: string) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(ANSWER_MAX_MS, () => finish(''))
    socket.once('error', () => finish(''))
    socket.once('close', () => resolve(''))
    socket.once('data', (data) => finish(data.toString('latin1')))
    socket.once('connect', () => (message === undefined ? finish('connected') : socket.write(message)))
  })
}
