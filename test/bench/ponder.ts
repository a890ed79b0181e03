import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { numberToHex } from 'viem'
import { openDatabase } from '../../src/db/connection/pool.ts'
import type { Database } from '../../src/db/database.ts'
import { createLendingStream } from '../../src/family/aave_v3/read/stream.ts'
import { parseLogs } from '../../src/history/logs/parse_logs.ts'
import type { LogsOutcome } from '../../src/history/metrics.ts'
import { createHistory } from '../../src/history/mod.ts'
import { splitRange } from '../../src/history/range.ts'
import { createWork } from '../../src/lib/async/work.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { startAnvil } from '../devnet/anvil.ts'
import { createRpc, type Rpc } from '../devnet/rpc.ts'
import { eachLine, spawnSupervised } from '../devnet/supervised.ts'
import { temporaryDirectory } from '../support/database.ts'
import { createTestClient } from '../support/history/scene.ts'
import { startFaultyRpc } from '../support/rpc.ts'
import { cpuUs, family } from './cpu.ts'
import { forgetHistories } from './forget.ts'
import { actInMarket, createMarket, deployMarket, POOL, rowsPerEvent } from './market.ts'
import { median, printNote, printTable } from './table.ts'

const CHAIN_ID = 31_337
const EVENTS_A_BLOCK = 20
/** Blocks after the last event, so that it is final for both, and both end at it. */
const FINAL_AFTER = 100
const ROUNDS = 3
/** About 2,000 logs, and requests at a time: what a scan asks for. */
const WINDOW_BLOCKS = 45
const AT_ONCE = 8
const LIMIT_MS = 900_000

/** How long one way took, what CPU its process used, and what it asked. */
interface Run {
  readonly wallMs: number
  readonly cpuMs: number
  readonly requests: number
  /** Requests for logs that were of no use. */
  readonly refused: number
  readonly rows: ReadonlySet<string>
}

/**
 * All events of one market, compared with Ponder: the same chain, PostgreSQL, events and end. Installs Ponder into a
 * temporary directory. False if the rows are not the same.
 */
export async function benchPonder({
  quick,
  databaseUrl,
}: {
  readonly quick: boolean
  readonly databaseUrl: string
}): Promise<boolean> {
  const blocks = quick ? 100 : 1_000
  const project = await installPonder()
  const anvil = await startAnvil({ chainId: CHAIN_ID })
  const proxy = await startFaultyRpc(anvil.rpcUrl)
  const db = openDatabase({ url: databaseUrl, clock: systemClock, log: silentLog })
  try {
    const rpc = createRpc(anvil.rpcUrl)
    await deployMarket(rpc)
    for (let block = 0; block < blocks; block++) {
      await actInMarket(rpc, { from: block * EVENTS_A_BLOCK, count: EVENTS_A_BLOCK })
    }
    await rpc.call('anvil_mine', FINAL_AFTER)
    if ((await rpc.call('eth_getBlockByNumber', '0x1', false)) === null) throw new Error('Anvil has lost old blocks')
    const wanted = Array.from({ length: blocks * EVENTS_A_BLOCK }, (_, number) => rowsPerEvent(number))
    const events = wanted.reduce((sum, rows) => sum + rows, 0)

    const ours: Run[] = []
    for (let round = 0; round < ROUNDS; round++) ours.push(await runOurs(db, { rpcUrl: anvil.rpcUrl }))
    // Counted in a run of its own, because a proxy takes time.
    const counted = await runOurs(db, { rpcUrl: proxy.url })
    const requests = proxy.seen.length
    const bareMs: number[] = []
    for (let round = 0; round < ROUNDS; round++) bareMs.push(await fetchAlone(rpc, blocks))
    const ponder = await runPonder(project, { db, databaseUrl, rpcUrl: anvil.rpcUrl, endBlock: blocks })

    const same = ours.every(({ rows }) => rows.size === events && isSameSet(rows, ponder.rows))
    const wallMs = median(ours.map((run) => run.wallMs))
    const cpuMs = median(ours.map((run) => run.cpuMs))
    const seconds = (ms: number) => (ms / 1_000).toFixed(2)
    printTable(
      ['beside Ponder 0.16.10', 'wall s', 'CPU s', 'requests', 'rows'],
      [
        ['Ponder', seconds(ponder.wallMs), seconds(ponder.cpuMs), String(ponder.requests), String(ponder.rows.size)],
        ['walletscope', seconds(wallMs), seconds(cpuMs), String(requests), String(counted.rows.size)],
        ['the same logs fetched and parsed, nothing else', seconds(median(bareMs)), '', '', ''],
      ],
    )
    printNote(
      `${blocks} blocks × ${EVENTS_A_BLOCK} events on Anvil; ${events} rows expected; ${same ? 'rows joined equal' : 'ROWS DIFFER'}`,
    )
    for (const row of [...(ours[0]?.rows ?? [])].filter((each) => !ponder.rows.has(each)).slice(0, 3))
      console.log(`only ours: ${row}`)
    for (const row of [...ponder.rows].filter((each) => ours[0]?.rows.has(each) !== true).slice(0, 3))
      console.log(`only Ponder's: ${row}`)
    printNote(
      `Ponder ÷ ours: wall ${(ponder.wallMs / wallMs).toFixed(0)} (target 50), CPU ${(ponder.cpuMs / cpuMs).toFixed(0)}; ours is the median of ${ROUNDS}, with both reads and every check that needs no archive; ${counted.refused} of its requests for logs were refused or too long`,
    )
    return same
  } finally {
    await db.close()
    await proxy.stop()
    await anvil.stop()
  }
}

