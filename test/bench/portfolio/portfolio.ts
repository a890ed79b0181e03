import { loadavg } from 'node:os'
import type { Address } from 'viem'
import { encodeSearch } from '../../../src/finance/price/pool/abi.ts'
import { LENS_RUNTIME as POOL_LENS } from '../../../src/finance/price/pool/lens_artifact.ts'
import { getPriceSources } from '../../../src/finance/price/price_sources.ts'
import { LENS_RUNTIME as BALANCE_LENS } from '../../../src/finance/token/balance/lens_artifact.ts'
import { encodeBalances } from '../../../src/finance/token/balance/read_balances.ts'
import { packTokens } from '../../../src/finance/token/list/list.ts'
import { estimateGas, QUOTES } from '../../contract/finance/price/pool/world.ts'
import { balanceCall, createClient, newestBlock, read } from '../../contract/finance/token/balance/world.ts'
import { toWalletAddress, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { MORPHO } from '../../devnet/morpho_blue/calls.ts'
import type { Service } from '../../devnet/service.ts'
import type { FarCommand, FarCounts } from '../answers/far.ts'
import { startMetered } from '../answers/service.ts'
import { type Child, offer, startChild } from '../child.ts'
import { cpuUs } from '../cpu.ts'
import type { LoadResult } from '../load.ts'
import { median, printNote, printTable } from '../table.ts'
import { CHAIN_ID, HELD, LISTED, POSITIONS, type PortfolioScene, portfolioScene } from './scene.ts'

export const AWAY_MS = 50
const CALLERS = 100
const AT_ONCE = 50
const DAYS = 365
/** Those who list positions while snapshots are read. */
const LISTING = 8
/** Longest that the service lets an answer live: everything after the first comes from the same block. */
const SAME_BLOCK_MS = 600_000

export interface Bench {
  readonly scene: PortfolioScene
  readonly quick: boolean
  readonly endpoint: Child
  readonly url: string
  readonly generator: Child
  start(file: string, env: Readonly<Record<string, string>>): Child
  serve(row: object, more?: Readonly<Record<string, string>>): Promise<Service>
}

export type Rows = (readonly [what: string, measured: string, goal: string])[]

/** What a wallet's balance and its snapshots take, against the goals that were set for them. */
export async function benchPortfolio({ quick }: { readonly quick: boolean }): Promise<void> {
  const live = await over({ days: 0, quick }, async (bench) => [
    ...(await answers(bench)),
    ...(await oneByOne(bench)),
    ...(await gas(bench)),
  ])
  printTable(['portfolio', 'measured', 'goal'], live)
  printTable(['snapshots', 'measured', 'goal'], await over({ days: DAYS, quick }, series))
  printNote(
    `a wallet with ${HELD} of ${LISTED.length} listed tokens; in full: with ${POSITIONS} positions and, but for snapshots, Aave too; every answer read anew unless it says otherwise; endpoint ${AWAY_MS} ms away, its answers remembered, if nothing else is said; load average ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
}

export async function over(
  { days, quick, manyCount }: { readonly days: number; readonly quick: boolean; readonly manyCount?: number },
  measure: (bench: Bench) => Promise<Rows>,
): Promise<Rows> {
  const scene = await portfolioScene(days, manyCount)
  const children: Child[] = []
  const services: Service[] = []
  const start: Bench['start'] = (file, env) => {
    const child = startChild(file, env)
    children.push(child)
    return child
  }
  try {
    const endpoint = start('answers/far.ts', { BENCH_TARGET: scene.devnet.rpcUrl })
    const { url } = await endpoint.read<{ url: string }>()
    const serve: Bench['serve'] = async (row, more = {}) => {
      const service = await startMetered({ ...(await scene.env(url, row)), ...more })
      services.push(service)
      return service
    }
    return await measure({ scene, quick, endpoint, url, generator: start('load.ts', {}), start, serve })
  } finally {
    await Promise.all(services.map((service) => service.stop()))
    await Promise.all(children.map((child) => child.stop()))
    await scene.devnet.stop()
  }
}

/** Sets how far away the endpoint is; returns its requests since the previous setting. */
export async function tell({ endpoint }: Bench, delayMs: number): Promise<FarCounts> {
  endpoint.write({ delayMs } satisfies FarCommand)
  return await endpoint.read<FarCounts>()
}

export async function burst(
  { generator }: Bench,
  target: { readonly port: number; readonly keys: readonly string[]; readonly path: string },
  load: { readonly connections: number; readonly durationMs: number },
): Promise<LoadResult> {
  const result = await offer(generator, { ...target, ...load })
  if (Object.keys(result.statuses).join() !== '200' || result.broken > 0)
    throw new Error(`Cannot measure ${target.path}: ${JSON.stringify(result.statuses)}`)
  return result
}

export function createTarget({ url, apiKey }: Service, path: string) {
  return { port: Number(new URL(url).port), keys: [apiKey], path }
}

export const balancePath = (wallet: Address) => `/v1/portfolio/balance?wallet=${wallet}`

async function answers(bench: Bench): Promise<Rows> {
  const { scene, quick, url, start, serve } = bench
  const durationMs = quick ? 500 : 2_000
  const [cold, kept] = [await serve({}), await serve({ blockTimeMs: SAME_BLOCK_MS })]
  const listing = await serve({ morphoBlue: { morpho: MORPHO, startBlock: 0 } })
  const usual = start('answers/usual.ts', { BENCH_RPC: url, BENCH_TOKENS: scene.chain.tokens.addresses.join() })
  const { port } = await usual.read<{ port: number }>()
  const rows: Rows = []
  /** Of a way's process, for one caller at no distance. */
  const measureCpu = async (target: ReturnType<typeof createTarget>, pid: number) => {
    await burst(bench, target, { connections: 1, durationMs: quick ? 300 : 2_000 })
    const before = cpuUs([pid]) ?? Number.NaN
    const { statuses } = await burst(bench, target, { connections: 1, durationMs })
    return ((cpuUs([pid]) ?? Number.NaN) - before) / (statuses['200'] ?? 0)
  }
  const { tokens, full, pooled } = scene.wallets
  for (const [name, wallet, trips, service] of [
    ['tokens', tokens, 1, cold],
    ['in full', full, 1, cold],
    ['in full, a price of a pool', pooled, 2, cold],
    ["in full, Morpho's history", full, 1, listing],
  ] as const) {
    const target = createTarget(service, balancePath(wallet))
    await burst(bench, target, { connections: 1, durationMs })
    await offer(bench.generator, { ...target, connections: CALLERS, durationMs })
    await tell(bench, 0)
    const cpu = await measureCpu(target, service.pid)
    await tell(bench, AWAY_MS)
    const { answers: count, p50Ms } = await burst(bench, target, { connections: 1, durationMs })
    const asked = await tell(bench, AWAY_MS)
    const before = cpuUs([service.pid]) ?? Number.NaN
    const crowd = await offer(bench.generator, { ...target, connections: CALLERS, durationMs })
    const crowdCpu = ((cpuUs([service.pid]) ?? Number.NaN) - before) / countAnswers(crowd)
    const same = createTarget(kept, balancePath(wallet))
    await burst(bench, same, { connections: 1, durationMs: 500 })
    const again = await burst(bench, same, { connections: CALLERS, durationMs })
    await tell(bench, 0)
    // The answer to the last request comes after the time is up.
    const each = (sum: number) => Math.round(sum / (count + 1))
    rows.push(
      [`${name}: requests`, String(each(asked.requests)), `${trips}`],
      [`${name}: kB asked, answered`, `${kb(each(asked.sentBytes))}, ${kb(each(asked.answeredBytes))}`, '120 asked'],
      [`${name}: p50 alone`, `${trips} RTT + ${(p50Ms - trips * AWAY_MS).toFixed(1)} ms`, 'RTT + 20 ms'],
      [
        `${name}: p99, ${CALLERS} callers ÷ RTTs needed`,
        `${(crowd.p99Ms / AWAY_MS / trips).toFixed(2)}${formatRefusals(crowd)}`,
        '1.25',
      ],
      [`${name}: the same within one block, ms`, again.p99Ms.toFixed(1), ''],
      [
        `${name}: CPU, one caller and ${CALLERS}, ms`,
        [cpu, crowdCpu].map((us) => (us / 1_000).toFixed(2)).join(', '),
        '',
      ],
    )
    if (wallet !== tokens) continue
    const usualCpu = await measureCpu({ port, keys: [], path: balancePath(wallet) }, usual.pid)
    rows.push([`${name}: CPU ÷ viem's multicall`, (cpu / usualCpu).toFixed(2), '0.33'])
  }
  return rows
}

/** How many of the answers were refusals, if any. */
function formatRefusals(result: LoadResult): string {
  const all = countAnswers(result)
  const refused = all - (result.statuses['200'] ?? 0)
  return refused === 0 ? '' : `, ${refused} of ${all} refused`
}

function countAnswers({ statuses }: LoadResult): number {
  return Object.values(statuses).reduce((sum, count) => sum + count, 0)
}

export const kb = (bytes: number) => (bytes / 1_000).toFixed(1)

/** The node itself answers, so that both ways have its work to wait for. */
async function oneByOne({ scene, quick }: Bench): Promise<Rows> {
  const { devnet, chain, wallets } = scene
  const client = createClient({ ...chain, rpcUrls: [devnet.rpcUrl] })
  const wallet = wallets.tokens
  const block = await newestBlock(client)
  const [ours, usual]: [number[], number[]] = [[], []]
  for (let round = 0; round < (quick ? 3 : 15); round++) {
    ours.push(await took(() => read(client, { wallet })))
    const left = [undefined, ...chain.tokens.addresses]
    const worker = async () => {
      while (left.length > 0) {
        const { method, params } = balanceCall(wallet, left.pop(), block)
        await devnet.rpc.call(method, ...params)
      }
    }
    usual.push(await took(() => Promise.all(Array.from({ length: AT_ONCE }, worker))))
  }
  const ratio = `${(median(usual) / median(ours)).toFixed(0)} (${median(usual).toFixed(0)} ÷ ${median(ours).toFixed(1)} ms)`
  return [[`one call a token, ${AT_ONCE} at once, at 0 ms ÷ ours`, ratio, '20']]
}

async function gas({ scene }: Bench): Promise<Rows> {
  const { devnet, chain, wallets, pooledToken } = scene
  const prices = getPriceSources(chain)
  const balances = (tokens: readonly Address[]) =>
    estimateGas(devnet, BALANCE_LENS, encodeBalances({ wallet: wallets.tokens, prices }, packTokens(tokens)))
  const subject = { factory: UNISWAP_V3.factory, quotes: QUOTES.map(({ address }) => address), prices }
  const pools = (tokens: readonly Address[]) => estimateGas(devnet, POOL_LENS, encodeSearch(subject, tokens))
  const listed = chain.tokens.addresses
  const aToken = ((await balances(listed)) - (await balances([]))) / listed.length
  const aPrice = (await pools([pooledToken])) - (await pools([]))
  return [
    ['gas a token', aToken.toFixed(0), '7,500'],
    ['gas of a search for pools, 12 candidates', aPrice.toFixed(0), '100,000'],
  ]
}

async function series(bench: Bench): Promise<Rows> {
  const { scene, quick, serve } = bench
  const { tokens, full } = scene.wallets
  const rounds = quick ? 1 : 5
  const toPath = (wallet: Address, round = '') =>
    `/v1/portfolio/snapshots?wallet=${wallet}&chain_id=${CHAIN_ID}&max_snapshots=${DAYS}${round}`
  // With another token in the question nothing is stored yet.
  const others = Array.from({ length: rounds }, (_, index) =>
    toPath(full, `&tokens=${toWalletAddress(`no contract ${index}`)}`),
  )
  // Answers of the archive are cached first, because the node itself is not measured.
  const unlimited = { HISTORY_REQUESTS_PER_SECOND: '0' }
  const first = await serve({}, unlimited)
  for (const path of [toPath(tokens), toPath(full), ...others]) await complete(first, path)
  await first.stop()

  const service = await serve({}, unlimited)
  const rows: Rows = []
  await tell(bench, AWAY_MS)
  for (const [name, wallet] of [
    ['tokens, and midnights', tokens],
    ['in full', full],
  ] as const) {
    const path = toPath(wallet)
    const firstMs = await took(() => complete(service, path))
    const { requests } = await tell(bench, AWAY_MS)
    const { p50Ms } = await burst(bench, createTarget(service, path), { connections: 1, durationMs: 1_000 })
    await tell(bench, AWAY_MS)
    rows.push(
      [`${DAYS} snapshots, ${name}: first time, s`, `${(firstMs / 1_000).toFixed(2)} (${requests} requests)`, '6'],
      [`${DAYS} snapshots, ${name}: after, ms`, p50Ms.toFixed(1), '20'],
    )
  }
  const listing = createTarget(service, `/v1/positions/uniswap-v3?wallet=${scene.devnet.wallets.market}`)
  // A year of snapshots takes longer.
  const load = { connections: LISTING, durationMs: quick ? 1_000 : 4_000 }
  await burst(bench, listing, load)
  const ratios: number[] = []
  for (const path of others) {
    const without = await burst(bench, listing, load)
    const reading = complete(service, path)
    const during = await burst(bench, listing, load)
    await reading
    ratios.push(during.p99Ms / without.p99Ms)
  }
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((each) => each.toFixed(2))
  rows.push([
    `a list of positions, ${LISTING} callers, while snapshots are read: p99 ÷ without, median of ${rounds}`,
    `${median(ratios).toFixed(2)} (${least} to ${most})`,
    '1.25',
  ])
  return rows
}

/** Asks for snapshots until they are all there. */
async function complete({ url, apiKey }: Service, path: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${apiKey}` } })
    const { data } = (await response.json()) as { readonly data?: readonly unknown[] }
    if (response.status === 200 && data?.length === DAYS) return
    if (response.status !== 503)
      throw new Error(`Cannot read snapshots: ${response.status}, ${data?.length} of ${DAYS}`)
    await Bun.sleep(20)
  }
}

async function took(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}
