import { loadavg } from 'node:os'
import type { Address } from 'viem'
import { LENS_RUNTIME } from '../../src/chain/call/exit/lens_artifact.ts'
import { gasOfCall } from '../contract/family/uniswap_v4/support.ts'
import { TOKENS, toWalletAddress, UNISWAP_V3 } from '../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../devnet/mod.ts'
import { rangeAround } from '../devnet/ticks.ts'
import { UNISWAP_V4 } from '../devnet/uniswap_v4/addresses.ts'
import { liquidityWorth } from '../devnet/uniswap_v4/pools.ts'
import { inWideBlocks } from '../devnet/wide_blocks.ts'
import { type SeenRequest, startFaultyRpc } from '../support/rpc.ts'
import type { FarCommand, FarCounts } from './answers/far.ts'
import { environment, startMetered } from './answers/service.ts'
import { createChildGroup, offer } from './child.ts'
import { cpuUs } from './cpu.ts'
import type { LoadResult } from './load.ts'
import { median, printNote, printTable } from './table.ts'

/** A chain that nothing is built in for. */
const CHAIN_ID = 31_337
const SIZES = [10, 50, 300] as const
const FAMILIES = ['uniswap-v3', 'uniswap-v4'] as const
const AWAY_MS = 50
/** Those who list positions while exits run: as many as wait for their answers, and what comes by itself. */
const LISTING = 8
/** Of what callers who wait for their answers get. */
const SHARE = 0.5
const CONNECTIONS_MAX = 200
/** Those who ask for exits at a time. */
const LEAVING = 2
const BAR = 1.25

interface Target {
  readonly port: number
  readonly keys: readonly string[]
  readonly path: string
}

/** What exits of 10, 50 and 300 positions take, and how long others wait meanwhile. */
export async function benchExit({ quick }: { readonly quick: boolean }): Promise<void> {
  const devnet = await startDevnet({ chainId: CHAIN_ID })
  try {
    const wallets = await mintWallets(devnet)
    printTable(
      ['positions', 'family', 'gas', 'each', 'calls', 'requests', 'ms', 'node alone, ms', 'CPU ms'],
      await measureAlone(devnet, { wallets, quick }),
    )
    printTable(
      ['beside exits of', 'asked for', 'exits/s', 'p99 ms, alone', 'beside', `÷ alone (bar ${BAR})`],
      await measureBeside(devnet, { wallets, quick }),
    )
    const load = loadavg().map((each) => each.toFixed(1))
    printNote(
      `over HTTP, every answer read anew; medians; the node is Anvil beside all else, and in the second table an endpoint ${AWAY_MS} ms away that remembers its answers, with a list of one position for ${LISTING} callers or as many as come by themselves, and ${LEAVING} who leave; load average ${load.join(' ')}`,
    )
  } finally {
    await devnet.stop()
  }
}

type Wallets = readonly {
  readonly family: (typeof FAMILIES)[number]
  readonly size: number
  readonly wallet: Address
}[]

async function mintWallets(devnet: Devnet): Promise<Wallets> {
  const v4 = await devnet.uniswapV4()
  const wallets = SIZES.flatMap((size) =>
    FAMILIES.map((family) => ({ family, size, wallet: toWalletAddress(`bench exit ${family} ${size}`) })),
  )
  for (const { family, size, wallet } of wallets) {
    if (family === 'uniswap-v3') {
      await devnet.mintMany(wallet, size)
      continue
    }
    const pools = [v4.pools.plain, v4.pools.native, v4.pools.dynamicFee, v4.pools.protocolFee]
    const requests = Array.from({ length: size }, (_, index) => {
      const pool = pools[index % pools.length] ?? v4.pools.plain
      const range = rangeAround(pool, -600 - 10 * (index % 90), 900)
      return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 100 + index }), recipient: wallet }
    })
    await inWideBlocks(v4.rpc, () => v4.mintMany(requests))
  }
  return wallets
}

function createEnvironment(url: string): Promise<Readonly<Record<string, string>>> {
  const { positionManager, poolManager } = UNISWAP_V4
  const usdFeeds = Object.fromEntries(Object.values(TOKENS).map(({ address, feed }) => [address, feed]))
  const row = {
    blockTimeMs: 0,
    finality: { depth: 0 },
    aaveV3: undefined,
    morphoBlue: undefined,
    uniswapV4: { positionManager, poolManager, startBlock: 0 },
    prices: { usdFeeds, wrappedNative: TOKENS.weth.address, uniswapV3Factory: UNISWAP_V3.factory },
  }
  return environment({ url, chainId: CHAIN_ID, row })
}

const toExitPath = (wallet: Address) => `/v1/portfolio/exit?wallet=${wallet}&chain_id=${CHAIN_ID}`

/** Runs the executor, with the code of it at a wallet too. */
const isExit = ({ method, params }: SeenRequest) =>
  method === 'eth_call' && JSON.stringify(params[2] ?? '').split(LENS_RUNTIME.slice(2)).length > 2

