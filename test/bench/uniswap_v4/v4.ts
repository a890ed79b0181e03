import { loadavg } from 'node:os'
import { type Address, type Hex, toHex } from 'viem'
import { createChainClient } from '../../../src/chain/evm/evm_client.ts'
import { createOwnedFinder } from '../../../src/family/uniswap_v4/read/owned/mod.ts'
import { createHistory } from '../../../src/history/mod.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createTestReader, DEPLOYMENT, gasOfCall } from '../../contract/family/uniswap_v4/support.ts'
import { toWalletAddress } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import type { UniswapV4 } from '../../devnet/uniswap_v4/mod.ts'
import { liquidityWorth } from '../../devnet/uniswap_v4/pools.ts'
import { inWideBlocks } from '../../devnet/wide_blocks.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { createTestReader as v3ReaderOf } from '../../support/family/uniswap_v3/support.ts'
import { capped } from '../../support/history/simulation/capped.ts'
import { CAP_DIALECTS } from '../../support/history/simulation/endpoint.ts'
import { type Fault, type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../support/rpc.ts'
import type { FarCommand, FarCounts } from '../answers/far.ts'
import { startChild } from '../child.ts'
import { median, printNote, printTable } from '../table.ts'
import { benchLife } from './life.ts'
import { benchServed } from './served.ts'

const AWAY_MS = 50
const MANY = 300
const CALLERS = 100
/** A reading takes a millisecond of CPU once it is compiled, and twice as much in one turn as in another. */
const CPU_WARM_ROUNDS = 100
const CPU_TURNS = 40
const CPU_ROUNDS = 10
const PAGE = 25
const IDS = 160_000
const GAS_CAPS = [10_000_000, 50_000_000, 550_000_000] as const
/** A node keeps the state of each block: caps and blocks are a hundredth of 200,000, 1,000 and 10,000. */
const BLOCKS = 2_000
const LOG_CAPS = [10, 100, undefined] as const
/** A final block behind the newest, as on Ethereum. */
const DEPTH = 64
const NEXT_ID_SLOT = '0x8'
const BLOCK_GAS = 60_000_000
const SETTLE_MS = 1_000
/** As long before the newest block as Ethereum's first position, so that logs would take 560 requests. */
const OLD_START = -2_800_000
const patient = createWork(new AbortController().signal)

interface Bench {
  readonly devnet: Devnet
  readonly v4: UniswapV4
  readonly faulty: FaultyRpc
  readonly quick: boolean
}

type Rows = (readonly [what: string, measured: string, goal: string])[]

/** What a wallet's positions in Uniswap V4 take, against the goals that were set for them. */
export async function benchUniswapV4({ quick }: { readonly quick: boolean }): Promise<void> {
  const devnet = await startDevnet({ ageSec: 86_400 })
  try {
    const faulty = await startFaultyRpc(devnet.rpcUrl)
    const bench: Bench = { devnet, v4: await devnet.uniswapV4(), faulty, quick }
    // The final block is then one where the managers stand, and not the chain's first, before which there is none.
    await devnet.rpc.call('anvil_mine', toHex(DEPTH))
    printTable(['Uniswap V4', 'measured', 'goal'], [...(await known(bench)), ...(await withdrawals(bench))])
    await benchLife(devnet, { faulty, awayMs: AWAY_MS })
    await benchServed(devnet, { quick, awayMs: AWAY_MS, mint: (wallet, count) => mintMany(bench, wallet, count) })
    printTable(['first contact', 'requests', 'depth', 's', 'goal'], await firstContact(bench))
    printNote(
      `read by the family's reader, without HTTP; endpoint ${AWAY_MS} ms away; ${BASE}; load average ${loadavg()
        .map((load) => load.toFixed(1))
        .join(' ')}`,
    )
    await faulty.stop()
  } finally {
    await devnet.stop()
  }
}

/**
 * 2,731,162 ids seen in public, 22,000 ids a call at 50 million gas and 242,000 at 550 million, four calls at a time; logs
 * from block 25,350,988 to about 38,500,000, 10,000 a request, each block read twice.
 */
const BASE =
  'Base by arithmetic: 125 calls of 50 million gas, in the background about 2.5 s at 50 ms and 75 ms a call, or 28 calls of 100,000 ids at 550 million, against 2,630 requests for logs'

/** A process of its own: nothing is stored and nothing is known. */
async function fresh({ devnet }: Bench, rpcUrl: string, { reuseMs = 0, startBlock = 0 } = {}) {
  const database: TestDatabase = await testDatabase()
  const chain = createDevnetChain(devnet, { rpcUrls: [rpcUrl], finality: { depth: DEPTH }, reuseMs })
  const client = createChainClient({ chain, clock: systemClock, log: silentLog })
  const { db } = database
  const clients = new Map([[chain.id, client]])
  const history = createHistory({ clients, db, clock: systemClock, log: silentLog, holder: crypto.randomUUID() })
  const find = createOwnedFinder({ history, db, clock: systemClock })
  const { reader, places } = createTestReader(client, {
    find,

    deployment: { ...DEPLOYMENT, startBlock },
  })
  return {
    client,
    reader,
    places,
    read: (wallet: Address) => reader.readWallet(wallet, { targets: places, work: patient }),
    async close() {
      await history.close()
      client.close()
      await database.close()
    },
  }
}

async function mintMany({ v4 }: Bench, wallet: Address, count: number): Promise<bigint[]> {
  const pools = [v4.pools.plain, v4.pools.native, v4.pools.dynamicFee, v4.pools.protocolFee]
  const requests = Array.from({ length: count }, (_, index) => {
    const pool = pools[index % pools.length] ?? v4.pools.plain
    const range = rangeAround(pool, -600 - 10 * (index % 90), 900)
    return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 100 + index }), recipient: wallet }
  })
  return await inWideBlocks(v4.rpc, () => v4.mintMany(requests))
}

