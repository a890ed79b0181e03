import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { toWalletAddress } from '../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { DEMO_V4_POOLS, mintEach, tradePools } from '../../devnet/uniswap_v4/mint_each.ts'
import { SLOT, scene, WALLET } from '../../support/kamino_scene.ts'
import { orcaScene } from '../../support/orca_scene.ts'
import { startSolanaDouble } from '../../support/solana.ts'
import { walletScene } from '../../support/wallet_scene.ts'
import type { LoadRequest } from '../load.ts'

/** A question of a kind; the same kind may ask for something else each time. */
type Ask = (time: number) => Pick<LoadRequest, 'path' | 'body' | 'headers'>

/** A chain on which blocks come, what stands in for Solana, and what is asked about both. */
export interface SoakWorld {
  readonly rpcUrl: string
  readonly solanaUrl: string
  readonly kinds: Readonly<Record<string, Ask>>
  /** Mines a block with trades; no position changes. */
  trade(): Promise<void>
  stop(): Promise<void>
}

/** Time that passes while Morpho's wallets are made, and some to spare. */
const MORPHO_SEC = 3 * 86_400
const SLOT_MS = 400
const TRADED = 10n ** 15n

/** Builds every protocol; takes a minute. */
export async function startSoakWorld(): Promise<SoakWorld> {
  const devnet = await startDevnet({ ageSec: SCENARIO_SEC + MORPHO_SEC })
  const solana = startSolanaDouble({
    accounts: (slot) => ({ ...scene({}, { slot }), ...orcaScene(), ...walletScene() }),
    slot: SLOT,
    slotMs: SLOT_MS,
  })
  const stop = async () => {
    await solana.stop()
    await devnet.stop()
  }
  try {
    const kinds = await buildKinds(devnet)
    const pool = devnet.pools.usdcWeth500
    let trades = 0
    return {
      rpcUrl: devnet.rpcUrl,
      solanaUrl: solana.url,
      kinds,
      trade: async () => {
        // It remembers each call.
        solana.seen.length = 0
        await devnet.v3.swap({ pool, tokenIn: trades++ % 2 === 0 ? pool.token0 : pool.token1, amountIn: TRADED })
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function buildKinds(devnet: Devnet): Promise<SoakWorld['kinds']> {
  const morpho = await devnet.morpho()
  const aave = await devnet.aave()
  const v4 = await devnet.uniswapV4()
  const { provider, single } = devnet.wallets
  await mintEach(v4, { names: DEMO_V4_POOLS, owner: provider })
  await tradePools(v4, DEMO_V4_POOLS)
  const { everywhere, borrower, supplier } = aave.wallets
  const v3 = '/v1/positions/uniswap-v3'
  const market = '/v1/lending/aave-v3/position/1'
  const call = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'list_liquidity_positions', arguments: { protocol: 'uniswap-v3', wallet: single } },
  }
  return {
    'V3 in full': () => ({ path: `${v3}?wallet=${provider}&full=true` }),
    'V3, never asked before': (time) => ({ path: `${v3}?wallet=${toWalletAddress(`soaked ${time}`)}` }),
    'V3 pnl, events': (time) => ({ path: `${v3}/${devnet.positions.collectedOnce}/${pick(time, ['pnl', 'events'])}` }),
    'V4 in full': () => ({ path: `/v1/positions/uniswap-v4?wallet=${provider}&full=true` }),
    'Orca in full': () => ({ path: `/v1/positions/orca-whirlpool?wallet=${WALLET}&full=true` }),
    Kamino: () => ({ path: `/v1/lending/kamino?wallet=${WALLET}` }),
    'Aave, receipts': (time) => ({
      path: `/v1/lending/aave-v3?wallet=${everywhere}${pick(time, ['', '&receipt=true'])}`,
    }),
    'Aave batch': () => ({
      path: '/v1/lending/aave-v3/batch',
      body: JSON.stringify({ wallets: Object.values(aave.wallets) }),
    }),
    'Aave events, snapshots': (time) => ({
      path: `${market}/${pick(time, ['events', 'snapshots'])}?wallet=${pick(time >> 1, [borrower, supplier])}`,
    }),
    'Morpho yield': () => ({
      path: `/v1/lending/morpho-blue/position/1/yield?wallet=${morpho.wallets.borrower}&market_id=${morpho.markets.wethUsdc.id}`,
    }),
    'portfolio: balance, assets, exit': (time) => {
      const wallet = pick(time >> 2, [everywhere, provider, WALLET])
      const chain = wallet === WALLET ? 101 : 1
      return { path: `/v1/portfolio/${pick(time, ['balance', 'assets', 'exit'])}?wallet=${wallet}&chain_id=${chain}` }
    },
    'usage logs, MCP': (time) =>
      pick(time, [
        { path: '/v1/usage/logs?limit=25' },
        { path: '/mcp', body: JSON.stringify(call), headers: ['Accept: application/json, text/event-stream'] },
      ]),
  }
}

function pick<T>(time: number, choices: readonly [T, ...T[]]): T {
  return choices[time % choices.length] ?? choices[0]
}
