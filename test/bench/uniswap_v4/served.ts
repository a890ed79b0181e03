import { loadavg } from 'node:os'
import type { Address } from 'viem'
import { toWalletAddress } from '../../devnet/addresses.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { UNISWAP_V4 } from '../../devnet/uniswap_v4/addresses.ts'
import type { FarCommand, FarCounts } from '../answers/far.ts'
import { environment, startMetered } from '../answers/service.ts'
import { type Child, offer, startChild } from '../child.ts'
import { cpuUs } from '../cpu.ts'
import type { LoadJob } from '../load.ts'
import { printNote, printTable } from '../table.ts'

const SIZES = [1, 50] as const
const CALLERS = [1, 100] as const
const FAMILIES = ['uniswap-v3', 'uniswap-v4'] as const
/** Both families take turns, so that they meet the same machine; the best turn counts. */
const TURNS = 3
const WARM_MS = 1_000

interface Served {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly cpuUs: number
}

/** Whole answers over HTTP, every one read anew, beside those of Uniswap V3 for as many positions. */
export async function benchServed(
  devnet: Devnet,
  options: {
    readonly quick: boolean
    readonly awayMs: number
    /** Mints so many positions of Uniswap V4 to a wallet. */
    readonly mint: (wallet: Address, count: number) => Promise<unknown>
  },
): Promise<void> {
  const { quick, awayMs, mint } = options
  const wallets = SIZES.map((size) => ({ size, wallet: toWalletAddress(`bench served ${size}`) }))
  for (const { size, wallet } of wallets) {
    await devnet.mintMany(wallet, size)
    await mint(wallet, size)
  }
  const { positionManager, poolManager } = UNISWAP_V4
  const uniswapV4 = { positionManager, poolManager, startBlock: 0 }
  const far = startChild('answers/far.ts', { BENCH_TARGET: devnet.rpcUrl })
  const generator = startChild('load.ts', {})
  const set = async (delayMs: number) => {
    far.write({ delayMs } satisfies FarCommand)
    await far.read<FarCounts>()
  }
  const rows: string[][] = []
  try {
    const { url } = await far.read<{ url: string }>()
    const service = await startMetered(await environment({ url, row: { blockTimeMs: 0, uniswapV4 } }))
    const measure = async (job: LoadJob) => await measured(generator, { job, pid: service.pid })
    try {
      for (const { size, wallet } of wallets) {
        for (const connections of CALLERS) {
          const jobs = FAMILIES.map((family) => ({
            path: `/v1/positions/${family}?wallet=${wallet}&chain_id=1`,
            port: Number(new URL(service.url).port),
            keys: [service.apiKey],
            connections,
            durationMs: quick ? 500 : 2_000,
          }))
          for (const job of jobs) await offer(generator, { ...job, durationMs: WARM_MS })
          await set(awayMs)
          const turns: Served[][] = []
          for (let turn = 0; turn < (quick ? 1 : TURNS); turn++) {
            const served: Served[] = []
            for (const job of jobs) served.push(await measure(job))
            turns.push(served)
          }
          await set(0)
          const [v3, v4] = FAMILIES.map((_, index) => selectBest(turns.flatMap((served) => served[index] ?? [])))
          if (v3 === undefined || v4 === undefined) continue
          rows.push([
            ...[String(size), String(connections)],
            ...[v3, v4].flatMap(({ p50Ms, p99Ms }) => [p50Ms.toFixed(1), p99Ms.toFixed(1)]),
            ...[(v4.p99Ms / awayMs).toFixed(2), (v4.p99Ms / v3.p99Ms).toFixed(2)],
            ...[v3, v4].map(({ cpuUs }) => cpuUs.toFixed(0)),
            (v4.cpuUs / v3.cpuUs).toFixed(2),
          ])
        }
      }
    } finally {
      await service.stop()
    }
  } finally {
    await Promise.all([far.stop(), generator.stop()])
  }
  printTable(HEAD, rows)
  const load = loadavg().map((each) => each.toFixed(1))
  printNote(
    `over HTTP, each answer charged and read anew, ten positions a page; endpoint ${awayMs} ms away; goals: p99 ≤ 1.25 of a round trip, CPU ≤ 1.20 of V3's; load average ${load.join(' ')}`,
  )
}

const HEAD = [
  ...['positions', 'callers', 'V3 p50', 'p99', 'V4 p50', 'p99'],
  ...['p99 ÷ away', '÷ V3', 'CPU µs V3', 'V4', 'V4 ÷ V3'],
]

async function measured(generator: Child, { job, pid }: { readonly job: LoadJob; readonly pid: number }) {
  const before = cpuUs([pid]) ?? Number.NaN
  const { statuses, p50Ms, p99Ms } = await offer(generator, job)
  const used = (cpuUs([pid]) ?? Number.NaN) - before
  if (Object.keys(statuses).join() !== '200') throw new Error(`Cannot measure: ${JSON.stringify(statuses)}`)
  return { p50Ms, p99Ms, cpuUs: used / (statuses['200'] ?? 1) }
}

function selectBest(turns: readonly Served[]): Served {
  const least = (of: (each: Served) => number) => Math.min(...turns.map(of))
  return { p50Ms: least((each) => each.p50Ms), p99Ms: least((each) => each.p99Ms), cpuUs: least((each) => each.cpuUs) }
}