async function runOurs(db: Database, { rpcUrl }: { readonly rpcUrl: string }): Promise<Run> {
  await forgetHistories(db)
  const client = createTestClient([rpcUrl], { chainId: CHAIN_ID, finality: { depth: FINAL_AFTER } })
  let refused = 0
  const requested = (_: number, outcome: LogsOutcome) => {
    if (outcome !== 'useful') refused++
  }
  const history = createHistory({
    clients: new Map([[CHAIN_ID, client]]),
    db,
    clock: systemClock,
    log: silentLog,
    holder: 'bench',
    recorder: { recordRequest: requested, recordStored: () => {}, recordHealed: () => {} },
  })
  const stream = createLendingStream({ clock: systemClock })
  const [startedMs, startedCpu] = [performance.now(), process.cpuUsage()]
  await history.complete({ stream, target: createMarket(CHAIN_ID) }, createWork(new AbortController().signal))
  const wallMs = performance.now() - startedMs
  const { user, system } = process.cpuUsage(startedCpu)
  await history.close()
  client.close()
  const rows = await readRows(
    db,
    `select format('%s:%s:%s:%s:%s:%s:%s:%s:%s:%s', block, log_index, leg, kind, encode(wallet, 'hex'),
       encode(asset, 'hex'), amount, encode(counterparty, 'hex'), encode(tx_hash, 'hex'), time) as row
     from lending_event`,
  )
  return { wallMs, cpuMs: (user + system) / 1_000, requests: 0, refused, rows }
}

/** Every block's logs fetched twice and parsed, in windows of a length that a scan settles on, and nothing else. */
async function fetchAlone(rpc: Rpc, blocks: number): Promise<number> {
  const range = { fromBlock: 1, toBlock: blocks }
  const windows = [false, true].flatMap((shift) => splitRange(range, WINDOW_BLOCKS, shift))
  const [filter] = createLendingStream({ clock: systemClock }).filters(createMarket(CHAIN_ID), null)
  const startedMs = performance.now()
  const fetchOn = async () => {
    for (let window = windows.pop(); window !== undefined; window = windows.pop()) {
      const [fromBlock, toBlock] = [numberToHex(window.fromBlock), numberToHex(window.toBlock)]
      parseLogs(
        await rpc.call('eth_getLogs', { address: filter?.addresses, topics: filter?.topics, fromBlock, toBlock }),
      )
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, fetchOn))
  return performance.now() - startedMs
}

