import { type Address, encodeFunctionData, type Hex, numberToHex } from 'viem'
import { supplyCall } from '../../devnet/aave_v3/calls.ts'
import { rawUsd, SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { BANK, toWalletAddress, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { DEVNET_ROW } from '../../devnet/chain.ts'
import { mintSpamPositions } from '../../devnet/mint_spam.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { increaseLiquidityCall, MANAGER_ABI } from '../../devnet/uniswap_v3_calls.ts'

/** How large things are made. */
export interface Sizes {
  /** Positions with a long life, each of which is new to the service once. */
  readonly lives: number
  readonly flows: number
  readonly positions: number
  readonly spams: number
  readonly wallets: number
  /** Days that pass between what happens on Aave and the rest. */
  readonly days: number
}

/** A chain on which each route has its largest question. */
export interface LargeScene {
  readonly devnet: Devnet
  readonly lives: readonly bigint[]
  readonly holder: Address
  readonly mailed: Address
  readonly lenders: readonly Address[]
  /** Text of a `CHAINS_FILE`: nothing that was read of a block is used again. */
  readonly chainsFile: string
}

const DAY_SEC = 86_400
/** Blocks at once, and more than are not final. */
const BATCH = 200
/** The node takes seconds to answer about the past of thousands of blocks. */
const FLOWS_A_BLOCK = 10

/** Builds it; takes minutes. */
export async function startLargeScene(sizes: Sizes): Promise<LargeScene> {
  const devnet = await startDevnet({ ageSec: SCENARIO_SEC + (sizes.days + 2) * DAY_SEC })
  try {
    await devnet.aave()
    const lenders = Array.from({ length: sizes.wallets }, (_, index) => toWalletAddress(`lender ${index}`))
    for (const asset of ['weth', 'usdc'] as const) {
      const amount = rawUsd(asset, 1_000)
      await devnet.send(lenders.map((wallet) => supplyCall({ market: 'main', wallet, asset, amount })))
    }
    await devnet.rpc.call('evm_increaseTime', sizes.days * DAY_SEC)
    const [holder, mailed] = [toWalletAddress('holder of many'), toWalletAddress('mailed many')]
    await devnet.mintMany(holder, sizes.positions)
    await mintSpamPositions(devnet, { wallet: mailed, pool: devnet.pools.daiWeth10000, count: sizes.spams })
    const lives = await devnet.mintMany(toWalletAddress('long lived'), sizes.lives)
    await increaseAll(devnet, { lives, times: sizes.flows / FLOWS_A_BLOCK })
    await devnet.rpc.call('anvil_mine', numberToHex(BATCH))
    const chain = { ...DEVNET_ROW, blockTimeMs: 0, rpcUrls: [devnet.rpcUrl] }
    return { devnet, lives, holder, mailed, lenders, chainsFile: JSON.stringify({ chains: [chain] }) }
  } catch (error) {
    await devnet.stop()
    throw error
  }
}

/** So many blocks with deposits into each position. */
async function increaseAll(
  { rpc }: Devnet,
  { lives, times }: { readonly lives: readonly bigint[]; readonly times: number },
): Promise<void> {
  const each = Array.from({ length: FLOWS_A_BLOCK }, () => lives).flat()
  const calls = each.map((tokenId) => increaseLiquidityCall({ tokenId, amount0: 10n ** 9n, amount1: 10n ** 15n }).data)
  const data: Hex = encodeFunctionData({ abi: MANAGER_ABI, functionName: 'multicall', args: [calls] })
  const transaction = { from: BANK, to: UNISWAP_V3.manager, data, gas: '0xe4e1c0', gasPrice: '0x0' }
  const first = Number(await rpc.call('eth_getTransactionCount', BANK, 'pending'))
  for (let done = 0; done < times; done += BATCH) {
    const transactions = Array.from({ length: Math.min(times - done, BATCH) }, (_, index) => ({
      method: 'eth_sendTransaction',
      params: [{ ...transaction, nonce: numberToHex(first + done + index) }],
    }))
    await rpc.batch(transactions)
  }
}
