import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import type { Settlement } from '../../http/exchange/gate.ts'
import { getErrnoCode } from '../../lib/error.ts'
import type { JournalDisk } from './journal_disk.ts'

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
export async function createJournalFile(disk: JournalDisk, path: string, settlements: readonly Settlement[]) {
  const file = await disk.create(path)

  async function write(added: readonly Settlement[]): Promise<void> {
    if (added.length === 0) return
    await file.append(added.map((each) => `${JSON.stringify(each, serializeBigint)}\n`).join(''))
    await file.sync()
  }

  /**
   * Throws ENOENT if another process has claimed the file. The check follows each write: a process that claims the file
   * later reads the write, and a claim before the write is detected here.
   */
  async function requireOwn(): Promise<void> {
    const [own, current] = await Promise.all([file.identify(), disk.identify(path)])
    if (own === current) return
    throw Object.assign(new Error(`Cannot write ${basename(path)}: it is another file now`), { code: 'ENOENT' })
  }

  try {
    await write(settlements)
    await disk.syncDirectory(dirname(path))
  } catch (error) {
    await file.close()
    await disk.remove(path)
    throw error
  }
  return {
    path,
    /** Resolves once the settlements are on the disk in a file that this process owns. Throws the system's errors. */
    async append(added: readonly Settlement[]): Promise<void> {
      await write(added)
      await requireOwn()
    },
    /** Updates the modification time as a sign of life; `nowMs` is since the epoch. Throws if the file was claimed. */
    async beat(nowMs: number): Promise<void> {
      await file.touch(nowMs)
      await requireOwn()
    },
    clear: () => file.truncate(),
    close: () => file.close(),
  }
}

/**
 * Reads a file that another process left; `broken` counts unreadable lines. It does not count a last line without a
 * line break: a crash cut the line short, and its answer was never sent.
 */
export async function readJournalFile(disk: JournalDisk, path: string) {
  const lines = (await disk.read(path)).split('\n')
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
export async function claimJournalFile(disk: JournalDisk, path: string, ledger: string): Promise<string | undefined> {
  const claimedPath = join(dirname(path), createJournalName(ledger))
  try {
    await disk.rename(path, claimedPath)
    return claimedPath
  } catch (error) {
    if (getErrnoCode(error) === 'ENOENT') return undefined
    throw error
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
