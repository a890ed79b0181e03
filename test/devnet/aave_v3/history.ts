import { type Address, encodeFunctionData, getAddress, type Hex, maxUint256, parseAbi, toHex } from 'viem'
import { BANK, toWalletAddress } from '../addresses.ts'
import { ownCreationCode } from '../artifacts.ts'
import { createRandom, type Random } from '../random.ts'
import type { Rpc } from '../rpc.ts'
import type { Receipt, Send, Transaction } from '../transaction.ts'
import type { AaveV3 } from './aave_v3.ts'
import { ASSETS, type AssetName, MARKETS } from './addresses.ts'
import {
  ALL,
  borrowCall,
  liquidateCall,
  repayCall,
  setPriceCall,
  setUseAsCollateralCall,
  supplyCall,
  transferCall,
  withdrawCall,
} from './calls.ts'
import { link, loadArtifacts } from './compile.ts'
import { deployAll, elementAt, withAddresses } from './deploy.ts'
import { rawUsd } from './scenario.ts'

const ABI = parseAbi([
  'function depositETH(address, address onBehalfOf, uint16 referralCode) payable',
  'function withdrawETH(address, uint256 amount, address to)',
  'function borrowETH(address, uint256 amount, uint16 referralCode)',
  'function repayETH(address, uint256 amount, address onBehalfOf) payable',
  'function approve(address spender, uint256 value)',
  'function approveDelegation(address delegatee, uint256 amount)',
  'function borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode, address onBehalfOf)',
  'function withdraw(address asset, uint256 amount, address to)',
  'function transfer(address to, uint256 value)',
  'function transferFrom(address from, address to, uint256 value)',
  'function repayWithATokens(address asset, uint256 amount, uint256 interestRateMode)',
  'function flashLoan(address receiver, address[] assets, uint256[] amounts, uint256[] modes, address onBehalfOf, bytes params, uint16 referralCode)',
  'function flashLoanSimple(address receiver, address asset, uint256 amount, bytes params, uint16 referralCode)',
  'function setLiquidationProtocolFee(address asset, uint256 fee)',
  'function mintToTreasury(address[] assets)',
  'function setReserveFlashLoaning(address asset, bool enabled)',
  'struct Call { address target; bytes data; }',
  'function run(Call[] calls) payable',
])

const MARKET = 'main'
const POOL = MARKETS[MARKET].pool
const WALLETS = 5
const TRADED = ['weth', 'usdc', 'dai', 'wbtc'] as const satisfies readonly AssetName[]
const DAY_SEC = 86_400
const VARIABLE = 2n
const ETHER_WEI = 10n ** 18n

/** What wallets did in the market `main`. */
export interface AaveHistory {
  readonly wallets: readonly Address[]
  /** The real `WrappedTokenGatewayV3`, and a contract that acts for several wallets in one transaction. */
  readonly gateway: Address
  readonly actor: Address
  /** Whose supply the withdrawals of a transaction were, in the order of its logs, if not the supply of who withdrew. */
  readonly owners: ReadonlyMap<Hex, readonly Address[]>
  readonly fromBlock: number
  readonly toBlock: number
}

interface Tools {
  readonly rpc: Rpc
  readonly send: Send
  readonly aave: AaveV3
}

interface Scene extends Tools {
  readonly random: Random
  readonly wallets: readonly Address[]
  readonly gateway: Address
  readonly actor: Address
  readonly owners: Map<Hex, readonly Address[]>
}

/**
 * Lets wallets of their own use the market `main` in every way that makes or hides an event: directly, through the
 * gateway, through a contract, for each other, with flash loans, and in liquidations. `steps` of it are at random.
 */
export async function aaveHistory(
  tools: Tools,
  { seed, steps }: { readonly seed: number; readonly steps: number },
): Promise<AaveHistory> {
  const { rpc, send, aave } = tools
  const { WrappedTokenGatewayV3 } = await loadArtifacts()
  const gatewayCode = withAddresses(link(WrappedTokenGatewayV3), ASSETS.weth.address, BANK, POOL)
  const contracts = await deployAll(send, [gatewayCode, ownCreationCode('Actor')])
  const wallets = Array.from({ length: WALLETS }, (_, index) => toWalletAddress(`aave history ${seed} ${index}`))
  await rpc.batch(
    wallets.map((wallet) => ({ method: 'anvil_setBalance', params: [wallet, toHex(1_000n * ETHER_WEI)] })),
  )
  const fromBlock = Number(await aave.blockNumber()) + 1
  const scene: Scene = {
    ...tools,
    random: createRandom(seed),
    wallets,
    owners: new Map(),
    gateway: getAddress(elementAt(contracts, 0)),
    actor: getAddress(elementAt(contracts, 1)),
  }
  const lendable = TRADED.map((asset) => call('setReserveFlashLoaning', [ASSETS[asset].address, true]))
  await send(lendable.map((data) => ({ from: BANK, to: MARKETS[MARKET].configurator, data })))
  await send(wallets.flatMap((wallet) => startCalls(scene, wallet)))
  await aave.warp(DAY_SEC)
  for (let step = 0; step < steps; step++) {
    await randomStep(scene)
    if (scene.random.below(4) === 0) await aave.warp(1 + scene.random.below(5 * DAY_SEC))
  }
  const treasury = call('mintToTreasury', [TRADED.map((asset) => ASSETS[asset].address)])
  await send([{ from: BANK, to: POOL, data: treasury }])
  await liquidations(scene, seed)
  const toBlock = Number(await aave.blockNumber())
  const { gateway, actor, owners } = scene
  return { wallets, gateway, actor, owners, fromBlock, toBlock }
}

