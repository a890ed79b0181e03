import { chmod, chown, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EMBEDDED_USER } from './socket.ts'
import type { SystemUser } from './user.ts'

/** Who may connect, and as whom: not in the cluster, for what PostgreSQL's user can write must not decide it. */
const RULES = 'access.conf'
const USERS = 'access_users.conf'
const MAP = 'walletscope'

/**
 * Writes who may connect to the server: the named users of this system, over the socket, as the kernel tells them.
 * Nothing is taken from the cluster, which may have been made with other rules.
 */
export async function writeAccess(
  home: string,
  { users, reader }: { readonly users: readonly string[]; readonly reader: SystemUser | undefined },
): Promise<void> {
  const rules = ['all', 'replication'].map((database) => `local ${database} ${EMBEDDED_USER} peer map=${MAP}\n`)
  await write(join(home, RULES), { text: rules.join(''), reader })
  await write(join(home, USERS), {
    text: users.map((user) => `${MAP} ${quoted(user)} ${EMBEDDED_USER}\n`).join(''),
    reader,
  })
}

/** Settings that name what `writeAccess` wrote, by the path of the home as the server sees it. */
export function accessSettings(serverHome: string): Readonly<Record<string, string>> {
  return { hba_file: join(serverHome, RULES), ident_file: join(serverHome, USERS) }
}

async function write(
  path: string,
  { text, reader }: { readonly text: string; readonly reader: SystemUser | undefined },
): Promise<void> {
  const unfinished = `${path}.tmp`
  await rm(unfinished, { force: true })
  await writeFile(unfinished, text, { flag: 'wx', mode: 0o600 })
  if (reader !== undefined) {
    await chown(unfinished, process.geteuid?.() ?? 0, reader.gid)
    await chmod(unfinished, 0o640)
  }
  await rename(unfinished, path)
}

/** A name that begins with a slash would be a pattern. */
function quoted(name: string): string {
  if (/^\/|["\n\r]/.test(name)) throw new Error(`Cannot let the user "${name}" connect: the name is not usable`)
  return `"${name}"`
}
