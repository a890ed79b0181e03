import {
  type Address,
  concatHex,
  decodeFunctionResult,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  maxUint256,
  stringToHex,
  zeroAddress,
} from 'viem'
import { BANK } from '../addresses.ts'
import { type Placement, placeContractsAt } from '../place.ts'
import type { Rpc } from '../rpc.ts'
import type { Send, Transaction } from '../transaction.ts'
import { CONFIGURATOR_ABI, DATA_PROVIDER_ABI, PROVIDER_ABI, TOKEN_ABI } from './abi.ts'
import { ASSETS, type AssetName, MARKETS, type MarketAddresses, type MarketName } from './addresses.ts'
import { deployAll, elementAt, withAddresses } from './deploy.ts'
import type { MarketPlan, Release } from './release.ts'
import { MARKET_SETUPS, type MarketSetup, type ReserveSetup } from './reserves.ts'

const PRICE_UNIT = 10n ** 8n

export interface Reserve {
  readonly name: AssetName
  readonly asset: Address
  readonly symbol: string
  readonly decimals: number
  readonly aToken: Address
  readonly variableDebtToken: Address
  /** Zero if the version knows no stable debt. */
  readonly stableDebtToken: Address
}

export interface Market extends MarketAddresses {
  readonly market: MarketName
  readonly reserves: readonly Reserve[]
}

interface Tools {
  readonly rpc: Rpc
  readonly send: Send
}

/** Builds markets of one version at their addresses, owned by the bank, their reserves listed and eModes set. */
export async function buildMarkets(
  { rpc, send }: Tools,
  { release, names }: { readonly release: Release; readonly names: readonly MarketName[] },
): Promise<Market[]> {
  const plans = names.map((name): MarketPlan => ({ name, addresses: MARKETS[name], setup: MARKET_SETUPS[name] }))
  await placeContractsAt({ rpc, send }, { placements: plans.flatMap((plan) => placements(release, plan)), owner: BANK })
  await send(plans.flatMap(wireCalls))
  // Its constructor asks the provider for the Pool.
  const dataProviders = plans.map(({ addresses: { dataProvider, provider } }) => ({
    address: dataProvider,
    creationCode: withAddresses(release.dataProvider, provider),
  }))
  await placeContractsAt({ rpc, send }, { placements: dataProviders, owner: BANK })
  await Promise.all(plans.map((plan) => startPool(send, release, plan)))
  const listings = await Promise.all(plans.map((plan) => release.listReserves(send, plan)))
  await send([...listings.flat(), ...plans.flatMap((plan) => configureCalls(release, plan))])
  return Promise.all(
    names.map(async (market) => ({ market, ...MARKETS[market], reserves: await readReserves(rpc, market) })),
  )
}

function placements(release: Release, { name, addresses, setup }: MarketPlan): Placement[] {
  const { provider, pool, configurator, oracle } = addresses
  const assets = (Object.keys(setup.reserves) as AssetName[]).map((asset) => ASSETS[asset])
  const providerArgs = encodeAbiParameters([{ type: 'string' }, { type: 'address' }], [`Aave ${name} market`, BANK])
  const oracleArgs = encodeAbiParameters(
    [
      ...([{ type: 'address' }, { type: 'address[]' }, { type: 'address[]' }] as const),
      ...([{ type: 'address' }, { type: 'address' }, { type: 'uint256' }] as const),
    ],
    [
      provider,
      assets.map(({ address }) => address),
      assets.map(({ feed }) => feed),
      zeroAddress,
      zeroAddress,
      PRICE_UNIT,
    ],
  )
  return [
    { address: provider, creationCode: concatHex([release.provider, providerArgs]) },
    { address: oracle, creationCode: concatHex([release.oracle, oracleArgs]) },
    { address: pool, creationCode: withAddresses(release.proxy, provider) },
    { address: configurator, creationCode: withAddresses(release.proxy, provider) },
  ]
}

