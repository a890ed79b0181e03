import { toWalletAddress } from '../devnet/addresses.ts'
import { startDevnet } from '../devnet/mod.ts'
import type { Service } from '../devnet/service.ts'
import type { FarCommand, FarCounts } from './answers/far.ts'
import { environment, startMetered } from './answers/service.ts'
import { type Child, offer, startChild } from './child.ts'
import type { LoadJob } from './load.ts'
import { printNote, printTable } from './table.ts'

const AWAY_MS = 50
const CALLERS = 100
/** What comes, as a share of what the service answers to callers enough to keep it busy, at the same distance. */
const SHARES = [0.25, 0.5, 0.75] as const
/** Round trips within which 99 of 100 answers come at half of what the service can do. */
const P99_AT_HALF_MAX = 1.7
const WARM_UP_MS = 4_000
const BURST_MS = 4_000
/** Nearly as many as one organization may have under way. */
const CONNECTIONS_MAX = 240

/** What is offered, and the most round trips that its p99 may take. */
interface Load {
  readonly name: string
  readonly load: Pick<LoadJob, 'connections' | 'perSecond'>
  readonly bar?: number | undefined
}

/**
 * Answers about one position, each read anew from an endpoint 50 ms away, as callers meet them who do not wait for one
 * another: their requests come as a Poisson process. Beside them the closed loop, whose callers all come back in one wave.
 */
export async function benchOpenLoop({ quick }: { readonly quick: boolean }): Promise<void> {
  const children: Child[] = []
  let service: Service | undefined
  const devnet = await startDevnet()
  try {
    const start = (file: string, env: Readonly<Record<string, string>> = {}) => {
      const child = startChild(file, env)
      children.push(child)
      return child
    }
    const wallet = toWalletAddress('bench of 1')
    await devnet.mintMany(wallet, 1)
    const far = start('answers/far.ts', { BENCH_TARGET: devnet.rpcUrl })
    const { url } = await far.read<{ url: string }>()
    const generator = start('load.ts')
    service = await startMetered(await environment({ url, row: { blockTimeMs: 0 } }))
    const asked = {
      port: Number(new URL(service.url).port),
      path: `/v1/positions/uniswap-v3?wallet=${wallet}`,
      keys: [service.apiKey],
      durationMs: quick ? 500 : BURST_MS,
    }
    const busy = { connections: CONNECTIONS_MAX }
    await offer(generator, { ...asked, ...busy, durationMs: quick ? 500 : WARM_UP_MS })
    far.write({ delayMs: AWAY_MS } satisfies FarCommand)
    await far.read<FarCounts>()
    const { answers, elapsedMs } = await offer(generator, { ...asked, ...busy })
    const capacity = (answers / elapsedMs) * 1_000
    const loads: readonly Load[] = [
      { name: 'closed loop', load: { connections: 1 } },
      { name: 'closed loop', load: { connections: CALLERS } },
      ...SHARES.map((share) => ({
        name: `open, ${share * 100} % of ${capacity.toFixed(0)}/s`,
        load: { connections: CONNECTIONS_MAX, perSecond: share * capacity },
        bar: share === 0.5 ? P99_AT_HALF_MAX : undefined,
      })),
    ]
    const rows: string[][] = []
    for (const { name, load, bar } of loads) {
      const result = await offer(generator, { ...asked, ...load })
      const all = Object.values(result.statuses).reduce((sum, count) => sum + count, 0)
      if (result.statuses['200'] !== all) throw new Error(`Cannot measure: ${JSON.stringify(result.statuses)}`)
      rows.push([
        ...[name, 'perSecond' in load ? '–' : String(load.connections)],
        ((result.answers / result.elapsedMs) * 1_000).toFixed(0),
        ...[result.p50Ms, result.p99Ms].map((ms) => ms.toFixed(1)),
        (result.p99Ms / AWAY_MS).toFixed(2),
        bar === undefined ? '' : `${bar} ${result.p99Ms <= bar * AWAY_MS ? 'met' : 'MISSED'}`,
      ])
    }
    printTable(['load', 'callers', 'answers/s', 'p50 ms', 'p99 ms', 'p99 ÷ away', 'bar'], rows)
    printNote(
      `1 position, read anew; the endpoint is ${AWAY_MS} ms away; shares of what ${CONNECTIONS_MAX} callers get`,
    )
  } finally {
    await service?.stop()
    await Promise.all(children.map((child) => child.stop()))
    await devnet.stop()
  }
}