/** All wallets have tokens, and approve the two contracts. */
function startCalls({ aave, gateway, actor, random }: Scene, wallet: Address): Transaction[] {
  const approvals = TRADED.flatMap((asset) => {
    const { aToken, variableDebtToken } = aave.reserveOf(MARKET, asset)
    const approve = (spender: Address) => call('approve', [spender, maxUint256])
    return [
      { from: wallet, to: aToken, data: approve(gateway) },
      { from: wallet, to: aToken, data: approve(actor) },
      { from: wallet, to: variableDebtToken, data: call('approveDelegation', [gateway, maxUint256]) },
    ]
  })
  const amount = rawUsd('weth', 20_000 + random.below(20_000))
  return [...approvals, supplyCall({ market: MARKET, wallet, asset: 'weth', amount })]
}

/** One thing that a wallet, or two, do at random; nothing if the Pool refuses it now. */
async function randomStep(scene: Scene): Promise<void> {
  const { random, wallets, aave, gateway, actor } = scene
  const wallet = random.pick(wallets)
  const other = random.pick(wallets.filter((each) => each !== wallet))
  const asset = random.pick(TRADED)
  const amount = rawUsd(asset, 1 + random.below(2_000))
  const ether = rawUsd('weth', 1 + random.below(2_000))
  const { address } = ASSETS[asset]
  const { aToken, variableDebtToken } = aave.reserveOf(MARKET, asset)
  const movement = { market: MARKET, wallet, asset, amount } as const
  const pool = (data: Hex, from = wallet): Transaction => ({ from, to: POOL, data })
  switch (random.below(17)) {
    case 0:
    case 1:
      return attempt(scene, [supplyCall(movement)])
    case 2:
      return attempt(scene, [withdrawCall({ ...movement, amount: random.below(3) === 0 ? ALL : amount })])
    case 3:
    case 4:
      return attempt(scene, [borrowCall(movement)])
    case 5:
      return attempt(scene, [repayCall(movement)])
    case 6:
      return attempt(scene, [transferCall({ token: aToken, from: wallet, to: other, amount })])
    case 7:
      return attempt(scene, [{ from: wallet, to: gateway, data: call('depositETH', [POOL, other, 0]), value: ether }])
    case 8: {
      const data = call('withdrawETH', [POOL, random.below(4) === 0 ? maxUint256 : ether, other])
      return attempt(scene, [{ from: wallet, to: gateway, data }], [wallet])
    }
    case 9:
      return attempt(scene, [{ from: wallet, to: gateway, data: call('borrowETH', [POOL, ether, 0]) }])
    case 10: {
      const data = call('repayETH', [POOL, ether, other])
      return attempt(scene, [{ from: wallet, to: gateway, data, value: ether }])
    }
    case 11:
      return attempt(scene, [pool(call('repayWithATokens', [address, amount, VARIABLE]))])
    case 12:
      return attempt(scene, [
        { from: wallet, to: variableDebtToken, data: call('approveDelegation', [other, maxUint256]) },
        pool(call('borrow', [address, amount, VARIABLE, 0, wallet]), other),
      ])
    case 13:
    case 14:
      return attempt(scene, [twoWallets(scene, { wallet, other, asset, amount })], [wallet, other])
    case 15: {
      const lists = [[address], [amount], [0n]] as const
      const data = call('flashLoan', [actor, ...lists, wallet, '0x', 0])
      const simple = call('flashLoanSimple', [actor, address, amount, '0x', 0])
      const fund = { from: BANK, to: address, data: call('transfer', [actor, amount]) }
      return attempt(scene, [fund, pool(data), pool(simple)])
    }
    default:
      return attempt(scene, [pool(call('flashLoan', [actor, [address], [amount], [VARIABLE], wallet, '0x', 0]))])
  }
}

