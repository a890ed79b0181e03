import { join } from 'node:path'
import { TOKENS, toWalletAddress, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { BLOCK_AGE_SEC_MAX } from '../../devnet/chain.ts'
import { startDevnet } from '../../devnet/mod.ts'
import { createRpc } from '../../devnet/rpc.ts'
import { temporaryDirectory } from '../../support/database.ts'
import { act, deployEmitter, toWallet as emittersWallet } from '../../support/history/scene.ts'
import type { FarCommand, FarCounts } from '../answers/far.ts'
import { offer, startChild } from '../child.ts'
import type { LoadResult } from '../load.ts'
import { median, printNote, printTable } from '../table.ts'
import type { ListingCommand, ListingCounts, ListingReady } from './listing.ts'

const AWAY_MS = 30
/** Requests that the endpoint works on at a time; the rest wait there. */
const SLOTS = 32
/** With few blocks on the chain, short ranges keep a scan busy. */
const LOGS_CAP = 4
const BLOCKS = 300
/** Callers at a time: well below what the endpoint works on, and all of it. */
const CALLERS = [8, 32] as const
const POSITIONS = 5
/** Before each burst, so that a scan has begun, or one that was given up has ended. */
const SETTLE_MS = 1_500

interface Burst extends LoadResult {
  /** Requests of scans that were of use meanwhile. */
  readonly requests: number
}

/** How much slower a wallet's list is while histories are read through the same endpoint. */
export async function printBeside({
  quick,
  databaseUrl,
}: {
  readonly quick: boolean
  readonly databaseUrl: string
}): Promise<void> {
  const devnet = await startDevnet()
  const wallet = toWalletAddress('bench beside a scan')
  await devnet.mintMany(wallet, POSITIONS)
  const rpc = createRpc(devnet.rpcUrl)
  await deployEmitter(rpc)
  for (let block = 0; block < BLOCKS; block++) await act(rpc, [{ wallet: emittersWallet(block % 20), amount: 1n }])
  const generator = startChild('load.ts')
  const endpoint = startChild('answers/far.ts', {
    BENCH_TARGET: devnet.rpcUrl,
    BENCH_SLOTS: String(SLOTS),
    BENCH_LOGS_CAP: String(LOGS_CAP),
  })
  const { url } = await endpoint.read<{ url: string }>()
  const service = startChild('history/listing.ts', await environment(url, databaseUrl))
  try {
    const { port, keys } = await service.read<ListingReady>()
    const tell = async (command: ListingCommand): Promise<ListingCounts> => {
      service.write(command)
      return await service.read<ListingCounts>()
    }
    const job = { port, keys, path: `/v1/positions/uniswap-v3?wallet=${wallet}` }
    // Answers of the node are cached first, because the node itself is not measured.
    await tell({ scan: true })
    await offer(generator, { ...job, connections: 4, durationMs: 3_000 })
    endpoint.write({ delayMs: AWAY_MS } satisfies FarCommand)
    await endpoint.read<FarCounts>()
    const rows: string[][] = []
    for (const connections of CALLERS) {
      const burst = async (scan: boolean): Promise<Burst> => {
        await tell({ scan })
        await offer(generator, { ...job, connections, durationMs: SETTLE_MS })
        const result = await offer(generator, { ...job, connections, durationMs: quick ? 1_000 : 5_000 })
        const { requests } = await tell({ scan: false })
        if (Object.keys(result.statuses).join() !== '200') {
          throw new Error(`Cannot measure the list: ${JSON.stringify(result.statuses)}`)
        }
        return { ...result, requests }
      }
      const pairs: (readonly [Burst, Burst])[] = []
      for (let round = 0; round < (quick ? 1 : 3); round++) pairs.push([await burst(false), await burst(true)] as const)
      const shown = (pick: (pair: (typeof pairs)[number]) => number, digits = 1) =>
        median(pairs.map(pick)).toFixed(digits)
      rows.push([
        ...[String(connections), shown(([without]) => without.p50Ms), shown(([without]) => without.p99Ms)],
        ...[shown(([, during]) => during.p50Ms), shown(([, during]) => during.p99Ms)],
        `${shown(([without, during]) => during.p99Ms / without.p99Ms, 2)} (target 1.25)`,
        shown(([, during]) => (during.requests / (during.elapsedMs + SETTLE_MS)) * 1_000, 0),
      ])
    }
    printTable(
      ['list, callers', 'p50 ms', 'p99 ms', 'p50 ms, scan', 'p99 ms, scan', 'p99 ÷ without', 'scan requests/s'],
      rows,
    )
    printNote(`one endpoint ${AWAY_MS} ms away that works on ${SLOTS} requests at a time; medians`)
  } finally {
    await service.stop()
    await endpoint.stop()
    await generator.stop()
    await devnet.stop()
  }
}

async function environment(url: string, databaseUrl: string): Promise<Readonly<Record<string, string>>> {
  const directory = temporaryDirectory()
  const chainsFile = join(directory, 'chains.json')
  const chain = {
    id: 1,
    name: 'Devnet',
    rpcUrls: [url],
    blockTimeMs: 0,
    maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
    uniswapV3: [{ manager: UNISWAP_V3.manager, factory: UNISWAP_V3.factory }],
    prices: { usdFeeds: Object.fromEntries(Object.values(TOKENS).map(({ address, feed }) => [address, feed])) },
  }
  await Bun.write(chainsFile, JSON.stringify({ chains: [chain] }))
  return {
    DATABASE_URL: databaseUrl,
    DATA_DIR: join(directory, 'data'),
    CHAINS: '1',
    CHAINS_FILE: chainsFile,
    BENCH_JOURNAL: join(directory, 'journal'),
  }
}