async function known(bench: Bench): Promise<Rows> {
  const { devnet, faulty, quick } = bench
  const rounds = quick ? 10 : 60
  const rows: Rows = []
  const wallets = [
    [1, toWalletAddress('v4 bench single')],
    [MANY, toWalletAddress('v4 bench many')],
  ] as const
  for (const [count, wallet] of wallets) await mintMany(bench, wallet, count)
  const v3Wallet = toWalletAddress('v3 bench many')
  await devnet.mintMany(v3Wallet, MANY)

  const process = await fresh(bench, faulty.url)
  for (const [count, wallet] of wallets) {
    await process.read(wallet)
    // What was found is stored in the background.
    await Bun.sleep(SETTLE_MS)
    faulty.reset()
    const [read] = await process.read(wallet)
    if (read?.positions.length !== count) throw new Error(`Cannot measure ${count} positions`)
    rows.push([`requests for a known wallet of ${count}`, String(faulty.seen.length), '1'])
    if (count === 1) continue
    const [call] = faulty.seen
    const gas = await gasOfCall(devnet, call)
    const answer = await devnet.rpc.call<Hex>('eth_call', ...(call?.params ?? []))
    rows.push([`gas a position of ${count}`, (gas / count).toFixed(0), '≤ 26,000'])
    rows.push([`bytes a position of ${count}`, (answer.length / 2 / count).toFixed(0), '≤ 260'])
  }
  await process.close()

  const far = startChild('answers/far.ts', { BENCH_TARGET: devnet.rpcUrl })
  try {
    const { url } = await far.read<{ url: string }>()
    const set = async (delayMs: number) => {
      far.write({ delayMs } satisfies FarCommand)
      return await far.read<FarCounts>()
    }
    const away = await fresh(bench, url)
    for (const [, wallet] of wallets) await away.read(wallet)
    await set(AWAY_MS)
    const rtt = await timed(rounds, () => fetch(url, { method: 'POST', body: HEAD }).then((each) => each.text()))
    rows.push(['round trip of a bare request, p50', `${ms(rtt)} ms`, ''])
    for (const [count, wallet] of wallets) {
      const took = await timed(rounds, () => away.read(wallet))
      const goal = count === 1 ? '' : `≤ ${(median(rtt) + 12).toFixed(1)} ms`
      rows.push([`known wallet of ${count}, p50`, `${ms(took)} ms`, goal])
    }
    const [[, single]] = wallets
    const shared = await fresh(bench, url, { reuseMs: 1 })
    await shared.read(single)
    const crowd: number[] = []
    for (let round = 0; round < rounds / 5; round++) {
      const all = Array.from({ length: CALLERS }, () => timed(1, () => shared.read(single)))
      crowd.push(...(await Promise.all(all)).flat())
    }
    rows.push([
      `${CALLERS} callers at a time, p99`,
      `${percentile(crowd, 0.99).toFixed(1)} ms`,
      `≤ ${(1.25 * median(rtt)).toFixed(1)} ms`,
    ])

    await shared.close()
    await set(0)
    const chain = createDevnetChain(devnet, { rpcUrls: [url] })
    const v3Client = createChainClient({ chain, clock: systemClock, log: silentLog })
    const v3 = v3ReaderOf(v3Client, {})
    const readV3 = () => v3.reader.readWallet(v3Wallet, { targets: v3.targets, work: patient })
    const [, [, many]] = wallets
    const cpu = await measureCpu([readV3, () => away.read(many)])
    const [ofV3 = 1, ofV4 = 1] = cpu
    const ratio = ofV4 / ofV3
    rows.push([
      `CPU of a reading of ${MANY}, V3's and V4's`,
      `${(ofV3 / 1_000).toFixed(1)} and ${(ofV4 / 1_000).toFixed(1)} ms (${ratio.toFixed(2)})`,
      '≤ 1.20',
    ])
    v3Client.close()
    await away.close()
  } finally {
    await far.stop()
  }
  return rows
}

