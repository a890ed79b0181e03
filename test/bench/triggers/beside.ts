import type { Service } from '../../devnet/service.ts'
import { type Child, offer } from '../child.ts'
import type { LoadJob, LoadResult } from '../load.ts'
import { median } from '../table.ts'
import { type Bench, BLOCK_MS, mine, oneBlock, type Rows, thousandths, untilPosted } from './scene.ts'

/** Those who list positions meanwhile. */
const LISTING = 32
/** Fewer than one organization may have under way. */
const CONNECTIONS_MAX = 200
/** What comes by itself, as a share of what callers who wait for their answers get. */
const SHARE = 0.5

/**
 * What callers feel: those who ask again as soon as they are answered, which fills both cores, and those who come when
 * they come.
 */
export async function beside(
  bench: Bench,
  of: { readonly without: Service; readonly generator: Child },
): Promise<Rows> {
  await oneBlock(bench, bench.price)
  await untilPosted(bench)
  const closed = await byTurns(bench, { ...of, load: { connections: LISTING } })
  const capacity = median(closed.quiet.map(({ answers, elapsedMs }) => (answers / elapsedMs) * 1_000))
  const open = await byTurns(bench, { ...of, load: { connections: CONNECTIONS_MAX, perSecond: SHARE * capacity } })
  return [
    [`a list, 32 callers, 1 % near: ${COMPARED}`, compared(closed), '1.10'],
    [`a list, ${(SHARE * capacity).toFixed(0)} requests a second, half of that: ${COMPARED}`, compared(open), '1.10'],
  ]
}

interface ByTurns {
  readonly during: readonly LoadResult[]
  readonly quiet: readonly LoadResult[]
}

/** Short phases by turns; the process with triggers stands still while the other one is measured. */
async function byTurns(
  bench: Bench,
  of: {
    readonly without: Service
    readonly generator: Child
    readonly load: Pick<LoadJob, 'connections' | 'perSecond'>
  },
): Promise<ByTurns> {
  const { service, devnet, quick } = bench
  const { without, generator, load } = of
  const path = `/v1/positions/uniswap-v3?wallet=${devnet.wallets.single}`
  const phase = async ({ url, apiKey }: Service, price: bigint): Promise<LoadResult> => {
    await mine(bench, price)
    const port = Number(new URL(url).port)
    const result = await offer(generator, { port, keys: [apiKey], path, ...load, durationMs: BLOCK_MS })
    if (Object.keys(result.statuses).join() !== '200' || result.broken > 0)
      throw new Error(`Cannot measure ${path}: ${JSON.stringify(result.statuses)}`)
    return result
  }
  await phase(without, bench.price)
  const [quiet, during]: [LoadResult[], LoadResult[]] = [[], []]
  for (let round = 0; round < (quick ? 4 : 20); round++) {
    const price = thousandths(bench, 992 + ((round * 7) % 11))
    during.push(await phase(service, price))
    process.kill(service.pid, 'SIGSTOP')
    quiet.push(await phase(without, price))
    process.kill(service.pid, 'SIGCONT')
  }
  return { during, quiet }
}

const COMPARED = 'p99 ÷ without triggers; p50 ÷ without'

function compared({ during, quiet }: ByTurns): string {
  const ratio = (of: (result: LoadResult) => number) => {
    const [own, other] = [median(during.map(of)), median(quiet.map(of))]
    return `${(own / other).toFixed(2)} (${own.toFixed(1)} ÷ ${other.toFixed(1)} ms)`
  }
  return [ratio(({ p99Ms }) => p99Ms), ratio(({ p50Ms }) => p50Ms)].join('; ')
}
