import type { Rpc } from '../rpc.ts'
import type { Send } from '../transaction.ts'
import { type AaveV3, createAaveV3 } from './aave_v3.ts'
import { AAVE_WALLETS, type MarketName } from './addresses.ts'
import { loadArtifacts } from './compile.ts'
import { type AaveHistory, aaveHistory } from './history.ts'
import { buildMarkets, type Market } from './market.ts'
import { type RandomAaveWallets, randomWallets } from './random.ts'
import { type AaveActivity, runRandomActivity } from './random_activity/mod.ts'
import type { RandomMarket } from './random_activity/scene.ts'
import { createReleaseV3_0 } from './release_v3_0.ts'
import { createReleaseV3_6 } from './release_v3_6.ts'
import { buildAaveScenario } from './scenario.ts'
import { placeTokens } from './tokens.ts'

const V3_6 = ['main', 'lido', 'etherfi'] as const satisfies readonly MarketName[]

/** Aave V3 on a devnet: three markets of 3.6 at Ethereum's addresses, one of 3.0, and wallets with a past in them. */
export interface AaveDevnet extends AaveV3 {
  readonly wallets: typeof AAVE_WALLETS
  /**
   * `count` wallets with a random past in the three markets of 3.6; the same seed on a fresh devnet gives the same. Throws
   * if the devnet has the wallets of this seed already: their past would be another one.
   */
  randomWallets(seed: number, count: number): Promise<RandomAaveWallets>
  /** What wallets did in `main` in every way there is, `steps` of it at random. */
  history(seed: number, steps: number): Promise<AaveHistory>
  /** Lets a market of 3.6, or the one of 3.0, live through everything that moves an index or a balance. */
  life(market: RandomMarket, options: { readonly seed: number; readonly steps: number }): Promise<AaveActivity>
}

/** Builds Aave V3 and its wallets on a running devnet; `onProgress` hears a sentence before each stage. */
export async function addAaveV3(
  tools: { readonly rpc: Rpc; readonly send: Send },
  onProgress: (message: string) => void = () => undefined,
): Promise<AaveDevnet> {
  const artifacts = await loadArtifacts(onProgress)
  onProgress("Placing Aave's markets at their mainnet addresses")
  await placeTokens(tools)
  const current = await createReleaseV3_6(tools.send, artifacts)
  const old = await createReleaseV3_0(tools.send)
  const built = [
    ...(await buildMarkets(tools, { release: current, names: V3_6 })),
    ...(await buildMarkets(tools, { release: old, names: ['v3_0'] })),
  ]
  const markets = Object.fromEntries(built.map((market) => [market.market, market])) as Record<MarketName, Market>
  const aave = createAaveV3(tools, markets)
  onProgress('Making wallets that lend and borrow: supplies, loans, eModes, liquidations')
  await buildAaveScenario(tools.send, aave)
  await catchUp(tools.rpc, aave)
  const seeds = new Set<number>()
  return {
    ...aave,
    wallets: AAVE_WALLETS,
    randomWallets: async (seed, count) => {
      if (seeds.has(seed))
        throw new Error(`Cannot make wallets of seed ${seed} twice on one devnet: choose another seed`)
      seeds.add(seed)
      return randomWallets({ ...tools, aave }, { seed, count })
    },
    history: (seed, steps) => aaveHistory({ ...tools, aave }, { seed, steps }),
    life: (market, options) =>
      runRandomActivity({ ...tools, aave, release: market === 'v3_0' ? old : current }, { market, ...options }),
  }
}

/** Brings a chain that began in the past to the present. */
async function catchUp(rpc: Rpc, aave: AaveV3): Promise<void> {
  const { timestamp } = await rpc.call<{ readonly timestamp: string }>('eth_getBlockByNumber', 'latest', false)
  const behindSec = Math.floor(Date.now() / 1000) - Number(timestamp)
  if (behindSec > 0) await aave.warp(behindSec)
}