/** Ponder with its dependencies, in a directory of its own. */
async function installPonder(): Promise<string> {
  const project = temporaryDirectory()
  cpSync(join(import.meta.dir, 'ponder'), project, { recursive: true })
  console.log('installing Ponder …')
  const command = ['npm', 'install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error']
  const status = await Bun.spawn(command, { cwd: project, stdout: 'ignore', stderr: 'inherit' }).exited
  if (status !== 0) throw new Error(`Cannot install Ponder: npm ended with status ${status}`)
  return project
}

async function runPonder(
  project: string,
  at: {
    readonly db: Database
    readonly databaseUrl: string
    readonly rpcUrl: string
    readonly endBlock: number
  },
): Promise<Run> {
  // What an earlier run left in its tables would be believed.
  const database = `ponder_${process.pid}`
  await at.db.run(`drop database if exists ${database}`, [])
  await at.db.run(`create database ${database}`, [], { lane: 'background', deadlineMs: 30_000 })
  const url = at.databaseUrl.replace('/postgres?', `/${database}?`)
  const port = await freePort()
  const env = {
    ...process.env,
    DATABASE_URL: url,
    BENCH_RPC: at.rpcUrl,
    BENCH_POOL: POOL,
    BENCH_END_BLOCK: String(at.endBlock),
    PONDER_TELEMETRY_DISABLED: 'true',
    NODE_ENV: 'production',
  } as Readonly<Record<string, string>>
  const words = ['start', '--schema', 'b1', '--log-format', 'json', '--port', String(port)]
  const program = join(project, 'node_modules', 'ponder', 'dist', 'esm', 'bin', 'ponder.js')
  const startedMs = performance.now()
  const child = spawnSupervised(['node', program, '--root', project, ...words], { env, stderr: 'inherit' })
  const done = Promise.withResolvers<void>()
  const last: string[] = []
  void eachLine(child.stdout, (line) => {
    last.push(line)
    if (last.length > 20) last.shift()
    if (line.includes('Completed indexing across all chains')) done.resolve()
  })
  void child.exited.then((status) => done.reject(new Error(`Ponder ended with status ${status}:\n${last.join('\n')}`)))
  const limit = setTimeout(() => done.reject(new Error(`Ponder takes too long:\n${last.join('\n')}`)), LIMIT_MS)
  try {
    await done.promise
    const wallMs = performance.now() - startedMs
    const cpuMs = (cpuUs(family(child.pid)) ?? Number.NaN) / 1_000
    const requests = await readRequests(port)
    const db = openDatabase({ url, clock: systemClock, log: silentLog, max: 1 })
    const rows = await readRows(
      db,
      `select format('%s:%s:%s:%s:%s:%s:%s:%s:%s:%s', block, "position", leg, kind, substr(wallet, 3), substr(asset, 3),
         amount, substr(counterparty, 3), substr(hash, 3), time) as row from b1.move`,
    ).finally(() => db.close())
    return { wallMs, cpuMs, requests, refused: 0, rows }
  } finally {
    clearTimeout(limit)
    await child.stop('SIGTERM', 10_000)
  }
}

/** Ponder counts its own requests. */
async function readRequests(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return [...text.matchAll(/^ponder_rpc_request_duration_count\{.*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  )
}

async function readRows(db: Database, text: string): Promise<ReadonlySet<string>> {
  const rows = await db.run<{ readonly row: string }>(text, [], { lane: 'background', deadlineMs: 60_000 })
  return new Set(rows.map(({ row }) => row.toLowerCase()))
}

function isSameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((each) => b.has(each))
}

async function freePort(): Promise<number> {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
  const { port } = server
  await server.stop(true)
  return port ?? 0
}
