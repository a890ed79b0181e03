import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Settlement } from '../../http/exchange/gate.ts'
import type { Clock } from '../../lib/clock.ts'
import { getErrnoCode } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import {
  claimJournalFile,
  createJournalFile,
  createJournalName,
  isJournalName,
  type JournalFile,
  readJournalFile,
} from './journal_file.ts'
import { createJournalWatch } from './journal_watch.ts'

export type Journal = Awaited<ReturnType<typeof openJournal>>

interface JournalOptions {
  /** May be shared with other processes and hosts: each process writes its own file. */
  readonly directory: string
  /** Id of the ledger that the settlements belong to; files of other ledgers are left alone. */
  readonly ledger: string
  readonly clock: Clock
  readonly log: Log
  /** How long a file must have stood still to be adopted. @default 10,000 */
  readonly leaseMs?: number
  readonly entriesMax?: number
}

const ENTRIES_MAX = 100_000
/** A file that has stood still for this long is taken for a dead process's. */
export const LEASE_MS = 10_000
/** A file with more than this many lines per possible entry is rewritten. */
const LINES_PER_ENTRY_MAX = 2
/** Pause before a disk that took nothing is tried again: each attempt writes everything. */
const RETRY_MS = 1_000

/**
 * Opens the journal of this process: settlements that must be voided once the database is back, kept beyond a crash. If
 * the directory cannot be written to, it warns once and keeps settlements in memory until it can.
 */
export async function openJournal(options: JournalOptions) {
  const { directory, ledger, clock, log, leaseMs = LEASE_MS, entriesMax = ENTRIES_MAX } = options
  const abandonedBeside = createJournalWatch({ directory, ledger, clock, leaseMs })
  let entries: Settlement[] = []
  /** Holds all entries; undefined while the disk takes no writes. */
  let file: JournalFile | undefined
  /** Files with some of the entries, to be removed once a new file has all of them. */
  let stale: string[] = []
  let retryMs = Number.NEGATIVE_INFINITY
  /** Lines of the file, dropped entries included: they stay until none is left. */
  let lines = 0
  let warned = false
  let closed = false
  let working: Promise<void> = Promise.resolve()

  /** Does one piece of work at a time, in order. */
  function serially(work: () => Promise<void>): Promise<void> {
    working = working.then(work)
    return working
  }

  /** Works on the file; if that fails, writes everything into a new one. */
  async function attempt(work: (file: JournalFile) => Promise<void>): Promise<void> {
    if (file === undefined) return reopen()
    try {
      await work(file)
    } catch (error) {
      log.warn({ msg: 'Lost the file of the journal', error: getErrnoCode(error), settlements: entries.length })
      await replace(file)
    }
  }

  /** Writes all entries into a new file: the old one failed, was taken by another process, or is too long. */
  async function replace(old: JournalFile): Promise<void> {
    file = undefined
    stale.push(old.path)
    await old.close().catch(ignore)
    await reopen()
  }

  async function reopen(): Promise<void> {
    if (file !== undefined || closed || clock.monotonicMs() < retryMs) return
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 })
      lines = entries.length
      file = await createJournalFile(join(directory, createJournalName(ledger)), entries)
      await removeStale()
      if (warned) log.info({ msg: 'Writes the journal to the disk again', settlements: entries.length })
      warned = false
    } catch (error) {
      retryMs = clock.monotonicMs() + RETRY_MS
      if (!warned) log.warn({ msg: 'Keeps unknown outcomes in memory only', error: getErrnoCode(error) })
      warned = true
    }
  }

  async function removeStale(): Promise<void> {
    const paths = stale
    stale = []
    for (const path of paths) await rm(path, { force: true }).catch(ignore)
  }

  async function adopt(path: string): Promise<void> {
    // Only if this process's own file can hold it: memory would be less safe than the file it is in.
    if (file === undefined || entries.length >= entriesMax) return
    const taken = await claimJournalFile(path, ledger)
    if (taken === undefined) return
    const { settlements, broken } = await readJournalFile(taken)
    if (broken > 0) log.error({ msg: 'Cannot read lines of an adopted journal', lines: broken })
    try {
      await file.append(settlements)
    } catch {
      // The taken file still holds them; it is adopted later.
      return replace(file)
    }
    lines += settlements.length
    entries.push(...settlements)
    await rm(taken, { force: true })
    if (settlements.length > 0) log.info({ msg: 'Adopted the journal of another process', entries: settlements.length })
  }

  async function adoptAll(): Promise<void> {
    try {
      for (const path of await abandonedBeside(file?.path)) await adopt(path)
    } catch (error) {
      log.warn({ msg: 'Cannot adopt journals of other processes', error: getErrnoCode(error) })
    }
  }

  await serially(reopen)
  await warnOfForeign(directory, { ledger, log })

  return {
    /** True if no more fits: then nothing that might need a void may be sent to the database. */
    get full(): boolean {
      return entries.length >= entriesMax
    },
    get size(): number {
      return entries.length
    },
    /** False while the disk takes no writes, so that the settlements would be lost with this process. */
    get durable(): boolean {
      return file !== undefined
    },
    /** Keeps settlements; resolves once they are on the disk, or the disk has refused them. */
    append(settlements: readonly Settlement[]): Promise<void> {
      entries.push(...settlements)
      return serially(async () => {
        lines += settlements.length
        if (file !== undefined && lines > LINES_PER_ENTRY_MAX * entriesMax) await replace(file)
        else await attempt((open) => open.append(settlements))
      })
    },
    peek: (max: number): readonly Settlement[] => entries.slice(0, max),
    drop(count: number): Promise<void> {
      entries = entries.slice(count)
      return serially(async () => {
        // Dropped entries stay in the file until none is left: voiding them again changes nothing.
        if (entries.length > 0) return
        await removeStale()
        await attempt((open) => open.clear())
        lines = 0
      })
    },
    /**
     * To be called several times within a lease: shows other processes that this one lives, retries a disk that took no
     * writes, and adopts journals of dead processes. Never throws.
     */
    tend(): Promise<void> {
      return serially(async () => {
        await attempt((open) => open.beat(clock.now()))
        await adoptAll()
      })
    },
    /** Closes the file; removes it if it is empty. */
    async close(): Promise<void> {
      await serially(async () => {
        retryMs = Number.NEGATIVE_INFINITY
        if (entries.length > 0) await reopen()
        const open = file
        closed = true
        file = undefined
        await open?.close().catch(ignore)
        if (entries.length > 0 && open === undefined) {
          const settlementIds = entries.map(({ settlementId }) => settlementId)
          log.error({ msg: 'Lost unknown outcomes, which may stay charged', settlementIds })
        }
        if (entries.length === 0 && open !== undefined) await rm(open.path, { force: true }).catch(ignore)
      })
    },
  }
}

async function warnOfForeign(
  directory: string,
  { ledger, log }: { readonly ledger: string; readonly log: Log },
): Promise<void> {
  const names = await readdir(directory).catch(() => [])
  const foreign = names.filter((name) => isJournalName(name) && !isJournalName(name, `${ledger}-`))
  if (foreign.length > 0) log.warn({ msg: 'Left journals of another database alone', files: foreign.length })
}

function ignore(): void {
  // A file that cannot be closed or removed does no harm, even if it is adopted again.
}
