import { chmod, chown, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EMBEDDED_USER } from './socket.ts'
import type { SystemUser } from './user.ts'

/** Rules of who may connect. They are outside the cluster, because PostgreSQL's user must not be able to write them. */
const RULES = 'access.conf'
const USERS = 'access_users.conf'
const MAP = 'walletscope'

/**
 * Writes who may connect to the server: these users of the system, over the socket, as the kernel identifies them.
 * Rules in the cluster are ignored.
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

/** Settings that name the files of `writeAccess`, by the home's path as the server sees it. */
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

/** PostgreSQL takes a name that begins with a slash for a pattern. */
function quoted(name: string): string {
  if (/^\/|["\n\r]/.test(name)) throw new Error(`Cannot let the user "${name}" connect: the name is not usable`)
  return `"${name}"`
}