/** Registers the proxies before they have an implementation: the provider then upgrades them where they stand. */
function wireCalls({ addresses }: MarketPlan): Transaction[] {
  const id = (name: string) => stringToHex(name, { size: 32 })
  return [
    providerCall('setAddress', [id('POOL'), addresses.pool]),
    providerCall('setAddress', [id('POOL_CONFIGURATOR'), addresses.configurator]),
    providerCall('setPriceOracle', [addresses.oracle]),
    providerCall('setPoolDataProvider', [addresses.dataProvider]),
    providerCall('setACLAdmin', [BANK]),
  ].map((data) => ({ from: BANK, to: addresses.provider, data }))
}

async function startPool(send: Send, release: Release, plan: MarketPlan): Promise<void> {
  const { provider } = plan.addresses
  const pool = await release.deployPool(send, plan)
  const contracts = await deployAll(send, [withAddresses(release.aclManager, provider), release.configurator])
  const [aclManager, configurator] = [elementAt(contracts, 0), elementAt(contracts, 1)]
  await send([
    { from: BANK, to: provider, data: providerCall('setACLManager', [aclManager]) },
    { from: BANK, to: provider, data: providerCall('setPoolImpl', [pool]) },
    { from: BANK, to: provider, data: providerCall('setPoolConfiguratorImpl', [configurator]) },
    { from: BANK, to: aclManager, data: providerCall('addPoolAdmin', [BANK]) },
  ])
}

function providerCall(functionName: string, args: readonly Hex[]): Hex {
  return encodeFunctionData({ abi: PROVIDER_ABI, functionName, args } as Parameters<typeof encodeFunctionData>[0])
}

export function configureCalls(release: Release, plan: MarketPlan): Transaction[] {
  const { reserves, emodes }: MarketSetup = plan.setup
  const entries = Object.entries(reserves) as [AssetName, ReserveSetup][]
  return [
    ...entries.flatMap(([asset, reserve]) => [
      ...reserveData(ASSETS[asset].address, reserve).map((data) => ({
        from: BANK,
        to: plan.addresses.configurator,
        data,
      })),
      ...release.reserveCalls(plan, asset, reserve),
      {
        from: BANK,
        to: ASSETS[asset].address,
        data: encodeFunctionData({
          abi: TOKEN_ABI,
          functionName: 'approve',
          args: [plan.addresses.pool, maxUint256],
        }),
      },
    ]),
    ...emodes.flatMap((emode) => release.emodeCalls(plan, emode)),
  ]
}

function reserveData(asset: Address, reserve: ReserveSetup): Hex[] {
  const { ltv, threshold, bonus, borrowable, factor, debtCeilingCents, borrowableInIsolation } = reserve
  const abi = CONFIGURATOR_ABI
  return [
    encodeFunctionData({ abi, functionName: 'setReserveBorrowing', args: [asset, borrowable] }),
    encodeFunctionData({
      abi,
      functionName: 'configureReserveAsCollateral',
      args: [asset, BigInt(ltv), BigInt(threshold), BigInt(bonus)],
    }),
    encodeFunctionData({ abi, functionName: 'setReserveFactor', args: [asset, BigInt(factor)] }),
    encodeFunctionData({ abi, functionName: 'setDebtCeiling', args: [asset, BigInt(debtCeilingCents)] }),
    encodeFunctionData({ abi, functionName: 'setBorrowableInIsolation', args: [asset, borrowableInIsolation] }),
  ]
}

async function readReserves(rpc: Rpc, market: MarketName): Promise<Reserve[]> {
  const names = Object.keys(MARKET_SETUPS[market].reserves) as AssetName[]
  const call = { abi: DATA_PROVIDER_ABI, functionName: 'getReserveTokensAddresses' } as const
  const answers = await rpc.batch<Hex>(
    names.map((name) => ({
      method: 'eth_call',
      params: [
        { to: MARKETS[market].dataProvider, data: encodeFunctionData({ ...call, args: [ASSETS[name].address] }) },
        'latest',
      ],
    })),
  )
  return names.map((name, index) => {
    const { address: asset, symbol, decimals } = ASSETS[name]
    const [aToken, stableDebtToken, variableDebtToken] = decodeFunctionResult({
      ...call,
      data: elementAt(answers, index),
    })
    return { name, asset, symbol, decimals, aToken, stableDebtToken, variableDebtToken }
  })
}
