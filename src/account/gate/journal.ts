import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import type { Settlement } from '../../http/exchange/gate.ts'
import type { Clock } from '../../lib/clock.ts'
import { getErrnoCode } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { type JournalDisk, systemDisk } from './journal_disk.ts'

export type Journal = Awaited<ReturnType<typeof openJournal>>

interface JournalOptions {
  /** May be shared by processes and hosts: each process writes its own file. */
  readonly directory: string
  /** Id of the ledger of the settlements; files of other ledgers are ignored. */
  readonly ledger: string
  readonly clock: Clock
  readonly log: Log
  /** @default the machine's */
  readonly disk?: JournalDisk
  /** How long a file must be unchanged to be adopted. @default 10,000 */
  readonly leaseMs?: number
  readonly entriesMax?: number
}

const ENTRIES_MAX = 100_000
/** A file that is unchanged for this long belongs to a dead process. */
export const LEASE_MS = 10_000
/** A file with more than this many lines per possible entry is rewritten. */
const LINES_PER_ENTRY_MAX = 2
/** Pause after a failed write of the whole journal: each attempt writes everything. */
const RETRY_MS = 1_000

/**
 * Opens the journal of this process: settlements that must be voided once the database is reachable, kept across a
 * crash. If the directory is not writable, the journal warns once and keeps settlements in memory until it is.
 */
export async function openJournal(options: JournalOptions) {
  const { directory, ledger, clock, log, disk = systemDisk, leaseMs = LEASE_MS, entriesMax = ENTRIES_MAX } = options
  const findAbandoned = createJournalWatch({ directory, ledger, clock, disk, leaseMs })
  let entries: Settlement[] = []
  /** Holds all entries; undefined while the disk rejects writes. */
  let file: JournalFile | undefined
  /** Files with some of the entries; removed once a new file has all of them. */
  let stale: string[] = []
  let retryMs = Number.NEGATIVE_INFINITY
  /** Lines of the file with those of dropped entries, which stay until no entry is left. */
  let lines = 0
  let hasWarned = false
  let isClosed = false
  let queue: Promise<void> = Promise.resolve()

  /** Does one piece of work at a time, in order. */
  function runSerially(work: () => Promise<void>): Promise<void> {
    queue = queue.then(work)
    return queue
  }

  /** Works on the file; if that fails, writes everything into a new one. */
  async function attempt(work: (file: JournalFile) => Promise<void>): Promise<void> {
    if (file === undefined) return reopen()
    try {
      await work(file)
    } catch (error) {
      log.warn({ msg: 'The journal file disappeared', error: getErrnoCode(error), settlements: entries.length })
      await replace(file)
    }
  }

  /** Writes all entries into a new file: the old one failed, was claimed by another process, or is too long. */
  async function replace(old: JournalFile): Promise<void> {
    file = undefined
    stale.push(old.path)
    await old.close().catch(ignore)
    await reopen()
  }

  async function reopen(): Promise<void> {
    if (file !== undefined || isClosed || clock.monotonicMs() < retryMs) return
    try {
      await disk.makeDirectory(directory)
      lines = entries.length
      file = await createJournalFile(disk, join(directory, createJournalName(ledger)), entries)
      await removeStale()
      if (hasWarned) log.info({ msg: 'The journal is written to disk again', settlements: entries.length })
      hasWarned = false
    } catch (error) {
      retryMs = clock.monotonicMs() + RETRY_MS
      if (!hasWarned)
        log.warn({
          msg: 'Unknown outcomes are kept in memory only: the journal cannot be written',
          error: getErrnoCode(error),
        })
      hasWarned = true
    }
  }

  async function removeStale(): Promise<void> {
    const paths = stale
    stale = []
    for (const path of paths) await disk.remove(path).catch(ignore)
  }

  async function adopt(path: string): Promise<void> {
    // Adopt only when our own journal file has room; keeping entries in memory would be less durable.
    if (file === undefined || entries.length >= entriesMax) return
    const claimedPath = await claimJournalFile(disk, path, ledger)
    if (claimedPath === undefined) return
    const { settlements, broken } = await readJournalFile(disk, claimedPath)
    if (broken > 0) log.error({ msg: 'Skipped unreadable lines of a recovered journal', lines: broken })
    try {
      await file.append(settlements)
    } catch {
      // The claimed file still holds the settlements; it is adopted later.
      return replace(file)
    }
    lines += settlements.length
    entries.push(...settlements)
    await disk.remove(claimedPath)
    if (settlements.length > 0)
      log.info({ msg: 'Recovered the journal of a dead process', entries: settlements.length })
  }

  async function adoptAll(): Promise<void> {
    try {
      for (const path of await findAbandoned(file?.path)) await adopt(path)
    } catch (error) {
      log.warn({ msg: 'Cannot recover journals of dead processes', error: getErrnoCode(error) })
    }
  }

  await runSerially(reopen)
  await warnAboutForeign(directory, { ledger, log, disk })

  return {
    /** True if the journal is full: then no settlement may be sent to the database. */
    get isFull(): boolean {
      return entries.length >= entriesMax
    },
    get size(): number {
      return entries.length
    },
    /** False while the disk rejects writes, so that the settlements would be lost with this process. */
    get isDurable(): boolean {
      return file !== undefined
    },
    /** Adds settlements; resolves once they are on the disk, or in memory if the disk rejects them. */
    append(settlements: readonly Settlement[]): Promise<void> {
      entries.push(...settlements)
      return runSerially(async () => {
        lines += settlements.length
        if (file !== undefined && lines > LINES_PER_ENTRY_MAX * entriesMax) await replace(file)
        else await attempt((open) => open.append(settlements))
      })
    },
    peek: (max: number): readonly Settlement[] => entries.slice(0, max),
    drop(count: number): Promise<void> {
      entries = entries.slice(count)
      return runSerially(async () => {
        // Dropped entries stay in the file until none is left: voiding them again changes nothing.
        if (entries.length > 0) return
        await removeStale()
        await attempt((open) => open.clear())
        lines = 0
      })
    },
    /**
     * Signals to other processes that this one is alive, retries a disk that rejected writes, and adopts journals of
     * dead processes. The caller runs it several times within a lease. Never throws.
     */
    tend(): Promise<void> {
      return runSerially(async () => {
        await attempt((open) => open.beat(clock.now()))
        await adoptAll()
      })
    },
    /** Closes the file; removes it if it is empty. */
    async close(): Promise<void> {
      await runSerially(async () => {
        retryMs = Number.NEGATIVE_INFINITY
        if (entries.length > 0) await reopen()
        const open = file
        isClosed = true
        file = undefined
        await open?.close().catch(ignore)
        if (entries.length > 0 && open === undefined) {
          const settlementIds = entries.map(({ settlementId }) => settlementId)
          log.error({ msg: 'Lost unknown outcomes, which may stay charged', settlementIds })
        }
        if (entries.length === 0 && open !== undefined) await disk.remove(open.path).catch(ignore)
      })
    },
  }
}

