import { ENDPOINT_LIMITS } from '../../../src/chain/rpc/limiter.ts'
import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { toWalletAddress } from '../../devnet/addresses.ts'
import { BLOCK_AGE_SEC_MAX } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import type { Service } from '../../devnet/service.ts'
import { temporaryDirectory } from '../../support/database.ts'
import { MARKET, OBLIGATION, SLOT, scene, WALLET } from '../../support/kamino_scene.ts'
import { startSolanaDouble } from '../../support/solana.ts'
import { type Child, offer, startChild } from '../child.ts'
import { cpuUs } from '../cpu.ts'
import type { LoadResult } from '../load.ts'
import { CONSTANT_PATH, type OursReady } from '../metered.ts'
import { printNote, printTable } from '../table.ts'
import type { FarCommand, FarCounts } from './far.ts'
import { environment, startMetered } from './service.ts'

/** How far away the endpoint is, how many ask at a time. */
const DELAYS_MS = [0, 50] as const
const CALLERS = [1, 100] as const
const MORPHO_SEC = 3 * 86_400
const BATCH_WALLETS = 500
/** Longest that the service lets an answer live: everything after the first comes from the same block. */
const SAME_BLOCK_MS = 600_000

/** One question that users ask. */
interface Question {
  readonly name: string
  readonly path: string
  readonly body?: string
  /** Most callers that the usual way is measured with: more would take it longer than a burst lasts. */
  readonly usualCallersMax: 0 | 1 | 100
  /** True if answers share a reading for some time regardless of the configuration, so that none is cold. */
  readonly isShared?: true
}

/**
 * One way of answering: the product with every answer read anew, the product within one block, the usual way, or the
 * product's metered route that answers a constant.
 */
interface Way {
  readonly name: 'ours, cold' | 'ours, same block' | 'usual' | 'constant'
  readonly port: number
  readonly pid: number
  readonly keys: readonly string[]
}

interface Cell extends LoadResult {
  readonly perSecond: number
  readonly cpuUs: number
  readonly requests: number
}

/**
 * Whole answers of every live route, beside the same figures asked the usual way. The endpoint replays what the chain
 * said once, so that only who asks is measured.
 */
export async function benchAnswers({
  quick,
  databaseUrl,
}: {
  readonly quick: boolean
  readonly databaseUrl: string
}): Promise<void> {
  const children: Child[] = []
  const services: Service[] = []
  const devnet = await startDevnet({ ageSec: SCENARIO_SEC + MORPHO_SEC })
  // Its prices are written once, and must last as long as the bench.
  const lasting = { maxPriceAgeSec: BigInt(BLOCK_AGE_SEC_MAX) }
  const solana = startSolanaDouble({ accounts: scene({ sol: lasting, usdc: lasting }), slot: SLOT })
  try {
    const start = (file: string, env: Readonly<Record<string, string>> = {}) => {
      const child = startChild(file, env)
      children.push(child)
      return child
    }
    const questions = await listQuestions(devnet, quick)
    const endpoints = [devnet.rpcUrl, solana.url].map((target) => start('answers/far.ts', { BENCH_TARGET: target }))
    const [url = '', solanaUrl = ''] = await Promise.all(
      endpoints.map(async (far) => (await far.read<{ url: string }>()).url),
    )
    const generator = start('load.ts')
    const usualServer = start('answers/usual.ts', { BENCH_RPC: url })
    const { port } = await usualServer.read<{ port: number }>()
    const constantServer = start('ours.ts', {
      BENCH_DATABASE_URL: databaseUrl,
      BENCH_JOURNAL: temporaryDirectory(),
      BENCH_ORGANIZATIONS: '1',
    })
    const constant = await constantServer.read<OursReady>()
    const ours = async (name: Way['name'], blockTimeMs: number): Promise<Way> => {
      const service = await startMetered(await environment({ url, solanaUrl, row: { blockTimeMs } }))
      services.push(service)
      return { name, port: Number(new URL(service.url).port), pid: service.pid, keys: [service.apiKey] }
    }
    const ways: Way[] = [
      await ours('ours, cold', 0),
      await ours('ours, same block', SAME_BLOCK_MS),
      { name: 'usual', port, pid: usualServer.pid, keys: [] },
      { name: 'constant', port: constant.port, pid: constantServer.pid, keys: constant.keys },
    ]
    /** Sets how far away the endpoints are; returns how many requests they had since the previous setting. */
    const tell = async (command: FarCommand): Promise<number> => {
      for (const far of endpoints) far.write(command)
      const counts = await Promise.all(endpoints.map((far) => far.read<FarCounts>()))
      return counts.reduce((sum, { requests }) => sum + requests, 0)
    }

    const rows: string[][] = []
    for (const question of questions) {
      const isAsked = ({ name }: Way, callers: number) => {
        if (name === 'usual') return callers <= question.usualCallersMax
        return name !== 'ours, cold' || question.isShared !== true
      }
      const createJob = ({ name, port, keys }: Way, connections: number) => {
        const asked = name === 'constant' ? { path: CONSTANT_PATH } : question
        return { ...asked, port, keys, connections }
      }
      // A service runs for days: each way's code is compiled before it is measured.
      for (const way of ways) {
        const callers = [...CALLERS].reverse().find((each) => isAsked(way, each))
        if (callers !== undefined)
          await offer(generator, { ...createJob(way, callers), durationMs: quick ? 200 : 2_000 })
      }
      for (const delayMs of DELAYS_MS) {
        for (const callers of CALLERS) {
          const cells = new Map<Way['name'], Cell>()
          for (const way of ways.filter((each) => isAsked(each, callers))) {
            const job = createJob(way, callers)
            await tell({ delayMs })
            const before = cpuUs([way.pid]) ?? Number.NaN
            const result = await offer(generator, { ...job, durationMs: quick ? 500 : 1_500 })
            const after = cpuUs([way.pid]) ?? Number.NaN
            const all = Object.values(result.statuses).reduce((sum, count) => sum + count, 0)
            if ((result.statuses['200'] ?? 0) !== all || result.broken > 0) {
              throw new Error(`Cannot measure ${question.name}, ${way.name}: ${JSON.stringify(result.statuses)}`)
            }
            const requests = await tell({ delayMs: 0 })
            cells.set(way.name, {
              ...result,
              perSecond: (result.answers / result.elapsedMs) * 1_000,
              cpuUs: (after - before) / all,
              requests: requests / all,
            })
          }
          rows.push(toRow(question, { delayMs, callers, cells }))
          if (process.stderr.isTTY) process.stderr.write(`\rmeasured ${rows.length} rows`)
        }
      }
    }
    if (process.stderr.isTTY) process.stderr.write('\r')
    printTable(HEAD, rows)
    printNote(
      `CPU of our process per answer; constant: a metered route that reads nothing; requests to the endpoint per answer; one endpoint, at most ${ENDPOINT_LIMITS.runningMax} calls to it at a time`,
    )
  } finally {
    await Promise.all(services.map((service) => service.stop()))
    await Promise.all(children.map((child) => child.stop()))
    await solana.stop()
    await devnet.stop()
  }
}

