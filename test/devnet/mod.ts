import type { Address } from 'viem'
import { type AaveDevnet, addAaveV3 } from './aave_v3/mod.ts'
import { type AaveV4Devnet, addAaveV4, placeAaveV4 } from './aave_v4/mod.ts'
import { MULTICALL3, TOKENS, UNISWAP_V3, WALLETS } from './addresses.ts'
import { type AnvilOptions, startAnvil } from './anvil.ts'
import { createDevnetClient, type DevnetClient } from './client.ts'
import { addCompoundV3, type COMET_WALLETS, placeCompoundV3 } from './compound_v3/mod.ts'
import { placeContracts, setFeedCall } from './contracts.ts'
import { addHostileTokens, type HostileScenario } from './hostile.ts'
import { mintMany } from './mint_many.ts'
import { buildMorpho, type MorphoDevnet } from './morpho_blue/mod.ts'
import { placeMidnight } from './morpho_midnight/mod.ts'
import { type RandomScenario, randomScenario } from './random.ts'
import { createRpc, type Rpc } from './rpc.ts'
import { buildScenario, type Scenario } from './scenario.ts'
import { createSend, type Send } from './transaction.ts'
import { createUniswapV3, type UniswapV3 } from './uniswap_v3.ts'
import { addUniswapV4, type UniswapV4 } from './uniswap_v4/mod.ts'
import { placeUniswapV4 } from './uniswap_v4/place.ts'
import { addVaults, type VAULT_WALLET } from './vaults/mod.ts'

const CHAIN_ID_DEFAULT = 1

/** A local Ethereum with real contracts at their mainnet addresses and wallets that hold positions. */
export interface Devnet extends Scenario {
  readonly chainId: number
  readonly rpcUrl: string
  readonly client: DevnetClient
  readonly rpc: Rpc
  readonly send: Send
  readonly v3: UniswapV3
  readonly addresses: {
    readonly uniswapV3: typeof UNISWAP_V3
    readonly multicall3: Address
    readonly tokens: typeof TOKENS
  }
  readonly wallets: typeof WALLETS
  /** Mints a wallet `count` more positions, in and out of range; returns their ids. */
  mintMany(wallet: Address, count: number): Promise<bigint[]>
  /** `count` random positions with a random past, in pools that the named positions are not in. */
  randomScenario(seed: number, count: number): Promise<RandomScenario>
  /** One position per odd token, in a wallet of their own; built once. */
  hostile(): Promise<HostileScenario>
  /** Morpho Blue with its markets and wallets; built once. The first time on a machine it is compiled, six seconds. */
  morpho(): Promise<MorphoDevnet>
  /** Aave V3 with wallets that lend and borrow; built once, moves the chain's time forward by weeks. */
  aave(): Promise<AaveDevnet>
  /** Aave V4 with wallets that lend and borrow, as real contracts answered elsewhere; built once. */
  aaveV4(): Promise<AaveV4Devnet>
  /** A market of Compound V3 with a lender and a borrower, as real contracts answered elsewhere; built once. */
  compoundV3(): Promise<typeof COMET_WALLETS>
  /** A vault in which the wallet has something; built once. The first time on a machine it is compiled, five seconds. */
  vaults(): Promise<typeof VAULT_WALLET>
  /** Pools of every kind in Uniswap V4; built once. */
  uniswapV4(): Promise<UniswapV4>
  /** Makes a feed answer `answer` (8 decimals), last updated at a Unix second; without one it is always fresh. */
  setFeed(feed: Address, round: { readonly answer: bigint; readonly updatedAtSec?: bigint }): Promise<void>
  /** Resolves when the chain's node is gone, for whatever reason. */
  readonly exited: Promise<number>
  stop(): Promise<void>
}

export interface DevnetOptions {
  /** @default 1 */
  readonly chainId?: number
  /** How long ago the chain began, so that building its past ends in the present. @default 0 */
  readonly ageSec?: number
  /** For a chain of a thousand blocks. */
  readonly hardfork?: AnvilOptions['hardfork']
  /** Called with a sentence before each stage. */
  readonly onProgress?: (message: string) => void
}

export async function startDevnet(options: DevnetOptions = {}): Promise<Devnet> {
  const { chainId = CHAIN_ID_DEFAULT, ageSec = 0, hardfork, onProgress = () => undefined } = options
  onProgress('Starting a local Ethereum (anvil)')
  const timestampSec = Math.floor(Date.now() / 1000) - ageSec
  const anvil = await startAnvil({ chainId, ...(ageSec > 0 && { timestampSec }), ...(hardfork && { hardfork }) })
  try {
    const rpc = createRpc(anvil.rpcUrl)
    const send = createSend(rpc)
    const v3 = createUniswapV3({ rpc, send })
    const builder = { rpc, send, v3 }
    onProgress('Placing Uniswap V3, tokens, price feeds and Multicall3 at their mainnet addresses')
    await placeContracts(builder)
    onProgress('Making wallets with positions: pools, mints, swaps, withdrawals')
    const scenario = await buildScenario(builder)
    // Every service over Ethereum asks these.
    await placeUniswapV4(builder)
    await placeAaveV4(rpc)
    await placeMidnight(rpc)
    await placeCompoundV3(rpc)
    let hostile: Promise<HostileScenario> | undefined
    let aave: Promise<AaveDevnet> | undefined
    let aaveV4: Promise<AaveV4Devnet> | undefined
    let compoundV3: Promise<typeof COMET_WALLETS> | undefined
    let morpho: Promise<MorphoDevnet> | undefined
    let uniswapV4: Promise<UniswapV4> | undefined
    let vaults: Promise<typeof VAULT_WALLET> | undefined
    return {
      ...scenario,
      chainId,
      rpcUrl: anvil.rpcUrl,
      rpc,
      send,
      v3,
      wallets: WALLETS,
      client: createDevnetClient({ rpcUrl: anvil.rpcUrl, chainId }),
      addresses: { uniswapV3: UNISWAP_V3, multicall3: MULTICALL3, tokens: TOKENS },
      mintMany: (wallet, count) => mintMany(builder, { scenario, wallet, count }),
      randomScenario: (seed, count) => randomScenario(builder, { seed, count }),
      hostile: () => {
        hostile ??= addHostileTokens(builder)
        return hostile
      },
      morpho: () => {
        morpho ??= buildMorpho(builder)
        return morpho
      },
      aave: () => {
        aave ??= addAaveV3(builder, onProgress)
        return aave
      },
      aaveV4: () => {
        aaveV4 ??= addAaveV4({ rpc, send })
        return aaveV4
      },
      compoundV3: () => {
        compoundV3 ??= addCompoundV3({ rpc, send })
        return compoundV3
      },
      vaults: () => {
        vaults ??= addVaults(builder)
        return vaults
      },
      uniswapV4: () => {
        uniswapV4 ??= addUniswapV4(builder)
        return uniswapV4
      },
      setFeed: async (feed, round) => {
        await send([setFeedCall(feed, round)])
      },
      exited: anvil.exited,
      stop: anvil.stop,
    }
  } catch (error) {
    await anvil.stop()
    throw error
  }
}

let shared: Promise<Devnet> | undefined

/** One devnet per process, started at the first call; it ends with the process, whatever way that ends. */
export function sharedDevnet(): Promise<Devnet> {
  shared ??= startDevnet()
  return shared
}
