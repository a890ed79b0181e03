import { openDatabase } from '../../src/db/connection/pool.ts'
import { parseLogs } from '../../src/history/logs/parse_logs.ts'
import { createHistory } from '../../src/history/mod.ts'
import { createWork } from '../../src/lib/async/work.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { startAnvil } from '../devnet/anvil.ts'
import { createRpc } from '../devnet/rpc.ts'
import { act, createTestClient, deployEmitter, EMITTED, EMITTER, toTarget, toWallet } from '../support/history/scene.ts'
import { forgetHistories } from './forget.ts'
import { printBeside } from './history/beside.ts'
import { printOutlook } from './history/outlook.ts'
import { scanLongChain } from './history/scan.ts'
import { median, printTable } from './table.ts'

const CHAIN_ID = 31_337
const ACTS_A_BLOCK = 10
/** A sparse history under a narrow cap, and the share of requests that must be of use. */
const CAPPED = { chainId: CHAIN_ID, actsPerBlock: 0.1, wallets: 10_000, cap: 2_000, logsMax: 10_000 }
const USEFUL_TARGET = 0.95
/** Three years of Ethereum, for one wallet on an endpoint that takes any range. */
const WIDE = { chainId: CHAIN_ID, blocks: 7_900_000, actsPerBlock: 0.1, wallets: 10_000, cap: 0, logsMax: 10_000 }

/**
 * A scan of the global history on one Anvil chain, with all checks, beside the same ranges fetched and parsed and
 * nothing else; how many of its requests are of use if an endpoint caps ranges; what a wallet's first history takes;
 * what a scan costs those who list positions; and what three years of two chains would take.
 */
export async function benchHistory({
  quick,
  databaseUrl,
}: {
  readonly quick: boolean
  readonly databaseUrl: string
}): Promise<void> {
  const blocks = quick ? 200 : 1_000
  const rounds = quick ? 1 : 5
  const anvil = await startAnvil({ chainId: CHAIN_ID })
  const db = openDatabase({ url: databaseUrl, clock: systemClock, log: silentLog })
  try {
    const rpc = createRpc(anvil.rpcUrl)
    await deployEmitter(rpc)
    for (let block = 1; block <= blocks; block++) {
      const acts = Array.from({ length: ACTS_A_BLOCK }, (_, index) => ({ wallet: toWallet(index), amount: 1n }))
      await act(rpc, acts)
    }
    const scan = async () => {
      await forgetHistories(db)
      const client = createTestClient([anvil.rpcUrl], { chainId: CHAIN_ID })
      const history = createHistory({
        clients: new Map([[CHAIN_ID, client]]),
        db,
        clock: systemClock,
        log: silentLog,
        holder: 'bench',
      })
      const startedMs = performance.now()
      await history.complete({ stream: EMITTED, target: toTarget(CHAIN_ID) }, createWork(new AbortController().signal))
      const ms = performance.now() - startedMs
      await history.close()
      client.close()
      return ms
    }
    const bare = async () => {
      const startedMs = performance.now()
      // Two reads of one range, as the scan makes them.
      await Promise.all(
        [0, 1].map(async () => {
          const logs = await rpc.call('eth_getLogs', {
            address: EMITTER,
            fromBlock: '0x1',
            toBlock: `0x${blocks.toString(16)}`,
          })
          return parseLogs(logs)
        }),
      )
      return performance.now() - startedMs
    }
    const ratios: number[] = []
    const scans: number[] = []
    for (let round = 0; round < rounds; round++) {
      const bareMs = await bare()
      const ms = await scan()
      scans.push(ms)
      ratios.push(bareMs / ms)
    }
    printTable(
      ['history', 'ms', 'logs/s, both reads', 'of bare'],
      [
        [
          `${blocks} blocks × ${2 * ACTS_A_BLOCK} logs`,
          median(scans).toFixed(0),
          ((blocks * 4 * ACTS_A_BLOCK) / (median(scans) / 1_000)).toFixed(0),
          `${median(ratios).toFixed(2)} (target 0.50)`,
        ],
      ],
    )
    const cappedChain = { ...CAPPED, blocks: quick ? 50_000 : 200_000 }
    const capped = await scanLongChain(db, cappedChain)
    const useful = 1 - capped.refused / capped.requests
    const first = await scanLongChain(db, WIDE, 'wallet')
    printTable(
      ['history on a long chain', 'blocks', 'requests', 'of use', 's', 'events'],
      [
        [
          ...[`global, cap of ${CAPPED.cap}`, String(cappedChain.blocks), String(capped.requests)],
          `${(100 * useful).toFixed(1)} % (target ${100 * USEFUL_TARGET})`,
          ...[(capped.ms / 1_000).toFixed(2), String(capped.rows)],
        ],
        [
          ...['one wallet, no cap', String(WIDE.blocks), String(first.requests)],
          `${(100 * (1 - first.refused / first.requests)).toFixed(1)} %`,
          ...[(first.ms / 1_000).toFixed(2), String(first.rows)],
        ],
      ],
    )
    await printBeside({ quick, databaseUrl })
    await printOutlook(db, { quick })
  } finally {
    await db.close()
    await anvil.stop()
  }
}
