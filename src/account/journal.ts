import { randomBytes } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settlement } from '../http/plane/gate.ts'
import type { Log } from '../lib/log.ts'

/** Settlements that must be voided once the database is back, kept through a crash of this process. */
export interface Journal {
  /** True where no more fits: nothing may be sent to the database that might need a void. */
  readonly full: boolean
  readonly size: number
  /** Keeps settlements; resolves once they are on the disk, or at once where there is none to write to. */
  append(settlements: readonly Settlement[]): Promise<void>
  /** The oldest settlements, at most `max`. */
  peek(max: number): readonly Settlement[]
  /** Forgets the oldest `count`. */
  drop(count: number): Promise<void>
  /** Closes the file, and removes it where nothing is left in it. */
  close(): Promise<void>
}

/** Where a journal lives. */
export interface JournalOptions {
  /** One file per process is written in it. */
  readonly directory: string
  readonly log: Log
  /** Most settlements kept. @default 100,000 */
  readonly entriesMax?: number
}

const ENTRIES_MAX = 100_000
/** Files of journals that this very process has open. */
const openPaths = new Set<string>()
const FILE = /^void-(\d+)-[0-9a-f]{16}\.jsonl$/

/**
 * Opens the journal of this process and adopts what other processes left in the directory. A directory that cannot be
 * written to is said once; settlements are then kept in memory only.
 */
export async function openJournal({ directory, log, entriesMax = ENTRIES_MAX }: JournalOptions): Promise<Journal> {
  const path = join(directory, `void-${process.pid}-${randomBytes(8).toString('hex')}.jsonl`)
  let entries: Settlement[] = []
  let file: FileHandle | undefined
  let writing: Promise<void> = Promise.resolve()

  try {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const left = await adopt(directory, log)
    file = await open(path, 'ax', 0o600)
    openPaths.add(path)
    if (left.entries.length > 0) {
      entries = [...left.entries]
      await write(file, entries)
    }
    for (const each of left.paths) await rm(each, { force: true })
  } catch (error) {
    await giveUpFile(error)
  }

  async function giveUpFile(error: unknown): Promise<void> {
    log.warn({ msg: 'Lost the journal, unknown outcomes are kept in memory only', error: codeOf(error) })
    await file?.close().catch(() => {})
    file = undefined
  }

  /** One write at a time: a later one waits for the earlier ones. */
  function serially(work: (file: FileHandle) => Promise<void>): Promise<void> {
    writing = writing.then(async () => {
      if (file === undefined) return
      try {
        await work(file)
      } catch (error) {
        await giveUpFile(error)
      }
    })
    return writing
  }

  return {
    get full() {
      return entries.length >= entriesMax
    },
    get size() {
      return entries.length
    },
    append(settlements) {
      entries.push(...settlements)
      return serially((open) => write(open, settlements))
    },
    peek: (max) => entries.slice(0, max),
    drop(count) {
      entries = entries.slice(count)
      // What was dropped stays in the file until all is done: voiding it again changes nothing.
      return serially(async (open) => {
        if (entries.length === 0) await open.truncate(0)
      })
    },
    async close() {
      await writing
      await file?.close().catch(() => {})
      if (file !== undefined && entries.length === 0) await rm(path, { force: true })
      openPaths.delete(path)
      file = undefined
    },
  }
}

async function write(file: FileHandle, settlements: readonly Settlement[]): Promise<void> {
  await file.appendFile(settlements.map((each) => `${JSON.stringify(each, plain)}\n`).join(''))
  await file.datasync()
}

/**
 * Entries of every journal that this process has not open, and the files whose owner is gone. A number that lives may
 * have been given to another program meanwhile, so its entries are voided too, which never does harm; its file stays.
 */
async function adopt(directory: string, log: Log): Promise<{ entries: Settlement[]; paths: string[] }> {
  const entries: Settlement[] = []
  const paths: string[] = []
  for (const name of (await readdir(directory)).sort()) {
    const pid = Number(FILE.exec(name)?.[1] ?? 0)
    const path = join(directory, name)
    if (pid === 0 || openPaths.has(path)) continue
    const text = await readFile(path, 'utf8')
    const parsed = text.split('\n').map(parse)
    const whole = parsed.filter((each) => each !== undefined)
    entries.push(...whole)
    if (whole.length > 0) log.info({ msg: 'Adopted the journal of another process', entries: whole.length })
    if (pid === process.pid || !isAlive(pid)) paths.push(path)
  }
  return { entries, paths }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Not ours to signal means that it lives.
    return codeOf(error) === 'EPERM'
  }
}

/** One line back; nothing for one cut short by a crash, whose answer never left. */
function parse(line: string): Settlement | undefined {
  try {
    const value: Settlement = JSON.parse(line)
    if (typeof value.settlementId !== 'string' || typeof value.caller?.organizationId !== 'string') return undefined
    return { ...value, caller: { ...value.caller, credits: BigInt(value.caller.credits) } }
  } catch {
    return undefined
  }
}

function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
}
