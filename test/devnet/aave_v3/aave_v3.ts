import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, toHex } from 'viem'
import type { Rpc } from '../rpc.ts'
import type { Send, Transaction } from '../transaction.ts'
import { DATA_PROVIDER_ABI, ORACLE_ABI, POOL_ABI } from './abi.ts'
import { ASSETS, type AssetName, MARKETS, type MarketName } from './addresses.ts'
import {
  type Borrowing,
  borrowCall,
  type Liquidation,
  liquidateCall,
  type Movement,
  repayCall,
  restrictCall,
  setEmodeCall,
  setPriceCall,
  setUseAsCollateralCall,
  supplyCall,
  transferCall,
  withdrawCall,
} from './calls.ts'
import { elementAt } from './deploy.ts'
import type { Market } from './market.ts'

/** Code that reverts whatever it is asked. */
const REVERTING: Hex = '0x60006000fd'

/** A block number; absent: the latest block. */
type AtBlock = bigint | undefined

/** `Pool.getUserAccountData`: USD with 8 decimals, basis points, health factor in WAD (2^256 - 1 without debt). */
export interface AccountData {
  readonly totalCollateralBase: bigint
  readonly totalDebtBase: bigint
  readonly availableBorrowsBase: bigint
  readonly currentLiquidationThreshold: bigint
  readonly ltv: bigint
  readonly healthFactor: bigint
}

/** What a wallet has in one reserve, in raw units, by the contracts' own account. */
export interface UserReserve {
  readonly asset: AssetName
  readonly supplied: bigint
  readonly stableDebt: bigint
  readonly variableDebt: bigint
  readonly isCollateral: boolean
}

/** Aave V3 by real transactions, and the contracts' own answers to compare ours with. */
export type AaveV3 = ReturnType<typeof createAaveV3>

export function createAaveV3(
  { rpc, send }: { readonly rpc: Rpc; readonly send: Send },
  markets: Readonly<Record<MarketName, Market>>,
) {
  const one = async (transaction: Transaction): Promise<void> => {
    await send([transaction])
  }
  const getReserve = (market: MarketName, asset: AssetName) => {
    const reserve = markets[market].reserves.find(({ name }) => name === asset)
    if (reserve === undefined) throw new Error(`Cannot find ${asset} in the market ${market}`)
    return reserve
  }
  const broken = new Map<AssetName, Hex>()
  const readAccounts = (market: MarketName, wallets: readonly Address[], block?: AtBlock) =>
    readAccountsData(rpc, { market, wallets, block })
  return {
    markets,
    reserveOf: getReserve,
    supply: (movement: Movement) => one(supplyCall(movement)),
    borrow: (borrowing: Borrowing) => one(borrowCall(borrowing)),
    repay: (borrowing: Borrowing) => one(repayCall(borrowing)),
    withdraw: (movement: Movement) => one(withdrawCall(movement)),
    setUseAsCollateral: (choice: Parameters<typeof setUseAsCollateralCall>[0]) => one(setUseAsCollateralCall(choice)),
    setEMode: (choice: Parameters<typeof setEmodeCall>[0]) => one(setEmodeCall(choice)),
    liquidate: (liquidation: Liquidation) => one(liquidateCall(liquidation)),
    transferAToken: ({ market, wallet, asset, amount, to }: Movement & { readonly to: Address }) =>
      one(transferCall({ token: getReserve(market, asset).aToken, from: wallet, to, amount })),
    restrict: (...args: Parameters<typeof restrictCall>) => one(restrictCall(...args)),
    setPrice: (asset: AssetName, usdE8: bigint) => one(setPriceCall(asset, usdE8)),
    /** Makes an asset's feed revert, until it is mended. */
    breakFeed: async (asset: AssetName): Promise<void> => {
      const { feed } = ASSETS[asset]
      if (!broken.has(asset)) broken.set(asset, await rpc.call<Hex>('eth_getCode', feed, 'latest'))
      await rpc.call('anvil_setCode', feed, REVERTING)
      await rpc.call('evm_mine')
    },
    mendFeed: async (asset: AssetName): Promise<void> => {
      await rpc.call('anvil_setCode', ASSETS[asset].feed, broken.get(asset))
      broken.delete(asset)
      await rpc.call('evm_mine')
    },
    /** Mines a block that is so many seconds later than it would be. */
    warp: async (seconds: number): Promise<void> => {
      await rpc.call('evm_increaseTime', seconds)
      await rpc.call('evm_mine')
    },
    blockNumber: async (): Promise<bigint> => BigInt(await rpc.call<Hex>('eth_blockNumber')),
    /** Throws if the Pool reverts, as it does for the holders of an asset without a price. */
    getUserAccountData: async (market: MarketName, wallet: Address, block?: AtBlock): Promise<AccountData> =>
      elementAt(await readAccounts(market, [wallet], block), 0),
    getUserAccountDataMany: readAccounts,
    /** The wallet's reserves with anything in them. */
    getUserReserves: async (market: MarketName, wallet: Address, block?: AtBlock): Promise<UserReserve[]> =>
      elementAt(await readUserReserves(rpc, { market: markets[market], wallets: [wallet], block }), 0),
    getUserReservesMany: (market: MarketName, wallets: readonly Address[], block?: AtBlock) =>
      readUserReserves(rpc, { market: markets[market], wallets, block }),
    /** USD with 8 decimals for every reserve; throws if one has no price. */
    getPrices: (market: MarketName, block?: AtBlock) => readPrices(rpc, markets[market], block),
    getReserveData: async (market: MarketName, asset: AssetName, block?: AtBlock) => {
      const call = { abi: DATA_PROVIDER_ABI, functionName: 'getReserveData', args: [ASSETS[asset].address] } as const
      const to = MARKETS[market].dataProvider
      const data = await ethCall(rpc, [{ to, data: encodeFunctionData(call) }], block)
      const [unbacked, accruedToTreasuryScaled, totalAToken, totalStableDebt, totalVariableDebt, ...rest] =
        decodeFunctionResult({ ...call, data: elementAt(data, 0) })
      const [liquidityRate, variableBorrowRate, stableBorrowRate, averageStableBorrowRate, ...indexes] = rest
      const [liquidityIndex, variableBorrowIndex, lastUpdateTimestamp] = indexes
      return {
        unbacked,
        accruedToTreasuryScaled,
        totalAToken,
        totalStableDebt,
        totalVariableDebt,
        liquidityRate,
        variableBorrowRate,
        stableBorrowRate,
        averageStableBorrowRate,
        liquidityIndex,
        variableBorrowIndex,
        lastUpdateTimestamp,
      }
    },
  }
}

