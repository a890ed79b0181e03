import { type FormatReserveUSDResponse, formatReserves, formatUserSummary } from '@aave/math-utils'
import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, parseAbi, toHex } from 'viem'
import { DATA_PROVIDER_ABI, ORACLE_ABI } from '../../../devnet/aave_v3/abi.ts'
import type { MarketName } from '../../../devnet/aave_v3/addresses.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { type EmodeSetup, MARKET_SETUPS, type MarketSetup } from '../../../devnet/aave_v3/reserves.ts'
import type { Devnet } from '../../../devnet/mod.ts'

const TOKEN_ABI = parseAbi([
  'function scaledBalanceOf(address) view returns (uint256)',
  'function scaledTotalSupply() view returns (uint256)',
])
const POOL_ABI = parseAbi([
  'function getUserEMode(address) view returns (uint256)',
  'struct Reserve { uint256 configuration; uint128 liquidityIndex; uint128 liquidityRate; uint128 variableBorrowIndex; uint128 variableBorrowRate; uint128 stableRate; uint40 lastUpdate; uint16 id; address aToken; address stableDebt; address variableDebt; address strategy; uint128 accrued; uint128 unbacked; uint128 isolationDebt; }',
  'function getReserveData(address) view returns (Reserve)',
])

/** What Aave's own library makes of wallets in a market of 3.6, from what the contracts tell at a block. */
export async function secondOpinion(
  { devnet, aave }: { readonly devnet: Devnet; readonly aave: AaveDevnet },
  question: { readonly market: MarketName; readonly wallets: readonly Address[]; readonly block: bigint },
) {
  const { market, wallets, block } = question
  const { reserves, pool, oracle, dataProvider } = aave.markets[market]
  const ask = (to: Address, data: Hex) => ({ method: 'eth_call', params: [{ to, data }, toHex(block)] })
  const { timestamp } = await devnet.client.getBlock({ blockNumber: block })
  const currentTimestamp = Number(timestamp)

  const raw = await Promise.all(
    reserves.map(async ({ asset, variableDebtToken, decimals, symbol }) => {
      const [data, configuration, ceiling, price, scaledDebt] = (await devnet.rpc.batch<Hex>([
        ask(pool, encodeFunctionData({ abi: POOL_ABI, functionName: 'getReserveData', args: [asset] })),
        ask(
          dataProvider,
          encodeFunctionData({ abi: DATA_PROVIDER_ABI, functionName: 'getReserveConfigurationData', args: [asset] }),
        ),
        ask(
          dataProvider,
          encodeFunctionData({ abi: DATA_PROVIDER_ABI, functionName: 'getDebtCeiling', args: [asset] }),
        ),
        ask(oracle, encodeFunctionData({ abi: ORACLE_ABI, functionName: 'getAssetPrice', args: [asset] })),
        ask(variableDebtToken, encodeFunctionData({ abi: TOKEN_ABI, functionName: 'scaledTotalSupply' })),
      ])) as [Hex, Hex, Hex, Hex, Hex]
      const state = decodeFunctionResult({ abi: POOL_ABI, functionName: 'getReserveData', data })
      const limits = decodeFunctionResult({
        abi: DATA_PROVIDER_ABI,
        functionName: 'getReserveConfigurationData',
        data: configuration,
      })
      return {
        originalId: state.id,
        id: asset,
        symbol,
        name: symbol,
        decimals,
        underlyingAsset: asset.toLowerCase(),
        usageAsCollateralEnabled: limits[5],
        reserveFactor: limits[4].toString(),
        baseLTVasCollateral: limits[1].toString(),
        reserveLiquidationThreshold: limits[2].toString(),
        reserveLiquidationBonus: limits[3].toString(),
        liquidityIndex: state.liquidityIndex.toString(),
        liquidityRate: state.liquidityRate.toString(),
        variableBorrowIndex: state.variableBorrowIndex.toString(),
        variableBorrowRate: state.variableBorrowRate.toString(),
        availableLiquidity: '0',
        virtualUnderlyingBalance: '0',
        totalScaledVariableDebt: BigInt(scaledDebt).toString(),
        lastUpdateTimestamp: state.lastUpdate,
        borrowCap: '0',
        supplyCap: '0',
        debtCeiling: BigInt(ceiling).toString(),
        debtCeilingDecimals: 2,
        isolationModeTotalDebt: state.isolationDebt.toString(),
        deficit: '0',
        priceInMarketReferenceCurrency: BigInt(price).toString(),
      }
    }),
  )
  const { emodes }: MarketSetup = MARKET_SETUPS[market]
  const usd = { currentTimestamp, marketReferencePriceInUsd: '100000000', marketReferenceCurrencyDecimals: 8 }
  const formattedReserves = formatReserves({ ...usd, reserves: raw, eModes: emodes.map((each) => eMode(each)) })

  function eMode({ id, label, ltv, threshold, bonus, collateral, borrowable, ltvZero = [] }: EmodeSetup) {
    const bitmap = (names: readonly string[]) =>
      reserves
        .reduce((bits, { name }, index) => (names.includes(name) ? bits | (1n << BigInt(index)) : bits), 0n)
        // Its library reads digits of a bitmap as bits.
        .toString(2)
    return {
      id,
      eMode: {
        label,
        ltv: `${ltv}`,
        liquidationThreshold: `${threshold}`,
        liquidationBonus: `${bonus}`,
        collateralBitmap: bitmap(collateral),
        borrowableBitmap: bitmap(borrowable),
        ltvzeroBitmap: bitmap(ltvZero),
        isolated: false,
      },
    }
  }

  return await Promise.all(
    wallets.map(async (wallet) => {
      const scaled = { abi: TOKEN_ABI, functionName: 'scaledBalanceOf', args: [wallet] } as const
      const switches = { abi: DATA_PROVIDER_ABI, functionName: 'getUserReserveData' } as const
      const category = encodeFunctionData({ abi: POOL_ABI, functionName: 'getUserEMode', args: [wallet] })
      const [chosen, ...answers] = await devnet.rpc.batch<Hex>([
        ask(pool, category),
        ...reserves.flatMap(({ aToken, variableDebtToken, asset }) => [
          ask(aToken, encodeFunctionData(scaled)),
          ask(variableDebtToken, encodeFunctionData(scaled)),
          ask(dataProvider, encodeFunctionData({ ...switches, args: [asset, wallet] })),
        ]),
      ])
      const userReserves = reserves.map(({ asset }, index) => {
        const [supplied = '0x0', owed = '0x0', state = '0x'] = answers.slice(index * 3, index * 3 + 3)
        return {
          underlyingAsset: asset.toLowerCase(),
          scaledATokenBalance: BigInt(supplied).toString(),
          scaledVariableDebt: BigInt(owed).toString(),
          usageAsCollateralEnabledOnUser: decodeFunctionResult({ ...switches, data: state })[8],
        }
      })
      return formatUserSummary<FormatReserveUSDResponse>({
        ...usd,
        userReserves,
        formattedReserves,
        userEmodeCategoryId: Number(chosen),
      })
    }),
  )
}