const HEAD = [
  ...['answer', 'away', 'callers', 'cold/s', 'usual/s', 'same block/s'],
  ...[
    'CPU µs cold',
    'usual',
    'same block',
    'constant',
    'cold ÷ usual',
    'same block ÷ constant',
    'p99 ÷ away cold',
    'usual',
    'requests cold',
    'usual',
  ],
]

function toRow(
  { name }: Question,
  at: { readonly delayMs: number; readonly callers: number; readonly cells: ReadonlyMap<Way['name'], Cell> },
): string[] {
  const { delayMs, callers, cells } = at
  const [cold, same, usual, constant] = (['ours, cold', 'ours, same block', 'usual', 'constant'] as const).map((way) =>
    cells.get(way),
  )
  const shown = (value: number | undefined, digits: number) => (value === undefined ? '–' : value.toFixed(digits))
  const ratio = (a: Cell | undefined, b: Cell | undefined) =>
    a === undefined || b === undefined ? undefined : a.cpuUs / b.cpuUs
  const away = (cell: Cell | undefined) =>
    cell === undefined || delayMs === 0 ? '–' : (cell.p99Ms / delayMs).toFixed(2)
  return [
    ...[name, `${delayMs} ms`, String(callers)],
    ...[cold, usual, same].map((cell) => shown(cell?.perSecond, 0)),
    ...[cold, usual, same, constant].map((cell) => shown(cell?.cpuUs, 0)),
    ...[ratio(cold, usual), ratio(same, constant)].map((each) => shown(each, 2)),
    ...[away(cold), away(usual), shown(cold?.requests, 2), shown(usual?.requests, 2)],
  ]
}

async function listQuestions(devnet: Devnet, quick: boolean): Promise<readonly Question[]> {
  const sizes = [1, 50, 300]
  const holders = await Promise.all(
    sizes.map(async (size) => {
      const wallet = toWalletAddress(`bench of ${size}`)
      await devnet.mintMany(wallet, size)
      return { size, wallet }
    }),
  )
  const morpho = await devnet.morpho()
  const aave = await devnet.aave()
  const { wallets: random } = await aave.randomWallets(7, quick ? 20 : 100)
  const empty = Array.from({ length: BATCH_WALLETS - random.length }, (_, index) => toWalletAddress(`empty ${index}`))
  const target = `wallet=${WALLET}&market_address=${MARKET}`
  return [
    ...holders.map(({ size, wallet }) => ({
      name: `${size} positions`,
      path: `/v1/positions/uniswap-v3?wallet=${wallet}`,
      usualCallersMax: size === 1 ? (100 as const) : (1 as const),
    })),
    { name: 'Aave, 1 wallet', path: `/v1/lending/aave-v3?wallet=${aave.wallets.everywhere}`, usualCallersMax: 100 },
    {
      name: `Aave, ${BATCH_WALLETS} wallets`,
      path: '/v1/lending/aave-v3/batch',
      body: JSON.stringify({ wallets: [...random, ...empty] }),
      usualCallersMax: 1,
    },
    {
      name: 'Morpho',
      path: `/v1/lending/morpho-blue/position/1/yield?wallet=${morpho.wallets.borrower}&market_id=${morpho.markets.wethUsdc.id}`,
      usualCallersMax: 100,
    },
    {
      name: 'Kamino',
      path: `/v1/lending/kamino/position/${OBLIGATION}/risk?${target}`,
      usualCallersMax: 0,
      isShared: true,
    },
  ]
}