async function warnAboutForeign(
  directory: string,
  { ledger, log, disk }: { readonly ledger: string; readonly log: Log; readonly disk: JournalDisk },
): Promise<void> {
  const names = await disk.list(directory).catch(() => [])
  const foreign = names.filter((name) => isJournalName(name) && !isJournalName(name, `${ledger}-`))
  if (foreign.length > 0) log.warn({ msg: 'Ignored journals of another database', files: foreign.length })
}

function ignore(): void {
  // A file that cannot be closed or removed does no harm, even if it is adopted again.
}

interface FileState {
  /** Inode, size and modification time: changes with every beat and every write. */
  readonly mark: string
  readonly sinceMs: number
}

/**
 * Creates a watch of a directory. Each call returns the paths of the ledger's files that have not changed for a lease,
 * except `ownPath`. Only changes count, timed by this process's clock: process ids are ambiguous across containers, and
 * clocks of hosts differ. A live process that was stopped for a while may be taken for dead; that is harmless, see
 * `JournalFile.append`.
 */
function createJournalWatch(options: {
  readonly directory: string
  readonly ledger: string
  readonly clock: Clock
  readonly disk: JournalDisk
  readonly leaseMs: number
}) {
  const { directory, ledger, clock, disk, leaseMs } = options
  let statesByPath = new Map<string, FileState>()

  return async (ownPath: string | undefined): Promise<readonly string[]> => {
    const nextStates = new Map<string, FileState>()
    const abandoned: string[] = []
    for (const name of await disk.list(directory)) {
      const path = join(directory, name)
      if (!isJournalName(name, `${ledger}-`) || path === ownPath) continue
      const mark = await disk.readMark(path)
      if (mark === undefined) continue
      const nowMs = clock.monotonicMs()
      const previous = statesByPath.get(path)
      const sinceMs = previous?.mark === mark ? previous.sinceMs : nowMs
      nextStates.set(path, { mark, sinceMs })
      if (nowMs - sinceMs >= leaseMs) abandoned.push(path)
    }
    statesByPath = nextStates
    return abandoned
  }
}

type JournalFile = Awaited<ReturnType<typeof createJournalFile>>

const SUFFIX = '.jsonl'
const PREFIX = 'void-'

/** Returns a new file name for a ledger, unique over processes and hosts. */
function createJournalName(ledger: string): string {
  return `${PREFIX}${ledger}-${randomBytes(8).toString('hex')}${SUFFIX}`
}

/** True for a journal's file name; with `ledger`, only of ledgers whose id starts with it. */
function isJournalName(name: string, ledger = ''): boolean {
  return name.startsWith(`${PREFIX}${ledger}`) && name.endsWith(SUFFIX)
}

/**
 * Creates a file with these settlements, one JSON object a line, that only this process writes. The file and its name
 * are durable. Leaves no file behind if it throws.
 */
async function createJournalFile(disk: JournalDisk, path: string, settlements: readonly Settlement[]) {
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
async function readJournalFile(disk: JournalDisk, path: string) {
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
async function claimJournalFile(disk: JournalDisk, path: string, ledger: string): Promise<string | undefined> {
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
