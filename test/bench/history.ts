import { openDatabase } from '../../src/db/pool.ts'
import { createHistory } from '../../src/history/history.ts'
import { parseLogs } from '../../src/history/logs/parse_logs.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { startAnvil } from '../devnet/anvil.ts'
import { createRpc } from '../devnet/rpc.ts'
import { act, createTestClient, deployEmitter, EMITTED, EMITTER, placeOf, walletOf } from '../history/scene.ts'
import { capped } from '../history/simulation/capped.ts'
import { startFaultyRpc } from '../support/rpc.ts'
import { median, printTable } from './table.ts'

const CHAIN_ID = 31_337
const ACTS_A_BLOCK = 10
const CAP = 100

/**
 * A scan of everybody's history on one Anvil chain, with all checks, beside the same ranges fetched and parsed and
 * nothing else; and how many of its requests were of use where an endpoint caps ranges.
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
  const proxy = await startFaultyRpc(anvil.rpcUrl)
  const db = openDatabase({ url: databaseUrl, clock: systemClock, log: silentLog })
  try {
    const rpc = createRpc(anvil.rpcUrl)
    await deployEmitter(rpc)
    for (let block = 1; block <= blocks; block++) {
      const acts = Array.from({ length: ACTS_A_BLOCK }, (_, index) => ({ wallet: walletOf(index), amount: 1n }))
      await act(rpc, acts)
    }
    const scan = async (url: string, chainPlace: number) => {
      const client = createTestClient([url], { chainId: CHAIN_ID })
      const outcomes: string[] = []
      const history = createHistory({
        ...{ clients: new Map([[CHAIN_ID, client]]), db, clock: systemClock, log: silentLog, holder: 'bench' },
        recorder: { requested: (_, outcome) => outcomes.push(outcome), stored: () => {}, healed: () => {} },
      })
      const stream = { ...EMITTED, name: `bench_${chainPlace}` }
      const startedMs = performance.now()
      await history.complete({ stream, place: placeOf(CHAIN_ID) }, new AbortController().signal)
      const ms = performance.now() - startedMs
      await history.close()
      client.close()
      return { ms, outcomes }
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
      const { ms } = await scan(anvil.rpcUrl, round)
      scans.push(ms)
      ratios.push(bareMs / ms)
    }
    proxy.rule(
      capped((cap, asked) => ({ status: 200, code: -32602, words: `range ${asked} exceeds limit of ${cap}` }), CAP),
    )
    const { outcomes } = await scan(proxy.url, rounds)
    const useful = outcomes.filter((outcome) => outcome === 'useful').length / outcomes.length
    printTable(
      ['history', 'ms', 'logs/s, both reads', 'of bare', 'useful requests, capped'],
      [
        [
          `${blocks} blocks × ${2 * ACTS_A_BLOCK} logs`,
          median(scans).toFixed(0),
          ((blocks * 4 * ACTS_A_BLOCK) / (median(scans) / 1_000)).toFixed(0),
          `${median(ratios).toFixed(2)} (target 0.50)`,
          `${(100 * useful).toFixed(0)} % of ${outcomes.length}`,
        ],
      ],
    )
  } finally {
    await db.close()
    await proxy.stop()
    await anvil.stop()
  }
}
