import { randomBytes } from 'node:crypto'
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Settlement } from '../../http/exchange/gate.ts'
import { getErrnoCode } from '../../lib/error.ts'

export type JournalFile = Awaited<ReturnType<typeof createJournalFile>>

const SUFFIX = '.jsonl'
const PREFIX = 'void-'

/** A new file name for a ledger, unique over processes and hosts. */
export function createJournalName(ledger: string): string {
  return `${PREFIX}${ledger}-${randomBytes(8).toString('hex')}${SUFFIX}`
}

/** True if a file of this name holds settlements of a ledger whose name begins so; of any ledger by default. */
export function isJournalName(name: string, ledger = ''): boolean {
  return name.startsWith(`${PREFIX}${ledger}`) && name.endsWith(SUFFIX)
}

/**
 * Makes a file with these settlements, one JSON object a line; only this process writes it. It and its name are durable.
 * Leaves no file behind if it throws.
 */
export async function createJournalFile(path: string, settlements: readonly Settlement[]) {
  const handle = await open(path, 'ax', 0o600)
  const file = {
    path,
    /** Resolves once they are on the disk in a file that is still this process's. Throws the system's errors. */
    async append(added: readonly Settlement[]): Promise<void> {
      await write(handle, added)
      await expectOwn(handle, path)
    },
    /** Shows others that its owner lives; `nowMs` is since the epoch. Throws if the file is no longer this process's. */
    async beat(nowMs: number): Promise<void> {
      await handle.utimes(nowMs / 1_000, nowMs / 1_000)
      await expectOwn(handle, path)
    },
    clear: () => handle.truncate(0),
    close: () => handle.close(),
  }
  try {
    await write(handle, settlements)
    await syncDirectory(dirname(path))
    return file
  } catch (error) {
    await handle.close()
    await rm(path, { force: true })
    throw error
  }
}

/**
 * Reads a file that another process left; `broken` counts unreadable lines. A last line without its end is none of them:
 * a crash cut it short, and its answer never left.
 */
export async function readJournalFile(path: string) {
  const lines = (await readFile(path, 'utf8')).split('\n')
  const cut = lines.pop()
  const parsed = lines.map(parse)
  const last = cut === undefined || cut === '' ? undefined : parse(cut)
  const settlements = [...parsed, last].filter((each) => each !== undefined)
  return { settlements, broken: parsed.filter((each) => each === undefined).length }
}

/**
 * Takes a file from its owner by renaming it, which only one of several processes can do. Returns its new path;
 * undefined if another process was first.
 */
export async function claimJournalFile(path: string, ledger: string): Promise<string | undefined> {
  const taken = join(dirname(path), createJournalName(ledger))
  try {
    await rename(path, taken)
    return taken
  } catch (error) {
    if (getErrnoCode(error) === 'ENOENT') return undefined
    throw error
  }
}

async function write(handle: FileHandle, settlements: readonly Settlement[]): Promise<void> {
  if (settlements.length === 0) return
  await handle.appendFile(settlements.map((each) => `${JSON.stringify(each, plain)}\n`).join(''))
  await handle.datasync()
}

/**
 * Throws ENOENT if the file was taken. Checked after each write: a process that takes the file later reads that write,
 * and if it was taken before, the writer learns of it here.
 */
async function expectOwn(handle: FileHandle, path: string): Promise<void> {
  const [own, there] = await Promise.all([handle.stat(), stat(path)])
  if (own.ino === there.ino && own.dev === there.dev) return
  throw Object.assign(new Error(`Another file is called ${basename(path)} now`), { code: 'ENOENT' })
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function parse(line: string): Settlement | undefined {
  try {
    const value: Settlement = JSON.parse(line)
    if (typeof value.settlementId !== 'string' || typeof value.caller?.organizationId !== 'string') return undefined
    const { caller } = value
    const limits = caller.limits.map((each) => ({
      ...each,
      spent: BigInt(each.spent),
      most: each.most === undefined ? undefined : BigInt(each.most),
    }))
    return { ...value, caller: { ...caller, credits: BigInt(caller.credits), limits } }
  } catch {
    return undefined
  }
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
