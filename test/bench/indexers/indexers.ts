import { loadavg } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { startAnvil } from '../../devnet/anvil.ts'
import { createRpc } from '../../devnet/rpc.ts'
import { temporaryDirectory } from '../../support/database.ts'
import { type Child, createChildGroup } from '../child.ts'
import { forgetHistories } from '../forget.ts'
import { actInMarket, deployMarket, rowsPerEvent } from '../market.ts'
import { median, printNote, printTable } from '../table.ts'
import type { EndpointCounts } from './endpoint.ts'
import { installPonder } from './ponder.ts'
import { type Indexer, type IndexJob, type IndexRun, runToEnd, toRowSet } from './program.ts'
import { installSqd } from './sqd.ts'

const CHAIN_ID = 31_337
const EVENTS_A_BLOCK = 20
/** Blocks after the last event, so that it is final for all, and all end at it. */
const FINAL_AFTER = 100
const AWAY_MS = 50
/** The longest range of logs that the endpoint of the long chain takes. */
const CAP = 2_000
const ROUNDS = 5
/** Goals: the fastest other's wall and CPU ÷ ours. */
const TARGETS: Readonly<Record<string, readonly [wall: number, cpu: number | undefined]>> = {
  A: [1.7, 1.8],
  C: [3, undefined],
}

/** A chain, and the endpoint that all ask; requests are counted where the endpoint is not the node itself. */
interface Case {
  readonly name: string
  readonly says: string
  readonly rpcUrl: string
  readonly endBlock: number
  readonly counter?: Child
}

/**
 * All events of one market, beside other indexers: whole processes one after another on the same chain, with the same
 * PostgreSQL, rows and end. Installs SQD and Ponder into temporary directories. False if the rows are not the same.
 */
export async function benchIndexers({
  quick,
  databaseUrl,
}: {
  readonly quick: boolean
  readonly databaseUrl: string
}): Promise<boolean> {
  const blocks = quick ? 100 : 1_000
  const events = blocks * EVENTS_A_BLOCK
  const wanted = Array.from({ length: events }, (_, number) => rowsPerEvent(number)).reduce(
    (sum, rows) => sum + rows,
    0,
  )
  const ours = await buildOurs()
  const bar = await installSqd({ lifted: true })
  // Far slower, by its own limits or whatever is lifted: measured once.
  const slow = [await installSqd({ lifted: false }), await installPonder({ lifted: true })]
  const anvil = await startAnvil({ chainId: CHAIN_ID, hardfork: 'cancun' })
  const children = createChildGroup()
  const db = openDatabase({ url: databaseUrl, clock: systemClock, log: silentLog })
  const startEndpoint = async (env: Readonly<Record<string, string>>) => {
    const shared = { BENCH_CHAIN_ID: String(CHAIN_ID), BENCH_FINAL_AFTER: String(FINAL_AFTER), BENCH_CAP: String(CAP) }
    const counter = children.start('indexers/endpoint.ts', { ...shared, BENCH_DELAY_MS: String(AWAY_MS), ...env })
    return { counter, rpcUrl: (await counter.read<{ url: string }>()).url }
  }
  try {
    const rpc = createRpc(anvil.rpcUrl)
    await deployMarket(rpc)
    for (let block = 0; block < blocks; block++) {
      await actInMarket(rpc, { from: block * EVENTS_A_BLOCK, count: EVENTS_A_BLOCK })
    }
    await rpc.call('anvil_mine', FINAL_AFTER)
    const dense = `${blocks} blocks × ${EVENTS_A_BLOCK} events`
    const beside = await startEndpoint({ BENCH_TARGET: anvil.rpcUrl })
    const long = await startEndpoint({ BENCH_BLOCKS: String(events), BENCH_EVERY: String(EVENTS_A_BLOCK) })
    const sparse = `${events} blocks, ${EVENTS_A_BLOCK} events in each ${EVENTS_A_BLOCK}th, ${AWAY_MS} ms away, ranges up to ${CAP}`
    const cases: readonly Case[] = [
      { name: 'A', says: `node beside, ${dense}`, rpcUrl: anvil.rpcUrl, endBlock: blocks },
      { name: 'B', says: `the same ${AWAY_MS} ms away`, ...beside, endBlock: blocks },
      { name: 'C', says: sparse, ...long, endBlock: events },
    ]
    let same = true
    for (const each of cases) {
      same = (await compare(each, { ours, bar, slow, db, databaseUrl, wanted, rounds: quick ? 1 : ROUNDS })) && same
    }
    printNote(
      `whole processes from their start, without those of PostgreSQL and the endpoint; lifted: without their own limits of requests; load average ${loadavg()
        .map((load) => load.toFixed(1))
        .join(' ')}`,
    )
    return same
  } finally {
    await db.close()
    await children.stop()
    await anvil.stop()
  }
}