/** Takes aTokens of two wallets and withdraws them: one after the other, or both at once. */
function twoWallets(
  { random, actor, aave }: Scene,
  { wallet, other, asset, amount }: { wallet: Address; other: Address; asset: AssetName; amount: bigint },
): Transaction {
  const { address } = ASSETS[asset]
  const { aToken } = aave.reserveOf(MARKET, asset)
  const second = amount / 3n + 1n
  const take = (from: Address, value: bigint) => ({
    target: aToken,
    data: call('transferFrom', [from, actor, value]),
  })
  const withdraw = (to: Address, value: bigint) => ({
    target: POOL,
    data: call('withdraw', [address, value, to]),
  })
  const one = [take(wallet, amount), withdraw(wallet, amount), take(other, second), withdraw(other, second)]
  const crossed = [take(wallet, amount), take(other, second), withdraw(wallet, amount), withdraw(other, second)]
  return { from: BANK, to: actor, data: call('run', [random.below(2) === 0 ? one : crossed]) }
}

/** Sends transactions, each only if it would not revert now. Remembers whose supply the last one withdraws. */
async function attempt(
  { rpc, send, owners }: Scene,
  transactions: readonly Transaction[],
  ownersOfLast?: readonly Address[],
): Promise<void> {
  for (const transaction of transactions) {
    const { from, to, data, value = 0n } = transaction
    try {
      await rpc.call('eth_call', { from, to, data, value: toHex(value), gas: toHex(15_000_000) }, 'latest')
    } catch {
      return
    }
    const [receipt] = (await send([transaction])) as [Receipt]
    if (ownersOfLast !== undefined) owners.set(receipt.transactionHash, ownersOfLast)
  }
}

/**
 * Prices fall, and wallets are liquidated: for the underlying, for aTokens, of the asset that they owe, with debts left
 * that are written off. The protocol takes its fee.
 */
async function liquidations({ send, aave }: Scene, seed: number): Promise<void> {
  const named = (name: string) => toWalletAddress(`aave history ${seed} ${name}`)
  const fee = (asset: AssetName): Transaction => ({
    from: BANK,
    to: MARKETS[MARKET].configurator,
    data: call('setLiquidationProtocolFee', [ASSETS[asset].address, 1_000n]),
  })
  const [partly, forATokens, sameAsset, written] = ['partly', 'for aTokens', 'same asset', 'written off'].map(
    named,
  ) as [Address, Address, Address, Address]
  const supply = (wallet: Address, asset: AssetName, usd: number) =>
    supplyCall({ market: MARKET, wallet, asset, amount: rawUsd(asset, usd) })
  const borrow = (wallet: Address, asset: AssetName, usd: number) =>
    borrowCall({ market: MARKET, wallet, asset, amount: rawUsd(asset, usd) })
  await send([fee('volatile'), fee('breakable'), setPriceCall('volatile', 100_00000000n)])
  await send([
    ...[partly, forATokens, written].map((wallet) => supply(wallet, 'volatile', 10_000)),
    ...[supply(sameAsset, 'volatile', 3_000), supply(sameAsset, 'breakable', 10_000)],
  ])
  await send([setUseAsCollateralCall({ market: MARKET, wallet: sameAsset, asset: 'volatile', on: true })])
  await send([
    ...[borrow(partly, 'usdc', 6_500), borrow(forATokens, 'usdc', 6_500), borrow(sameAsset, 'volatile', 5_000)],
    ...[borrow(written, 'usdc', 4_000), borrow(written, 'dai', 2_000), borrow(written, 'weth', 500)],
  ])
  await aave.warp(DAY_SEC)
  await send([setPriceCall('volatile', 75_00000000n), setPriceCall('breakable', 1_00000000n)])
  const market = MARKET
  const amount = rawUsd('usdc', 2_000)
  await send([
    liquidateCall({ market, wallet: partly, collateral: 'volatile', debt: 'usdc', amount }),
    liquidateCall({ market, wallet: forATokens, collateral: 'volatile', debt: 'usdc', amount, receiveAToken: true }),
    liquidateCall({
      market,
      wallet: sameAsset,
      collateral: 'volatile',
      debt: 'volatile',
      amount: rawUsd('volatile', 1_000),
    }),
  ])
  await send([setPriceCall('volatile', 30_00000000n)])
  await send([liquidateCall({ market, wallet: written, collateral: 'volatile', debt: 'usdc', receiveAToken: true })])
}

function call(functionName: string, args: readonly unknown[]): Hex {
  return encodeFunctionData({ abi: ABI, functionName, args } as Parameters<typeof encodeFunctionData>[0])
}
