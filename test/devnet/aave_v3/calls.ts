import { type Address, encodeFunctionData, type Hex, maxUint256 } from 'viem'
import { BANK } from '../addresses.ts'
import { setFeedCall } from '../contracts.ts'
import type { Transaction } from '../transaction.ts'
import { CONFIGURATOR_ABI, CONFIGURATOR_V3_6_ABI, POOL_ABI, TOKEN_ABI } from './abi.ts'
import { ASSETS, type AssetName, MARKETS, type MarketName } from './addresses.ts'

/** A wallet moves an asset in a market; amounts in raw units. */
export interface Movement {
  readonly market: MarketName
  readonly wallet: Address
  readonly asset: AssetName
  readonly amount: bigint
}

export interface Borrowing extends Movement {
  /** Stable exists in 3.0 only. @default 'variable' */
  readonly mode?: 'variable' | 'stable'
}

export interface Liquidation {
  readonly market: MarketName
  readonly wallet: Address
  readonly collateral: AssetName
  readonly debt: AssetName
  /** Raw units of the debt; absent: as much as the Pool allows. */
  readonly amount?: bigint
  /** The liquidator keeps aTokens instead of the underlying. @default false */
  readonly receiveAToken?: boolean
}

/** All that the wallet has, or owes. */
export const ALL = maxUint256

const MODES = { stable: 1n, variable: 2n } as const

/** Supplies in the wallet's name; the bank pays. Switches the collateral on if the Pool does so by itself. */
export function supplyCall({ market, wallet, asset, amount }: Movement): Transaction {
  const args = [ASSETS[asset].address, amount, wallet, 0] as const
  return poolCall(market, BANK, encodeFunctionData({ abi: POOL_ABI, functionName: 'supply', args }))
}

export function borrowCall({ market, wallet, asset, amount, mode = 'variable' }: Borrowing): Transaction {
  const args = [ASSETS[asset].address, amount, MODES[mode], 0, wallet] as const
  return poolCall(market, wallet, encodeFunctionData({ abi: POOL_ABI, functionName: 'borrow', args }))
}

/** The bank pays; of more than is owed it keeps the rest. The amount must be explicit: `ALL` is only for one's own. */
export function repayCall({ market, wallet, asset, amount, mode = 'variable' }: Borrowing): Transaction {
  const args = [ASSETS[asset].address, amount, MODES[mode], wallet] as const
  return poolCall(market, BANK, encodeFunctionData({ abi: POOL_ABI, functionName: 'repay', args }))
}

/** To the wallet itself; `ALL` for everything. */
export function withdrawCall({ market, wallet, asset, amount }: Movement): Transaction {
  const args = [ASSETS[asset].address, amount, wallet] as const
  return poolCall(market, wallet, encodeFunctionData({ abi: POOL_ABI, functionName: 'withdraw', args }))
}

export function setUseAsCollateralCall(choice: Omit<Movement, 'amount'> & { readonly on: boolean }): Transaction {
  const args = [ASSETS[choice.asset].address, choice.on] as const
  const data = encodeFunctionData({ abi: POOL_ABI, functionName: 'setUserUseReserveAsCollateral', args })
  return poolCall(choice.market, choice.wallet, data)
}

/** Category 0 leaves the eMode. */
export function setEmodeCall(choice: {
  readonly market: MarketName
  readonly wallet: Address
  readonly category: number
}): Transaction {
  const data = encodeFunctionData({ abi: POOL_ABI, functionName: 'setUserEMode', args: [choice.category] })
  return poolCall(choice.market, choice.wallet, data)
}

/** The bank liquidates. */
export function liquidateCall(liquidation: Liquidation): Transaction {
  const { market, wallet, collateral, debt, amount = maxUint256, receiveAToken = false } = liquidation
  const args = [ASSETS[collateral].address, ASSETS[debt].address, wallet, amount, receiveAToken] as const
  return poolCall(market, BANK, encodeFunctionData({ abi: POOL_ABI, functionName: 'liquidationCall', args }))
}

export function transferCall(transfer: {
  readonly token: Address
  readonly from: Address
  readonly to: Address
  readonly amount: bigint
}): Transaction {
  const args = [transfer.to, transfer.amount] as const
  const data = encodeFunctionData({ abi: TOKEN_ABI, functionName: 'transfer', args })
  return { from: transfer.from, to: transfer.token, data }
}

/** USD with 8 decimals, in every market that lists the asset; zero makes `getAssetPrice` revert, as no fallback is set. */
export function setPriceCall(asset: AssetName, usdE8: bigint): Transaction {
  return setFeedCall(ASSETS[asset].feed, { answer: usdE8 })
}

/** What governance may do to a reserve after wallets took it up. */
export function restrictCall(
  market: MarketName,
  restriction:
    | { readonly kind: 'pause' | 'freeze'; readonly asset: AssetName; readonly on: boolean }
    | { readonly kind: 'ltvZero'; readonly asset: AssetName; readonly threshold: number; readonly bonus: number }
    | { readonly kind: 'emodeLtvZero'; readonly asset: AssetName; readonly category: number },
): Transaction {
  return { from: BANK, to: MARKETS[market].configurator, data: restrictionData(restriction) }
}

function restrictionData(restriction: Parameters<typeof restrictCall>[1]): Hex {
  const asset = ASSETS[restriction.asset].address
  const abi = CONFIGURATOR_ABI
  switch (restriction.kind) {
    case 'pause':
      return encodeFunctionData({ abi, functionName: 'setReservePause', args: [asset, restriction.on] })
    case 'freeze':
      return encodeFunctionData({ abi, functionName: 'setReserveFreeze', args: [asset, restriction.on] })
    case 'ltvZero':
      return encodeFunctionData({
        abi,
        functionName: 'configureReserveAsCollateral',
        args: [asset, 0n, BigInt(restriction.threshold), BigInt(restriction.bonus)],
      })
    case 'emodeLtvZero':
      return encodeFunctionData({
        abi: CONFIGURATOR_V3_6_ABI,
        functionName: 'setAssetLtvzeroInEMode',
        args: [asset, restriction.category, true],
      })
  }
}

function poolCall(market: MarketName, from: Address, data: Hex): Transaction {
  return { from, to: MARKETS[market].pool, data }
}
