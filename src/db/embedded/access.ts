import { chmod, chown, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { EMBEDDED_USER } from './socket.ts'
import type { SystemUser } from './user.ts'

/** File of the access rules. It is outside the cluster, because PostgreSQL's user must not be able to write it. */
const RULES = 'access.conf'
const USERS = 'access_users.conf'
const MAP = 'walletscope'

/**
 * Writes the access rules: only these system users may connect, over the socket, identified by the kernel. PostgreSQL
 * ignores the rules in the cluster.
 */
export async function writeAccess(
  home: string,
  { users, reader }: { readonly users: readonly string[]; readonly reader: SystemUser | undefined },
): Promise<void> {
  const rules = ['all', 'replication'].map((database) => `local ${database} ${EMBEDDED_USER} peer map=${MAP}\n`)
  await write(join(home, RULES), { text: rules.join(''), reader })
  await write(join(home, USERS), {
    text: users.map((user) => `${MAP} ${quoteUser(user)} ${EMBEDDED_USER}\n`).join(''),
    reader,
  })
}

/** Returns the settings that name the files of `writeAccess`, below the home's path as the server sees it. */
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

/** Quotes a user name. Rejects a leading slash, because PostgreSQL would read the name as a pattern. */
function quoteUser(name: string): string {
  if (/^\/|["\n\r]/.test(name)) throw new Error(`Cannot let the user "${name}" connect: the name is not usable`)
  return `"${name}"`
}