const HEAD = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })

async function withdrawals(bench: Bench): Promise<Rows> {
  const { devnet, v4, faulty } = bench
  const owner = toWalletAddress('v4 bench hooked')
  const pool = v4.pools.feeTaking
  const range = rangeAround(pool, -600, 600)
  const liquidity = liquidityWorth(pool, { ...range, usd: 1_000 })
  await v4.mintMany(Array.from({ length: PAGE }, () => ({ pool, ...range, liquidity, recipient: owner })))
  const process = await fresh(bench, faulty.url)
  const reads = await process.read(owner)
  const positions = reads.flatMap((each) => each.positions).map((each) => each.whole())
  faulty.rule(() => ({ kind: 'delay', ms: AWAY_MS }))
  const full = () => process.reader.readFull(positions, { targets: process.places, reads, work: patient })
  await full()
  faulty.reset()
  const [took = 0] = await timed(1, full)
  // The simulator stands at the owner's address.
  const calls = faulty.seen.filter(({ params }) => owner in Object(params[2]))
  const gas = await gasOfCall(devnet, calls[0])
  faulty.rule(() => undefined)
  await process.close()
  return [
    [`gas of ${PAGE} simulated withdrawals`, gas.toLocaleString('en'), '≤ 6,000,000'],
    [`requests for them beside the list's`, String(calls.length), '0'],
    ['time for them', `${took.toFixed(0)} ms`, ''],
  ]
}