async function readAccountsData(
  rpc: Rpc,
  query: { readonly market: MarketName; readonly wallets: readonly Address[]; readonly block: AtBlock },
): Promise<AccountData[]> {
  const call = { abi: POOL_ABI, functionName: 'getUserAccountData' } as const
  const requests = query.wallets.map((wallet) => ({
    to: MARKETS[query.market].pool,
    data: encodeFunctionData({ ...call, args: [wallet] }),
  }))
  return (await ethCall(rpc, requests, query.block)).map((data) => {
    const [totalCollateralBase, totalDebtBase, availableBorrowsBase, currentLiquidationThreshold, ltv, healthFactor] =
      decodeFunctionResult({ ...call, data })
    return { totalCollateralBase, totalDebtBase, availableBorrowsBase, currentLiquidationThreshold, ltv, healthFactor }
  })
}

async function readUserReserves(
  rpc: Rpc,
  query: { readonly market: Market; readonly wallets: readonly Address[]; readonly block: AtBlock },
): Promise<UserReserve[][]> {
  const { reserves, dataProvider } = query.market
  const call = { abi: DATA_PROVIDER_ABI, functionName: 'getUserReserveData' } as const
  const requests = query.wallets.flatMap((wallet) =>
    reserves.map(({ asset }) => ({ to: dataProvider, data: encodeFunctionData({ ...call, args: [asset, wallet] }) })),
  )
  const answers = await ethCall(rpc, requests, query.block)
  return query.wallets.map((_, row) =>
    reserves
      .map(({ name }, column): UserReserve => {
        const answer = decodeFunctionResult({ ...call, data: elementAt(answers, row * reserves.length + column) })
        const [supplied, stableDebt, variableDebt] = answer
        return { asset: name, supplied, stableDebt, variableDebt, isCollateral: answer[8] }
      })
      .filter(({ supplied, stableDebt, variableDebt }) => supplied + stableDebt + variableDebt > 0n),
  )
}

async function readPrices(
  rpc: Rpc,
  { oracle, reserves }: Market,
  block: AtBlock,
): Promise<ReadonlyMap<AssetName, bigint>> {
  const call = { abi: ORACLE_ABI, functionName: 'getAssetPrice' } as const
  const requests = reserves.map(({ asset }) => ({
    to: oracle,
    data: encodeFunctionData({ ...call, args: [asset] }),
  }))
  const answers = await ethCall(rpc, requests, block)
  return new Map(
    reserves.map(({ name }, index) => [name, decodeFunctionResult({ ...call, data: elementAt(answers, index) })]),
  )
}

function ethCall(
  rpc: Rpc,
  requests: readonly { readonly to: Address; readonly data: Hex }[],
  block: AtBlock,
): Promise<Hex[]> {
  const tag = block === undefined ? 'latest' : toHex(block)
  return rpc.batch<Hex>(requests.map((request) => ({ method: 'eth_call', params: [request, tag] })))
}