async function measureAlone(
  devnet: Devnet,
  { wallets, quick }: { readonly wallets: Wallets; readonly quick: boolean },
): Promise<string[][]> {
  const rpc = await startFaultyRpc(devnet.rpcUrl)
  const service = await startMetered(await createEnvironment(rpc.url))
  const ask = async (wallet: Address) => {
    const startedMs = performance.now()
    const headers = { authorization: `Bearer ${service.apiKey}` }
    const response = await fetch(`${service.url}${toExitPath(wallet)}`, { headers })
    const { data } = (await response.json()) as { readonly data?: { readonly rows: readonly object[] } }
    if (data === undefined) throw new Error(`Cannot measure an exit: ${response.status}`)
    return { tookMs: performance.now() - startedMs, rows: data.rows as readonly { blocked_by: string | null }[] }
  }
  const rows: string[][] = []
  try {
    for (const { wallet, size, family } of wallets) {
      // What the service and the node have compiled, and what it learns of a wallet once.
      for (let round = 0; round < (quick ? 1 : 5); round++) await ask(wallet)
      rpc.reset()
      const { rows: told } = await ask(wallet)
      if (told.some(({ blocked_by }) => blocked_by !== null)) throw new Error('Cannot measure what does not arrive')
      const [requests, calls] = [rpc.seen.length, rpc.seen.filter(isExit)]
      const gas = await Promise.all(calls.map((call) => gasOfCall(devnet, call)))
      const sum = gas.reduce((all, each) => all + each, 0)
      const [took, alone]: [number[], number[]] = [[], []]
      const before = cpuUs([service.pid]) ?? Number.NaN
      const rounds = quick ? 2 : 12
      for (let round = 0; round < rounds; round++) took.push((await ask(wallet)).tookMs)
      const used = (cpuUs([service.pid]) ?? Number.NaN) - before
      for (let round = 0; round < rounds; round++) {
        const startedMs = performance.now()
        for (const { method, params } of calls) await devnet.rpc.call(method, ...params)
        alone.push(performance.now() - startedMs)
      }
      rows.push([
        ...[String(size), family, sum.toLocaleString('en'), Math.round(sum / size).toLocaleString('en')],
        ...[String(calls.length), String(requests), median(took).toFixed(0), median(alone).toFixed(0)],
        (used / rounds / 1_000).toFixed(1),
      ])
    }
    return rows
  } finally {
    await service.stop()
    await rpc.stop()
  }
}

async function measureBeside(
  devnet: Devnet,
  { wallets, quick }: { readonly wallets: Wallets; readonly quick: boolean },
): Promise<string[][]> {
  const children = createChildGroup()
  const lister = toWalletAddress('bench exit lists')
  await devnet.mintMany(lister, 1)
  const far = children.start('answers/far.ts', { BENCH_TARGET: devnet.rpcUrl })
  const [generator, leaver] = [children.start('load.ts'), children.start('load.ts')]
  try {
    const { url } = await far.read<{ url: string }>()
    const service = await startMetered(await createEnvironment(url))
    const target = (path: string): Target => ({ port: Number(new URL(service.url).port), keys: [service.apiKey], path })
    const list = target(`/v1/positions/uniswap-v3?wallet=${lister}&chain_id=${CHAIN_ID}`)
    const durationMs = quick ? 1_000 : 4_000
    const check = (result: LoadResult): LoadResult => {
      const { statuses, broken } = result
      if (Object.keys(statuses).join() !== '200' || broken > 0)
        throw new Error(`Cannot measure: ${JSON.stringify(statuses)}`)
      return result
    }
    try {
      for (const { wallet } of wallets)
        await offer(leaver, { ...target(toExitPath(wallet)), connections: 1, durationMs: 1_500 })
      await offer(generator, { ...list, connections: LISTING, durationMs: 2_000 })
      far.write({ delayMs: AWAY_MS } satisfies FarCommand)
      await far.read<FarCounts>()
      const { answers, elapsedMs } = check(
        await offer(generator, { ...list, connections: CONNECTIONS_MAX / 2, durationMs }),
      )
      const perSecond = SHARE * ((answers / elapsedMs) * 1_000)
      const loads = [
        { name: `${LISTING} callers`, load: { connections: LISTING } },
        { name: `${perSecond.toFixed(0)} a second`, load: { connections: CONNECTIONS_MAX, perSecond } },
      ]
      const rows: string[][] = []
      for (const size of SIZES) {
        const [first, ...others] = wallets
          .filter((each) => each.size === size)
          .map(({ wallet }) => target(toExitPath(wallet)))
        if (first === undefined) continue
        for (const { name, load } of loads) {
          const [alone, beside, exits]: [number[], number[], number[]] = [[], [], []]
          for (let round = 0; round < (quick ? 2 : 7); round++) {
            alone.push(check(await offer(generator, { ...list, ...load, durationMs })).p99Ms)
            const [listed, left] = await Promise.all([
              offer(generator, { ...list, ...load, durationMs }),
              offer(leaver, { ...first, others, connections: LEAVING, durationMs }),
            ])
            beside.push(check(listed).p99Ms)
            exits.push((check(left).answers / left.elapsedMs) * 1_000)
          }
          const ratio = median(beside.map((each, round) => each / (alone[round] ?? Number.NaN)))
          rows.push([
            ...[`${size} positions`, name, median(exits).toFixed(1)],
            ...[
              median(alone).toFixed(1),
              median(beside).toFixed(1),
              `${ratio.toFixed(2)} ${ratio <= BAR ? 'met' : 'missed'}`,
            ],
          ])
        }
      }
      return rows
    } finally {
      await service.stop()
    }
  } finally {
    await children.stop()
  }
}