async function firstContact(bench: Bench): Promise<string[][]> {
  const { devnet, faulty } = bench
  const { positionManager } = DEPLOYMENT
  const rows: string[][] = []
  const wallet = toWalletAddress('v4 bench single')
  const blocks = BLOCKS
  await devnet.rpc.call('anvil_mine', `0x${blocks.toString(16)}`)
  const word = IDS.toString(16).padStart(64, '0')
  const stored = await devnet.rpc.call<Hex>('eth_getStorageAt', positionManager, NEXT_ID_SLOT, 'latest')
  const measure = async (
    name: string,
    {
      goal = '',
      startBlock = 0,
      rule = () => undefined,
    }: {
      readonly goal?: string
      readonly startBlock?: number
      readonly rule?: (request: SeenRequest) => Fault | undefined
    },
  ) => {
    const process = await fresh(bench, faulty.url, { startBlock })
    faulty.reset()
    faulty.rule((request) => rule(request) ?? { kind: 'delay', ms: AWAY_MS })
    const startedMs = performance.now()
    const found = await patiently(() => process.read(wallet))
    const tookSec = (performance.now() - startedMs) / 1_000
    const requests = faulty.seen.length
    const depth = faulty.depth()
    faulty.rule(() => undefined)
    await process.close()
    if (found.flatMap(({ positions }) => positions).length !== 1) throw new Error('Cannot find the position')
    rows.push([name, String(requests), String(depth), tookSec.toFixed(2), goal])
  }
  for (const cap of LOG_CAPS) {
    const limit = cap === undefined ? () => undefined : capped(CAP_DIALECTS[0] as (typeof CAP_DIALECTS)[number], cap)
    const name = `logs of ${blocks.toLocaleString('en')} blocks, at most ${cap?.toLocaleString('en') ?? 'any number'} a request`
    const rule = (request: SeenRequest): Fault | undefined =>
      request.method === 'eth_call' && isScan(request) ? { kind: 'no_overrides', how: 'refuse' } : limit(request)
    await measure(name, { rule })
  }
  await devnet.rpc.call('anvil_setStorageAt', positionManager, NEXT_ID_SLOT, `0x${word}`)
  for (const gas of GAS_CAPS) {
    await devnet.rpc.call('evm_setBlockGasLimit', `0x${gas.toString(16)}`)
    await devnet.rpc.call('anvil_mine', '0x1')
    const goal = gas === 50_000_000 ? '≤ 16 requests, ≤ 2 s' : ''
    await measure(`scan of ${IDS.toLocaleString('en')} ids at ${gas / 1_000_000} million gas`, {
      goal,
      startBlock: OLD_START,
    })
  }
  await devnet.rpc.call('evm_setBlockGasLimit', `0x${BLOCK_GAS.toString(16)}`)
  await devnet.rpc.call('anvil_setStorageAt', positionManager, NEXT_ID_SLOT, stored)
  return rows
}

function isScan({ params }: SeenRequest): boolean {
  return JSON.stringify(params[2] ?? {})
    .toLowerCase()
    .includes(DEPLOYMENT.positionManager.toLowerCase())
}

/** Retries as Retry-After demands, until there is an answer. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      if (tries === 200) throw error
      await Bun.sleep(100)
    }
  }
}

async function timed(rounds: number, run: () => Promise<unknown>): Promise<number[]> {
  const took: number[] = []
  for (let round = 0; round < rounds; round++) {
    const startedMs = performance.now()
    await run()
    took.push(performance.now() - startedMs)
  }
  return took
}

/** Microseconds of CPU that each takes, the median of many short turns so that all meet the same machine. */
async function measureCpu(runs: readonly (() => Promise<unknown>)[]): Promise<number[]> {
  const used = runs.map((): number[] => [])
  for (const run of runs) await timed(CPU_WARM_ROUNDS, run)
  for (let turn = 0; turn < CPU_TURNS; turn++) {
    for (const [index, run] of runs.entries()) {
      const before = process.cpuUsage()
      await timed(CPU_ROUNDS, run)
      const { user, system } = process.cpuUsage(before)
      used[index]?.push((user + system) / CPU_ROUNDS)
    }
  }
  return used.map(median)
}

function ms(values: readonly number[]): string {
  return median(values).toFixed(1)
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}
