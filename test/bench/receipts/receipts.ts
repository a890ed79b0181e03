import { loadavg } from 'node:os'
import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { startDevnet } from '../../devnet/mod.ts'
import type { Service } from '../../devnet/service.ts'
import type { FarCommand, FarCounts } from '../answers/far.ts'
import { environment, startMetered } from '../answers/service.ts'
import { type Child, offer, startChild } from '../child.ts'
import { cpuUs, threadCpuUs } from '../cpu.ts'
import type { LoadResult } from '../load.ts'
import { median, printNote, printTable } from '../table.ts'

const AWAY_MS = 40
/** Those who list positions while proofs are made. */
const LISTING = 32

interface Bench {
  readonly service: Service
  readonly endpoint: Child
  readonly generator: Child
  readonly quick: boolean
  /** Paths by what they ask, without a receipt. */
  readonly paths: Readonly<Record<'position' | 'markets' | 'list', string>>
}

type Rows = (readonly [what: string, measured: string, goal: string])[]

/** What receipts and proofs take, and what others feel of proofs, against the goals that were set for them. */
export async function benchReceipts({ quick }: { readonly quick: boolean }): Promise<void> {
  const devnet = await startDevnet({ ageSec: SCENARIO_SEC })
  const children: Child[] = []
  let service: Service | undefined
  try {
    const aave = await devnet.aave()
    const endpoint = startChild('answers/far.ts', { BENCH_TARGET: devnet.rpcUrl })
    const generator = startChild('load.ts')
    children.push(endpoint, generator)
    const { url } = await endpoint.read<{ url: string }>()
    service = await startMetered(await environment({ url, row: { blockTimeMs: 0 } }))
    const paths = {
      position: `/v1/positions/uniswap-v3/${devnet.positions.good}?chain_id=1`,
      markets: `/v1/lending/aave-v3?wallet=${aave.wallets.borrower}`,
      list: `/v1/positions/uniswap-v3?wallet=${devnet.wallets.market}`,
    }
    const bench = { service, endpoint, generator, quick, paths }
    await tell(bench)
    printTable(['receipts', 'measured', 'goal'], [...(await alone(bench)), ...(await beside(bench))])
    const load = loadavg().map((each) => each.toFixed(1))
    printNote(
      `endpoint ${AWAY_MS} ms away, which remembers its answers and gives hints by tracer; load average ${load.join(' ')}`,
    )
  } finally {
    await service?.stop()
    await Promise.all(children.map((child) => child.stop()))
    await devnet.stop()
  }
}

/** Each kind of receipt, without other requests. */
async function alone(bench: Bench): Promise<Rows> {
  const { service, paths, quick } = bench
  const times = quick ? 5 : 20
  const rows: Rows = []
  for (const [name, path, goal] of [
    ['one position', paths.position, '600 ms, 25'],
    ['three markets of Aave', paths.markets, '3,000 ms'],
  ] as const) {
    await ask(bench, path)
    const plain = await several(times, () => ask(bench, path))
    await ask(bench, `${path}&receipt=true`)
    const receipts = await several(times, () => ask(bench, `${path}&receipt=true`))
    const first = await ask(bench, `${path}&receipt=proof`)
    await tell(bench)
    const before = { all: cpuUs([service.pid]), main: threadCpuUs(service.pid) }
    const proofs = await several(times, () => ask(bench, `${path}&receipt=proof`))
    const { requests } = await tell(bench)
    const perProof = (us: number | undefined, from: number | undefined) =>
      us === undefined || from === undefined ? '–' : ((us - from) / 1_000 / times).toFixed(0)
    const cpu = `${perProof(threadCpuUs(service.pid), before.main)} of ${perProof(cpuUs([service.pid]), before.all)}`
    const bytes = receipts[0]?.receiptBytes ?? 0
    rows.push(
      [`${name}, receipt=true: ms beyond the answer`, (sumMs(receipts) - sumMs(plain)).toFixed(1), `${AWAY_MS} + 1`],
      [`${name}, receipt=true: bytes of the file`, String(bytes), name === 'one position' ? '6,000' : ''],
      [
        `${name}, proof: median, longest, first ms; requests`,
        `${sumMs(proofs).toFixed(0)}, ${Math.max(...proofs.map(({ ms }) => ms)).toFixed(0)}, ${first.ms.toFixed(0)}; ${(requests / times).toFixed(1)}`,
        goal,
      ],
      [`${name}, proof: bytes of the file`, String(proofs[0]?.receiptBytes ?? 0), ''],
      [`${name}, proof: CPU ms, of the thread that answers others`, cpu, ''],
    )
  }
  return rows
}

/** Short phases by turns, with proofs and without, for other work of the machine comes and goes. */
async function beside(bench: Bench): Promise<Rows> {
  const { service, generator, paths, quick } = bench
  const load = {
    port: Number(new URL(service.url).port),
    keys: [service.apiKey],
    path: paths.list,
    connections: LISTING,
    durationMs: 1_000,
  }
  const phase = async (): Promise<LoadResult> => {
    const result = await offer(generator, load)
    if (Object.keys(result.statuses).join() !== '200' || result.broken > 0)
      throw new Error(`Cannot measure ${paths.list}: ${JSON.stringify(result.statuses)}`)
    return result
  }
  await phase()
  const rows: Rows = []
  for (const [name, path] of [
    ['nothing, which says how much is chance', undefined],
    ['proofs of one position', paths.position],
    ['proofs of three markets of Aave', paths.markets],
  ] as const) {
    const [without, during]: [LoadResult[], LoadResult[]] = [[], []]
    let proofs = 0
    for (let round = 0; round < (quick ? 3 : 20); round++) {
      without.push(await phase())
      let isOver = path === undefined
      const proving = async () => {
        for (; !isOver; proofs++) await ask(bench, `${path}&receipt=proof`)
      }
      const over = proving()
      during.push(await phase())
      isOver = true
      await over
    }
    const ratio = (of: (result: LoadResult) => number) => (median(during.map(of)) / median(without.map(of))).toFixed(2)
    rows.push([
      `a list, ${LISTING} callers, beside ${name}: p99 ÷ without; p50 ÷ without; proofs`,
      `${ratio(({ p99Ms }) => p99Ms)}; ${ratio(({ p50Ms }) => p50Ms)}; ${proofs}`,
      '1.10',
    ])
  }
  return rows
}

interface Asked {
  readonly ms: number
  /** Length of the file of a receipt; 0 without one. */
  readonly receiptBytes: number
}

async function ask({ service: { url, apiKey } }: Bench, path: string): Promise<Asked> {
  const startedMs = performance.now()
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${apiKey}` } })
  const text = await response.text()
  const ms = performance.now() - startedMs
  if (response.status !== 200) throw new Error(`Cannot measure ${path}: ${response.status} ${text}`)
  const at = text.indexOf('"receipt":')
  return { ms, receiptBytes: at < 0 ? 0 : text.length - at - '"receipt":'.length - 1 }
}

async function several(times: number, work: () => Promise<Asked>): Promise<readonly Asked[]> {
  const all: Asked[] = []
  for (let time = 0; time < times; time++) all.push(await work())
  return all
}

function sumMs(asked: readonly Asked[]): number {
  return median(asked.map(({ ms }) => ms))
}

/** How far away the endpoint is from now on; what it was asked since. */
async function tell({ endpoint }: Bench): Promise<FarCounts> {
  endpoint.write({ delayMs: AWAY_MS } satisfies FarCommand)
  return await endpoint.read<FarCounts>()
}
