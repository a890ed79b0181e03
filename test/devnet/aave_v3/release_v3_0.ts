import { createRequire } from 'node:module'
import { type Address, encodeAbiParameters, encodeFunctionData, type Hex, zeroAddress } from 'viem'
import { BANK, toWalletAddress } from '../addresses.ts'
import type { Send, Transaction } from '../transaction.ts'
import { CONFIGURATOR_V3_0_ABI as ABI } from './abi.ts'
import { ASSETS, type AssetName } from './addresses.ts'
import { type Compiled, link } from './compile.ts'
import { deployAll, elementAt, withAddresses } from './deploy.ts'
import type { MarketPlan, Release } from './release.ts'
import type { EmodeSetup, Rates } from './reserves.ts'

const TREASURY = toWalletAddress('aave 3.0 treasury')
const CONTRACTS = '@aave/core-v3/artifacts/contracts'
const LIBRARIES = [
  'BorrowLogic',
  'BridgeLogic',
  'ConfiguratorLogic',
  'EModeLogic',
  'LiquidationLogic',
  'PoolLogic',
  'SupplyLogic',
] as const
const require = createRequire(import.meta.url)
const RAY_PER_BPS = 10n ** 23n

/** Aave V3.0 as its package brings it, with its libraries deployed. */
export async function createReleaseV3_0(send: Send): Promise<Release> {
  const logics = await Promise.all(
    [...LIBRARIES, 'FlashLoanLogic'].map((name) => artifact('protocol/libraries/logic', name)),
  )
  const deployed = await deployAll(
    send,
    logics.slice(0, -1).map((logic) => link(logic)),
  )
  const libraries: Record<string, Hex> = Object.fromEntries(
    LIBRARIES.map((name, index) => [name, elementAt(deployed, index)]),
  )
  libraries['FlashLoanLogic'] = elementAt(
    await deployAll(send, [link(elementAt(logics, LIBRARIES.length), libraries)]),
    0,
  )
  const code = async (directory: string, name: string) => link(await artifact(directory, name), libraries)
  const proxyDirectory = 'protocol/libraries/aave-upgradeability'
  return {
    provider: await code('protocol/configuration', 'PoolAddressesProvider'),
    oracle: await code('misc', 'AaveOracle'),
    dataProvider: await code('misc', 'AaveProtocolDataProvider'),
    proxy: await code(proxyDirectory, 'InitializableImmutableAdminUpgradeabilityProxy'),
    aclManager: await code('protocol/configuration', 'ACLManager'),
    configurator: await code('protocol/pool', 'PoolConfigurator'),
    deployPool: async (send, { addresses }) => {
      const pool = await code('protocol/pool', 'Pool')
      return elementAt(await deployAll(send, [withAddresses(pool, addresses.provider)]), 0)
    },
    listReserves: async (send, market) => {
      const { pool, provider } = market.addresses
      const tokens = await Promise.all(
        ['AToken', 'StableDebtToken', 'VariableDebtToken'].map((name) => code('protocol/tokenization', name)),
      )
      const strategy = await code('protocol/pool', 'DefaultReserveInterestRateStrategy')
      const reserves = Object.entries(market.setup.reserves)
      const contracts = await deployAll(send, [
        ...tokens.map((token) => withAddresses(token, pool)),
        ...reserves.map(([, { rates }]) => `${strategy}${strategyArguments(provider, rates).slice(2)}` as const),
      ])
      return reserves.map(([asset], index) =>
        initReserveCall(market, {
          implementations: contracts.slice(0, tokens.length),
          strategy: elementAt(contracts, tokens.length + index),
          asset: asset as AssetName,
        }),
      )
    },
    reserveCalls: ({ addresses }, asset, { borrowable }) => [
      {
        from: BANK,
        to: addresses.configurator,
        data: encodeFunctionData({
          abi: ABI,
          functionName: 'setReserveStableRateBorrowing',
          args: [ASSETS[asset].address, borrowable],
        }),
      },
    ],
    emodeCalls,
  }
}

async function artifact(directory: string, name: string): Promise<Compiled> {
  return Bun.file(require.resolve(`${CONTRACTS}/${directory}/${name}.sol/${name}.json`)).json()
}

function strategyArguments(provider: Address, { optimal, base, slope1, slope2 }: Rates): Hex {
  const stable = { slope1: 50, slope2: 6000, offset: 100, excessOffset: 800, optimalRatio: 2000 }
  const ray = [
    ...[optimal, base, slope1, slope2],
    ...[stable.slope1, stable.slope2, stable.offset, stable.excessOffset, stable.optimalRatio],
  ].map((bps) => BigInt(bps) * RAY_PER_BPS)
  return encodeAbiParameters(
    [{ type: 'address' }, ...ray.map(() => ({ type: 'uint256' }) as const)],
    [provider, ...ray],
  )
}

function initReserveCall(
  { addresses }: MarketPlan,
  reserve: { readonly implementations: readonly Address[]; readonly strategy: Address; readonly asset: AssetName },
): Transaction {
  const { address, symbol, decimals } = ASSETS[reserve.asset]
  const [aTokenImpl, stableDebtTokenImpl, variableDebtTokenImpl] = reserve.implementations as [
    Address,
    Address,
    Address,
  ]
  const input = {
    aTokenImpl,
    stableDebtTokenImpl,
    variableDebtTokenImpl,
    underlyingAsset: address,
    underlyingAssetDecimals: decimals,
    interestRateStrategyAddress: reserve.strategy,
    treasury: TREASURY,
    incentivesController: zeroAddress,
    params: '0x' as const,
    aTokenName: `Aave 3.0 ${symbol}`,
    aTokenSymbol: `aOld${symbol}`,
    variableDebtTokenName: `Aave 3.0 debt ${symbol}`,
    variableDebtTokenSymbol: `variableDebtOld${symbol}`,
    stableDebtTokenName: `Aave 3.0 stable debt ${symbol}`,
    stableDebtTokenSymbol: `stableDebtOld${symbol}`,
  }
  const data = encodeFunctionData({ abi: ABI, functionName: 'initReserves', args: [[input]] })
  return { from: BANK, to: addresses.configurator, data }
}

/** One list for collateral and debt: in 3.0 an asset's eMode holds for both. */
function emodeCalls({ addresses }: MarketPlan, emode: EmodeSetup): Transaction[] {
  const { id, ltv, threshold, bonus, label } = emode
  const args = [id, ltv, threshold, bonus, zeroAddress, label] as const
  return [
    encodeFunctionData({ abi: ABI, functionName: 'setEModeCategory', args }),
    ...emode.collateral.map((asset) =>
      encodeFunctionData({ abi: ABI, functionName: 'setAssetEModeCategory', args: [ASSETS[asset].address, id] }),
    ),
  ].map((data) => ({ from: BANK, to: addresses.configurator, data }))
}
