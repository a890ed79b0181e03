import { cpus } from 'node:os'
import { toWalletAddress } from '../devnet/addresses.ts'
import { startDevnet } from '../devnet/mod.ts'
import type { Service } from '../devnet/service.ts'
import { environment, startMetered } from './answers/service.ts'
import { startChild } from './child.ts'
import { offerLoad } from './load.ts'
import { median, printNote, printTable } from './table.ts'

const WORKERS = [1, 2, 4] as const
const CONNECTIONS = 128
const BURST_MS = 3_000
const ROUNDS = 4

/** Answers a second of one, two and four workers, each with its embedded database, in bursts that alternate. */
export async function benchWorkers({ quick }: { readonly quick: boolean }): Promise<void> {
  const durationMs = quick ? 700 : BURST_MS
  const services: Service[] = []
  const devnet = await startDevnet()
  const far = startChild('answers/far.ts', { BENCH_TARGET: devnet.rpcUrl })
  try {
    const wallet = toWalletAddress('bench of 1')
    await devnet.mintMany(wallet, 1)
    const { url } = await far.read<{ url: string }>()
    const measured: { readonly workers: number; readonly perSecond: number[]; readonly p99Ms: number[] }[] = []
    for (const workers of WORKERS) {
      const env = await environment({ url, row: { blockTimeMs: 60_000 } })
      services.push(await startMetered({ ...env, WORKERS: String(workers) }))
      measured.push({ workers, perSecond: [], p99Ms: [] })
    }
    for (let round = 0; round <= (quick ? 1 : ROUNDS); round++) {
      for (const [index, service] of services.entries()) {
        const result = await offerLoad({
          port: Number(new URL(service.url).port),
          path: `/v1/positions/uniswap-v3?wallet=${wallet}`,
          keys: [service.apiKey],
          connections: CONNECTIONS,
          durationMs,
        })
        if (Object.keys(result.statuses).join() !== '200') {
          throw new Error(`Cannot measure: ${JSON.stringify(result.statuses)}`)
        }
        // The first burst warms up.
        if (round === 0) continue
        measured[index]?.perSecond.push((result.answers / result.elapsedMs) * 1_000)
        measured[index]?.p99Ms.push(result.p99Ms)
      }
    }
    const alone = median(measured[0]?.perSecond ?? [])
    printTable(
      ['workers', 'answers/s', '÷ one', 'p99, ms'],
      measured.map(({ workers, perSecond, p99Ms }) => [
        String(workers),
        median(perSecond).toFixed(0),
        (median(perSecond) / alone).toFixed(2),
        median(p99Ms).toFixed(1),
      ]),
    )
    printNote(
      `One wallet's list, kept until the next block, ${CONNECTIONS} connections; ${cpus().length} cores, which the load ` +
        'generator, the service and its PostgreSQL share.',
    )
  } finally {
    await Promise.all(services.map((service) => service.stop()))
    await far.stop()
    await devnet.stop()
  }
}