/** Runs all programs in turn, and prints what each took; false if rows differ. */
async function compare(
  { name, says, rpcUrl, endBlock, counter }: Case,
  at: Pick<IndexJob, 'db' | 'databaseUrl'> & {
    readonly ours: Indexer
    readonly bar: Indexer
    readonly slow: readonly Indexer[]
    readonly wanted: number
    readonly rounds: number
  },
): Promise<boolean> {
  const { ours, bar, slow, db, databaseUrl, wanted, rounds } = at
  const job = { rpcUrl, databaseUrl, db, chainId: CHAIN_ID, endBlock, finalAfter: FINAL_AFTER }
  const runs = new Map<Indexer, IndexRun[]>([ours, bar, ...slow].map((indexer) => [indexer, []]))
  const counts = new Map<Indexer, EndpointCounts>()
  for (let round = 0; round < rounds; round++) {
    for (const [indexer, done] of runs) {
      if (round > 0 && slow.includes(indexer)) continue
      const run = await indexer.run(job)
      console.error(`${name} ${indexer.name}: ${run.wallMs.toFixed(0)} ms, CPU ${run.cpuMs.toFixed(0)} ms`)
      done.push(run)
      counter?.write({})
      if (counter !== undefined) counts.set(indexer, await counter.read<EndpointCounts>())
    }
  }
  const expected = runs.get(ours)?.[0]?.rows ?? new Set()
  const same = expected.size === wanted && [...runs.values()].flat().every(({ rows }) => isSameSet(rows, expected))
  const of = (indexer: Indexer, key: 'wallMs' | 'cpuMs') => (runs.get(indexer) ?? []).map((run) => run[key] / 1_000)
  printTable(
    [`${name}: ${says}`, 'best s', 'median s', 'CPU s', 'runs', 'requests', 'calls'],
    [...runs.keys()].map((indexer) => [
      ...[indexer.name, Math.min(...of(indexer, 'wallMs')).toFixed(2), median(of(indexer, 'wallMs')).toFixed(2)],
      ...[median(of(indexer, 'cpuMs')).toFixed(2), String(of(indexer, 'wallMs').length)],
      ...[String(counts.get(indexer)?.requests ?? ''), String(counts.get(indexer)?.calls ?? '')],
    ]),
  )
  const divide = (key: 'wallMs' | 'cpuMs') => {
    const best = Math.min(...[bar, ...slow].map((indexer) => median(of(indexer, key))))
    return best / median(of(ours, key))
  }
  const [wall, cpu] = [divide('wallMs'), divide('cpuMs')]
  const [wallBar, cpuBar] = TARGETS[name] ?? []
  const judge = (value: number, goal: number | undefined) =>
    goal === undefined ? value.toFixed(2) : `${value.toFixed(2)} (bar ${goal} ${value >= goal ? 'met' : 'MISSED'})`
  printNote(
    `fastest other ÷ ours: wall ${judge(wall, wallBar)}, CPU ${judge(cpu, cpuBar)}; ${wanted} rows, ${same ? 'equal' : 'THEY DIFFER'}`,
  )
  return same
}

/** The history of the product as one file, as its own program is built. */
async function buildOurs(): Promise<Indexer> {
  const directory = temporaryDirectory()
  const built = await Bun.build({ entrypoints: [join(import.meta.dir, 'ours.ts')], target: 'bun', outdir: directory })
  if (!built.success) throw new AggregateError(built.logs, 'Cannot build our program')
  return {
    name: 'walletscope',
    async run({ rpcUrl, databaseUrl, db, chainId, finalAfter }) {
      await forgetHistories(db)
      const took = await runToEnd([process.execPath, join(directory, 'ours.js')], {
        env: {
          BENCH_RPC: rpcUrl,
          BENCH_DATABASE_URL: databaseUrl,
          BENCH_CHAIN_ID: String(chainId),
          BENCH_FINALITY: String(finalAfter),
        },
      })
      const rows = await db.run<{ readonly row: string }>(
        `select format('%s:%s:%s:%s:%s:%s:%s:%s:%s:%s', block, log_index, leg, kind, encode(wallet, 'hex'),
           encode(asset, 'hex'), amount, encode(counterparty, 'hex'), encode(tx_hash, 'hex'), time) as row
         from lending_event`,
        [],
        { lane: 'background', deadlineMs: 60_000 },
      )
      return { ...took, rows: toRowSet(rows) }
    },
  }
}

function isSameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((each) => b.has(each))
}
