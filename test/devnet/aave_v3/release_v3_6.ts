import { type Address, encodeAbiParameters, encodeFunctionData, type Hex, zeroAddress } from 'viem'
import { BANK, toWalletAddress } from '../addresses.ts'
import type { Send, Transaction } from '../transaction.ts'
import { CONFIGURATOR_V3_6_ABI as ABI } from './abi.ts'
import { ASSETS, type AssetName } from './addresses.ts'
import { type Artifacts, link } from './compile.ts'
import { deployAll, elementAt, withAddresses } from './deploy.ts'
import type { MarketPlan, Release } from './release.ts'
import type { EmodeSetup, Rates } from './reserves.ts'

const TREASURY = toWalletAddress('aave treasury')
const LIBRARIES = ['BorrowLogic', 'ConfiguratorLogic', 'LiquidationLogic', 'PoolLogic', 'SupplyLogic'] as const

/** Aave V3.6 with its libraries deployed. */
export async function createReleaseV3_6(send: Send, artifacts: Artifacts): Promise<Release> {
  const deployed = await deployAll(
    send,
    LIBRARIES.map((name) => link(artifacts[name])),
  )
  const libraries: Record<string, Hex> = Object.fromEntries(
    LIBRARIES.map((name, index) => [name, elementAt(deployed, index)]),
  )
  libraries['FlashLoanLogic'] = elementAt(await deployAll(send, [link(artifacts.FlashLoanLogic, libraries)]), 0)
  return {
    provider: link(artifacts.PoolAddressesProvider),
    oracle: link(artifacts.AaveOracle),
    dataProvider: link(artifacts.AaveProtocolDataProvider),
    proxy: link(artifacts.InitializableImmutableAdminUpgradeabilityProxy),
    aclManager: link(artifacts.ACLManager),
    configurator: link(artifacts.PoolConfiguratorInstance, libraries),
    deployPool: async (send, { addresses: { provider } }) => {
      const strategy = link(artifacts.DefaultReserveInterestRateStrategyV2)
      const [rates] = await deployAll(send, [withAddresses(strategy, provider)])
      const pool = link(artifacts.PoolInstance, libraries)
      return elementAt(await deployAll(send, [withAddresses(pool, provider, rates as Address)]), 0)
    },
    listReserves: async (send, market) => {
      const { pool } = market.addresses
      const [aToken, debtToken] = await deployAll(send, [
        withAddresses(link(artifacts.ATokenInstance), pool, zeroAddress, TREASURY),
        withAddresses(link(artifacts.VariableDebtTokenInstance), pool, zeroAddress),
      ])
      const implementations = { aTokenImpl: aToken as Address, variableDebtTokenImpl: debtToken as Address }
      return Object.entries(market.setup.reserves).map(([asset, { rates }]) =>
        initReserveCall(market, { ...implementations, asset: asset as AssetName, rates }),
      )
    },
    reserveCalls: () => [],
    emodeCalls,
  }
}

function initReserveCall(
  { name, addresses }: MarketPlan,
  reserve: {
    readonly aTokenImpl: Address
    readonly variableDebtTokenImpl: Address
    readonly asset: AssetName
    readonly rates: Rates
  },
): Transaction {
  const { address, symbol } = ASSETS[reserve.asset]
  const { optimal, base, slope1, slope2 } = reserve.rates
  const input = {
    aTokenImpl: reserve.aTokenImpl,
    variableDebtTokenImpl: reserve.variableDebtTokenImpl,
    underlyingAsset: address,
    params: '0x' as const,
    aTokenName: `Aave ${name} ${symbol}`,
    aTokenSymbol: `a${name}${symbol}`,
    variableDebtTokenName: `Aave ${name} debt ${symbol}`,
    variableDebtTokenSymbol: `variableDebt${name}${symbol}`,
    interestRateData: encodeAbiParameters(
      [{ type: 'uint16' }, { type: 'uint32' }, { type: 'uint32' }, { type: 'uint32' }],
      [optimal, base, slope1, slope2],
    ),
  }
  const data = encodeFunctionData({ abi: ABI, functionName: 'initReserves', args: [[input]] })
  return { from: BANK, to: addresses.configurator, data }
}

function emodeCalls({ addresses }: MarketPlan, emode: EmodeSetup): Transaction[] {
  const { id, ltv, threshold, bonus, label } = emode
  const member = (functionName: 'setAssetCollateralInEMode' | 'setAssetBorrowableInEMode') => (asset: AssetName) =>
    encodeFunctionData({ abi: ABI, functionName, args: [ASSETS[asset].address, id, true] })
  return [
    encodeFunctionData({ abi: ABI, functionName: 'setEModeCategory', args: [id, ltv, threshold, bonus, label] }),
    ...emode.collateral.map(member('setAssetCollateralInEMode')),
    ...emode.borrowable.map(member('setAssetBorrowableInEMode')),
  ].map((data) => ({ from: BANK, to: addresses.configurator, data }))
}
