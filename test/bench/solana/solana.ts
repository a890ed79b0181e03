import { WALLET } from '../../support/kamino_scene.ts'
import { type Child, startChild } from '../child.ts'
import { printTable } from '../table.ts'
import { SIGNAL, solanaReaders } from './readers.ts'
import { type SolanaCounts, toWallet } from './words.ts'

/** How far the endpoint is. */
const LATENCY_MS = 40

type Row = readonly [what: string, measured: string]

/** What lists of Solana take: requests in a row, time beside that of one bare request, and turns of the event loop. */
export async function benchSolana({ quick }: { readonly quick: boolean }): Promise<void> {
  const node = startChild('solana/node.ts')
  try {
    const { url } = await node.read<{ url: string }>()
    const processes = quick ? 2 : 6
    const rows = [
      await requestsInARow(node, { url, refuses: false }),
      await requestsInARow(node, { url, refuses: true }),
      await batch(node, { url, count: 100 }),
      await batch(node, { url, count: 500 }),
      ...(await alone(node, { url, rounds: quick ? 50 : 300 })),
      await cold({ url, processes, read: 'orca', what: 'Orca list of 500 unknown tokens' }),
      await cold({ url, processes, read: 'portfolio', what: 'Portfolio of 500 unknown tokens' }),
      await cold({ url, processes, read: 'batch', what: 'Kamino batch of 500 wallets' }),
    ]
    printTable([`Solana, endpoint at ${LATENCY_MS} ms`, 'measured'], rows)
  } finally {
    await node.stop()
  }
}

async function tell(node: Child, latencyMs: number, refuses = false): Promise<SolanaCounts> {
  node.write({ latencyMs, refuses })
  return await node.read<SolanaCounts>()
}

async function requestsInARow(
  node: Child,
  { url, refuses }: { readonly url: string; readonly refuses: boolean },
): Promise<Row> {
  const readers = solanaReaders(url)
  const list = (index: number) => readers.kamino.readWallet({ wallet: toWallet(index), market: undefined }, SIGNAL)
  await tell(node, LATENCY_MS, refuses)
  await list(0)
  const first = await tell(node, LATENCY_MS, refuses)
  await list(1)
  const never = await tell(node, LATENCY_MS, refuses)
  readers.pass()
  await list(1)
  const before = await tell(node, LATENCY_MS)
  const inARow = [first, never, before].map((each) => each.row).join(' / ')
  const how = refuses ? 'derived addresses' : 'program search'
  return [`Kamino list, ${how}: requests in a row, first of all / never asked / asked before`, inARow]
}

async function batch(node: Child, { url, count }: { readonly url: string; readonly count: number }): Promise<Row> {
  const { kamino } = solanaReaders(url)
  const wallets = Array.from({ length: count }, (_, index) => toWallet(index))
  await tell(node, LATENCY_MS)
  const ms = await timed(() => kamino.readWallets({ wallets, market: undefined }, SIGNAL))
  const { requests } = await tell(node, LATENCY_MS)
  return [`Kamino batch of ${count} wallets by search`, `${ms.toFixed(0)} ms, ${requests} requests`]
}

async function alone(node: Child, { url, rounds }: { readonly url: string; readonly rounds: number }): Promise<Row[]> {
  await tell(node, LATENCY_MS)
  const { kamino, orca, pass } = solanaReaders(url)
  const query = { wallet: WALLET, isActive: true, isFull: true, page: 1, limit: 10 }
  const asked = {
    bare: () => bare(url),
    orca: () => orca.readWallet(query, SIGNAL),
    kamino: () => kamino.readWallet({ wallet: toWallet(2), market: undefined }, SIGNAL),
  }
  await Promise.all(Object.values(asked).map((ask) => ask()))
  const taken: Record<keyof typeof asked, number[]> = { bare: [], orca: [], kamino: [] }
  for (let round = 0; round < rounds; round++) {
    pass()
    for (const name of ['bare', 'orca', 'kamino'] as const) taken[name].push(await timed(asked[name]))
  }
  return (['orca', 'kamino'] as const).map((name): Row => {
    const ratios = [0.5, 0.99].map((share) => (at(taken[name], share) / at(taken.bare, share)).toFixed(2))
    return [`${name}: list of a wallet asked before ÷ one bare request, p50 / p99`, ratios.join(' / ')]
  })
}

async function cold({ url, read, what, processes }: ColdRead): Promise<Row> {
  const all: { readonly wallMs: number; readonly turnMs: number; readonly cpuMs: number }[] = []
  for (let index = 0; index < processes; index++) {
    const process = startChild('solana/cold.ts', { BENCH_URL: url, BENCH_READ: read })
    all.push(await process.read())
    await process.stop()
  }
  const least = (name: 'wallMs' | 'turnMs' | 'cpuMs') => Math.min(...all.map((each) => each[name])).toFixed(1)
  const most = Math.max(...all.map(({ turnMs }) => turnMs)).toFixed(1)
  const figures = `${least('turnMs')} to ${most} ms (by the clock ${least('wallMs')}); all of it ${least('cpuMs')} ms`
  return [`${what}, ${processes} cold processes: CPU of the longest turn`, figures]
}

interface ColdRead {
  readonly url: string
  readonly read: 'orca' | 'portfolio' | 'batch'
  readonly what: string
  readonly processes: number
}

async function bare(url: string): Promise<void> {
  const params = [[WALLET], { encoding: 'base64' }]
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getMultipleAccounts', params })
  await (await fetch(url, { method: 'POST', body })).text()
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}

function at(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
