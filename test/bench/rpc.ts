import type { LensMode } from '../../src/chain/call/lens.ts'
import { createChainClient } from '../../src/chain/evm/evm_client.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { toWalletAddress } from '../devnet/addresses.ts'
import { createDevnetChain } from '../devnet/chain.ts'
import { startDevnet } from '../devnet/mod.ts'
import { createTestReader, patient } from '../support/family/uniswap_v3/support.ts'
import { startFaultyRpc } from '../support/rpc.ts'
import { median, printNote, printTable } from './table.ts'

/** What an endpoint across a continent takes. */
const UPSTREAM_MS = 50
const SIZES = [50, 300] as const
/** Ways of reading a wallet, and the most round trips in a row that each may take for any of the sizes. */
const WAYS: readonly { readonly name: LensMode; readonly depthMax: number }[] = [
  { name: 'override', depthMax: 1 },
  { name: 'deployless', depthMax: 3 },
]

/** Counts what a wallet's whole list costs the endpoint, by each way of reading; false if it is too much. */
export async function benchRpc(options: { readonly quick: boolean }): Promise<boolean> {
  const devnet = await startDevnet()
  try {
    const rpc = await startFaultyRpc(devnet.rpcUrl)
    rpc.rule(() => ({ kind: 'delay', ms: UPSTREAM_MS }))
    const rows: string[][] = []
    let held = true
    for (const size of SIZES) {
      const wallet = toWalletAddress(`bench of ${size}`)
      await devnet.mintMany(wallet, size)
      for (const { name, depthMax } of WAYS) {
        const chain = createDevnetChain(devnet, { rpcUrls: [rpc.url] })
        const client = createChainClient({ chain, clock: systemClock, log: silentLog })
        const { reader, targets: places } = createTestReader(client, { mode: name })
        const read = () => reader.readWallet(wallet, { targets: places, work: patient })
        const found = (await read()).flatMap(({ positions }) => positions).length
        const tookMs: number[] = []
        for (let round = 0; round < (options.quick ? 1 : 5); round += 1) {
          rpc.reset()
          const startedMs = performance.now()
          await read()
          tookMs.push(performance.now() - startedMs)
        }
        client.close()
        const depth = rpc.depth()
        held &&= depth <= depthMax && found === size
        rows.push([
          ...[String(size), name, String(found), String(rpc.seen.length), String(depth)],
          ...[`${depthMax} ${depth <= depthMax ? 'met' : 'MISSED'}`, median(tookMs).toFixed(0)],
        ])
      }
    }
    await rpc.stop()
    printTable(['positions', 'way', 'read', 'requests', 'depth', 'target', `ms at ${UPSTREAM_MS} ms`], rows)
    printNote(
      'depth: round trips that had to wait for one another; the first read of an endpoint also asks its chain id',
    )
    return held
  } finally {
    await devnet.stop()
  }
}
