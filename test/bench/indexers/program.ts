import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import type { Database } from '../../../src/db/database.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { temporaryDirectory } from '../../support/database.ts'

/** What an indexer is to index, and where. */
export interface IndexJob {
  readonly rpcUrl: string
  readonly databaseUrl: string
  /** A connection to its server. */
  readonly db: Database
  readonly chainId: number
  /** The last block, which is final, and how many more there are. */
  readonly endBlock: number
  readonly finalAfter: number
}

/** What its process took from its start to its end, or until it says that it is done. */
export interface IndexRun {
  readonly wallMs: number
  readonly cpuMs: number
  /** All rows that it stored. */
  readonly rows: ReadonlySet<string>
}

/** A program that indexes the events of the market. */
export interface Indexer {
  readonly name: string
  run(job: IndexJob): Promise<IndexRun>
}

export const LIMIT_MS = 900_000

/** Copies a project of this folder into a directory of its own, and installs what it needs. */
export async function installProject(name: string): Promise<string> {
  const project = temporaryDirectory()
  cpSync(join(import.meta.dir, name), project, { recursive: true })
  console.log(`installing ${name} …`)
  const command = ['npm', 'install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
  const status = await Bun.spawn(command, { cwd: project, stdout: 'ignore', stderr: 'inherit' }).exited
  if (status !== 0) throw new Error(`Cannot install ${name}: npm ended with status ${status}`)
  return project
}

/** Replaces a text of an installed file. Throws if it is not there: the file is of another version. */
export async function patchFile(path: string, [before, after]: readonly [string, string]): Promise<void> {
  const text = await Bun.file(path).text()
  if (!text.includes(before)) throw new Error(`Cannot lift a limit: ${path} lacks "${before}"`)
  await Bun.write(path, text.replace(before, after))
}

/** Runs a process to its end. */
export async function runToEnd(
  command: readonly string[],
  options: { readonly cwd?: string; readonly env: Readonly<Record<string, string>> },
): Promise<Omit<IndexRun, 'rows'>> {
  const startedMs = performance.now()
  const { cwd, env } = options
  const child = Bun.spawn([...command], {
    ...(cwd !== undefined && { cwd }),
    env: { ...process.env, ...env },
    stdout: 'ignore',
    stderr: 'pipe',
    timeout: LIMIT_MS,
  })
  const [status, said] = await Promise.all([child.exited, new Response(child.stderr).text()])
  const wallMs = performance.now() - startedMs
  if (status !== 0) throw new Error(`Cannot measure: ${command.join(' ')} ended with status ${status}:\n${said}`)
  return { wallMs, cpuMs: Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000 }
}

/** A new database on the server of a job: what an earlier run left in its tables would be believed. */
export async function createDatabase({ db, databaseUrl }: IndexJob, name: string): Promise<string> {
  const database = `${name}_${process.pid}`
  const late = { lane: 'background', deadlineMs: 30_000 } as const
  await db.run(`drop database if exists ${database}`, [], late)
  await db.run(`create database ${database}`, [], late)
  return databaseUrl.replace('/postgres?', `/${database}?`)
}

/** Runs a statement on another database. */
export async function runAt<Row extends object>(url: string, text: string): Promise<readonly Row[]> {
  const db = openDatabase({ url, clock: systemClock, log: silentLog, max: 1 })
  const run = db.run<Row>(text, [], { lane: 'background', deadlineMs: 60_000 })
  return await run.finally(() => db.close())
}

/** Rows as every indexer's are compared: its columns in this order. */
export function toRowSet(rows: readonly { readonly row: string }[]): ReadonlySet<string> {
  return new Set(rows.map(({ row }) => row.toLowerCase()))
}
