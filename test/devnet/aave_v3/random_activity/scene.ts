import { type Address, encodeFunctionData, type Hex, parseAbi, toHex } from 'viem'
import { BANK, toWalletAddress } from '../../addresses.ts'
import type { Random } from '../../random.ts'
import type { Rpc } from '../../rpc.ts'
import type { Send, Transaction } from '../../transaction.ts'
import type { AaveV3 } from '../aave_v3.ts'
import { ASSETS, type AssetName, MARKETS } from '../addresses.ts'
import type { Release } from '../release.ts'
import { rawUsd } from '../scenario.ts'

/** Markets that live at random: one of 3.6, one of 3.0. */
export type RandomMarket = 'etherfi' | 'v3_0'

/** What differs between the two. */
interface LifeSetup {
  readonly traded: readonly AssetName[]
  /** Collateral besides wrapped ether, which is what liquidators take. */
  readonly second: AssetName
  /** Is listed and dropped. */
  readonly passing: AssetName
  readonly treasury: Address
}

export const RANDOM_SETUPS: Readonly<Record<RandomMarket, LifeSetup>> = {
  etherfi: {
    traded: ['weth', 'usdc', 'weeth'],
    second: 'weeth',
    passing: 'usdt',
    treasury: toWalletAddress('aave treasury'),
  },
  v3_0: {
    traded: ['weth', 'usdc', 'dai', 'wbtc'],
    second: 'wbtc',
    passing: 'usdt',
    treasury: toWalletAddress('aave 3.0 treasury'),
  },
}

const ABI = parseAbi([
  'function approve(address spender, uint256 value) returns (bool)',
  'function approveDelegation(address delegatee, uint256 amount)',
  'function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)',
  'function borrow(address asset, uint256 amount, uint256 interestRateMode, uint16 referralCode, address onBehalfOf)',
  'function withdraw(address asset, uint256 amount, address to)',
  'function transfer(address to, uint256 value)',
  'function repayWithATokens(address asset, uint256 amount, uint256 interestRateMode)',
  'function flashLoan(address receiver, address[] assets, uint256[] amounts, uint256[] modes, address onBehalfOf, bytes params, uint16 referralCode)',
  'function flashLoanSimple(address receiver, address asset, uint256 amount, bytes params, uint16 referralCode)',
  'function swapBorrowRateMode(address asset, uint256 interestRateMode)',
  'function rebalanceStableBorrowRate(address asset, address user)',
  'function mintUnbacked(address asset, uint256 amount, address onBehalfOf, uint16 referralCode)',
  'function backUnbacked(address asset, uint256 amount, uint256 fee)',
  'function mintToTreasury(address[] assets)',
  'function eliminateReserveDeficit(address asset, uint256 amount)',
  'function approvePositionManager(address positionManager, bool approve)',
  'function setUserUseReserveAsCollateralOnBehalfOf(address asset, bool useAsCollateral, address onBehalfOf)',
  'function setUserEModeOnBehalfOf(uint8 categoryId, address onBehalfOf)',
  'function multicall(bytes[] data)',
  'function addBridge(address bridge)',
  'function setUnbackedMintCap(address asset, uint256 cap)',
  'function setReserveFlashLoaning(address asset, bool enabled)',
  'function setLiquidationProtocolFee(address asset, uint256 fee)',
  'function setReserveFactor(address asset, uint256 factor)',
  'function setReserveInterestRateStrategyAddress(address asset, address strategy)',
  'function setReserveInterestRateData(address asset, bytes rateData)',
  'function setReserveFreeze(address asset, bool freeze)',
  'function setDebtCeiling(address asset, uint256 ceiling)',
  'function dropReserve(address asset)',
  'function setAssetSources(address[] assets, address[] sources)',
  'function getACLManager() view returns (address)',
  'function setAddress(bytes32 id, address newAddress)',
])

/** Where a life takes place. */
export interface Scene extends LifeSetup {
  readonly rpc: Rpc
  readonly send: Send
  readonly aave: AaveV3
  readonly release: Release
  readonly random: Random
  readonly market: RandomMarket
  readonly wallets: readonly Address[]
  /** Takes flash loans. */
  readonly actor: Address
  /** A new wallet. */
  stranger(): Address
}

/** Something that happens in a market; false if the Pool refuses it now. */
export type Act = (scene: Scene) => Promise<boolean>

/** Call data of what `ABI` lists. */
export function call(functionName: string, args: readonly unknown[]): Hex {
  return encodeFunctionData({ abi: ABI, functionName, args } as Parameters<typeof encodeFunctionData>[0])
}

export function onPool({ market }: Scene, from: Address, functionName: string, args: readonly unknown[]): Transaction {
  return { from, to: MARKETS[market].pool, data: call(functionName, args) }
}

/** Governance acts. */
export function onConfigurator({ market }: Scene, functionName: string, args: readonly unknown[]): Transaction {
  return { from: BANK, to: MARKETS[market].configurator, data: call(functionName, args) }
}

/** Sends transactions one after another, each only if it would not revert now. */
export async function attempt({ rpc, send }: Scene, transactions: readonly Transaction[]): Promise<boolean> {
  for (const transaction of transactions) {
    const { from, to, data, value = 0n } = transaction
    try {
      await rpc.call('eth_call', { from, to, data, value: toHex(value), gas: toHex(15_000_000) }, 'latest')
    } catch {
      return false
    }
    await send([transaction])
  }
  return true
}

/** A random choice of who, of what and how much. */
export function choice({ random, wallets, traded, market, aave }: Scene) {
  const wallet = random.pick(wallets)
  const other = random.pick(wallets.filter((each) => each !== wallet))
  const asset = random.pick(traded)
  const amount = rawUsd(asset, 1 + random.below(2_000))
  const { aToken, variableDebtToken } = aave.reserveOf(market, asset)
  const movement = { market, wallet, asset, amount } as const
  return { wallet, other, asset, amount, movement, aToken, variableDebtToken, address: ASSETS[asset].address }
}
