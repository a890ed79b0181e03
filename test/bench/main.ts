import { openDatabase } from '../../src/db/connection/pool.ts'
import { startEmbedded } from '../../src/db/embedded/embedded.ts'
import { migrate } from '../../src/db/migrate.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { temporaryDirectory } from '../support/database.ts'
import { benchAnswers } from './answers/answers.ts'
import { compareAnswers } from './compare/answers.ts'
import { compareMetered } from './compare/metered.ts'
import { benchContainer } from './container/container.ts'
import { benchExit } from './exit.ts'
import { benchFootprint } from './footprint.ts'
import { benchFull } from './full.ts'
import { benchGoals } from './goals.ts'
import { benchHistory } from './history.ts'
import { benchHolds } from './holds/holds.ts'
import { benchIndexers } from './indexers/indexers.ts'
import { benchLog } from './log.ts'
import { benchMetered } from './metered.ts'
import { benchOpenLoop } from './open_loop.ts'
import { benchPortfolio } from './portfolio/portfolio.ts'
import { benchPrices } from './portfolio/prices.ts'
import { benchReceipts } from './receipts/receipts.ts'
import { recordResult } from './record.ts'
import { benchRpc } from './rpc.ts'
import { benchSoak } from './soak/soak.ts'
import { benchSolana } from './solana/solana.ts'
import { benchStorm } from './storm/storm.ts'
import { benchStrangers } from './strangers/strangers.ts'
import { takePrinted } from './table.ts'
import { benchTriggers } from './triggers/triggers.ts'
import { benchUniswapV4 } from './uniswap_v4/v4.ts'
import { benchWorkers } from './workers.ts'

interface Options {
  readonly quick: boolean
  readonly databaseUrl: string
}

interface Part {
  readonly name: string
  /** True if it runs only when it is named. */
  readonly isExtra?: true
  /** False: something that must hold does not. */
  readonly run: (options: Options) => Promise<boolean>
}

const PARTS: readonly Part[] = [
  { name: 'metered', run: benchMetered },
  { name: 'rpc', run: benchRpc },
  { name: 'answers', run: onlyShown(benchAnswers) },
  { name: 'full', run: onlyShown(benchFull) },
  { name: 'open_loop', run: onlyShown(benchOpenLoop) },
  { name: 'history', run: onlyShown(benchHistory) },
  { name: 'portfolio', run: onlyShown(benchPortfolio) },
  { name: 'prices', isExtra: true, run: onlyShown(benchPrices) },
  { name: 'v4', isExtra: true, run: onlyShown(benchUniswapV4) },
  { name: 'exit', isExtra: true, run: onlyShown(benchExit) },
  { name: 'receipts', run: onlyShown(benchReceipts) },
  { name: 'triggers', isExtra: true, run: onlyShown(benchTriggers) },
  { name: 'strangers', isExtra: true, run: onlyShown(benchStrangers) },
  { name: 'solana', isExtra: true, run: onlyShown(benchSolana) },
  { name: 'footprint', isExtra: true, run: onlyShown(benchFootprint) },
  { name: 'log', isExtra: true, run: onlyShown(benchLog) },
  { name: 'holds', isExtra: true, run: onlyShown(benchHolds) },
  { name: 'soak', isExtra: true, run: onlyShown(benchSoak) },
  { name: 'indexers', isExtra: true, run: benchIndexers },
  { name: 'workers', isExtra: true, run: onlyShown(benchWorkers) },
  { name: 'container', isExtra: true, run: benchContainer },
  { name: 'storm', isExtra: true, run: benchStorm },
  { name: 'goals', isExtra: true, run: onlyShown(benchGoals) },
  { name: 'compare', isExtra: true, run: onlyShown(compareMetered) },
  { name: 'compare_answers', isExtra: true, run: onlyShown(compareAnswers) },
]

/**
 * `bun run bench [part…] [--quick] [--record]`: every claim of speed, each as a ratio to something measured beside it, so
 * that it means the same on another machine. With `--record` what a part prints replaces its block in `results.md`. Speeds
 * below their bar are only shown, for they depend on what else the machine does; exit status 1 means that the books do
 * not balance, that a list takes too many round trips, that indexers have other rows, that a container is too small, or
 * that a storm did harm. Without names all parts run but `prices`, `v4`, `exit`, `triggers`, `strangers`, `solana`, `footprint`,
 * `log`, which logs a million requests first, `holds`, which builds a large chain first, `soak`, which lasts an hour,
 * `indexers`, which installs SQD and Ponder first, `container`, which wants to make a group of processes (root), `storm`,
 * which lasts for `--seconds=`, `goals`, which wants a machine to itself, and `compare` and `compare_answers`, which
 * measure these files against those of the commit that `--against=` names.
 */
async function main(): Promise<number> {
  const quick = process.argv.includes('--quick')
  const named = process.argv.slice(2).filter((word) => !word.startsWith('--'))
  const unknown = named.find((name) => !PARTS.some((part) => part.name === name))
  if (unknown !== undefined)
    throw new Error(`Cannot measure "${unknown}": the parts are ${PARTS.map(({ name }) => name).join(', ')}`)
  const parts = PARTS.filter(({ name, isExtra }) => (named.length === 0 ? !isExtra : named.includes(name)))
  // Unlike the servers of the tests this one waits for the disk: a benchmark without fsync would prove nothing.
  const server = await startEmbedded({ dataDir: temporaryDirectory(), clock: systemClock, log: silentLog })
  try {
    const db = openDatabase({ url: server.url, clock: systemClock, log: silentLog, max: 1 })
    await migrate(db).finally(() => db.close())
    console.log(`bun ${Bun.version}, ${navigator.hardwareConcurrency} cores, embedded PostgreSQL with fsync\n`)
    let held = true
    for (const { name, run } of parts) {
      held = (await run({ quick, databaseUrl: server.url })) && held
      const printed = takePrinted()
      if (process.argv.includes('--record')) await recordResult(name, printed)
    }
    return held ? 0 : 1
  } finally {
    await server.close()
  }
}

function onlyShown(bench: (options: Options) => Promise<void>): Part['run'] {
  return async (options) => {
    await bench(options)
    return true
  }
}

main().then((status) => process.exit(status))
