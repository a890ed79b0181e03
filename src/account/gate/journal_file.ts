import { randomBytes } from 'node:crypto'
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Settlement } from '../../http/exchange/gate.ts'
import { getErrnoCode } from '../../lib/error.ts'

export type JournalFile = Awaited<ReturnType<typeof createJournalFile>>

const SUFFIX = '.jsonl'
const PREFIX = 'void-'

/** Returns a new file name for a ledger, unique over processes and hosts. */
export function createJournalName(ledger: string): string {
  return `${PREFIX}${ledger}-${randomBytes(8).toString('hex')}${SUFFIX}`
}

/** True for a journal's file name; with `ledger`, only of ledgers whose id starts with it. */
export function isJournalName(name: string, ledger = ''): boolean {
  return name.startsWith(`${PREFIX}${ledger}`) && name.endsWith(SUFFIX)
}

/**
 * Creates a file with these settlements, one JSON object a line, that only this process writes. The file and its name
 * are durable. Leaves no file behind if it throws.
 */
export async function createJournalFile(path: string, settlements: readonly Settlement[]) {
  const handle = await open(path, 'ax', 0o600)
  const file = {
    path,
    /** Resolves once the settlements are on the disk in a file that this process owns. Throws the system's errors. */
    async append(added: readonly Settlement[]): Promise<void> {
      await write(handle, added)
      await requireOwn(handle, path)
    },
    /** Updates the modification time as a sign of life; `nowMs` is since the epoch. Throws if the file was claimed. */
    async beat(nowMs: number): Promise<void> {
      await handle.utimes(nowMs / 1_000, nowMs / 1_000)
      await requireOwn(handle, path)
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
 * Reads a file that another process left; `broken` counts unreadable lines. It does not count a last line without a
 * line break: a crash cut the line short, and its answer was never sent.
 */
export async function readJournalFile(path: string) {
  const lines = (await readFile(path, 'utf8')).split('\n')
  const partialLine = lines.pop()
  const parsed = lines.map(parseLine)
  const last = partialLine === undefined || partialLine === '' ? undefined : parseLine(partialLine)
  const settlements = [...parsed, last].filter((each) => each !== undefined)
  return { settlements, broken: parsed.filter((each) => each === undefined).length }
}

/**
 * Claims a file from its owner by renaming it, which only one of several processes can do. Returns the new path;
 * undefined if another process was first.
 */
export async function claimJournalFile(path: string, ledger: string): Promise<string | undefined> {
  const claimedPath = join(dirname(path), createJournalName(ledger))
  try {
    await rename(path, claimedPath)
    return claimedPath
  } catch (error) {
    if (getErrnoCode(error) === 'ENOENT') return undefined
    throw error
  }
}

async function write(handle: FileHandle, settlements: readonly Settlement[]): Promise<void> {
  if (settlements.length === 0) return
  await handle.appendFile(settlements.map((each) => `${JSON.stringify(each, serializeBigint)}\n`).join(''))
  await handle.datasync()
}

/**
 * Throws ENOENT if another process has claimed the file. The check follows each write: a process that claims the file
 * later reads the write, and a claim before the write is detected here.
 */
async function requireOwn(handle: FileHandle, path: string): Promise<void> {
  const [own, current] = await Promise.all([handle.stat(), stat(path)])
  if (own.ino === current.ino && own.dev === current.dev) return
  throw Object.assign(new Error(`Cannot write ${basename(path)}: it is another file now`), { code: 'ENOENT' })
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function parseLine(line: string): Settlement | undefined {
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

function serializeBigint(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}
