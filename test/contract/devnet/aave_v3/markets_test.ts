import { beforeAll, expect, test } from 'bun:test'
import { type Address, maxUint256 } from 'viem'
import {
  DATA_PROVIDER_ABI,
  DEFICIT_ABI,
  ORACLE_ABI,
  POOL_ABI,
  PROVIDER_ABI,
  TOKEN_ABI,
} from '../../../devnet/aave_v3/abi.ts'
import { ASSETS, type AssetName, MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { type SharedAave, sharedAave } from '../../../devnet/aave_v3/shared.ts'
import type { Devnet } from '../../../devnet/mod.ts'

const COMPILE_LIMIT_MS = 120_000
const WAD = 10n ** 18n
const NAMES = Object.keys(MARKETS) as MarketName[]

let devnet: Devnet
let aave: AaveDevnet
let built: SharedAave['built']

beforeAll(async () => {
  ;({ devnet, aave, built } = await sharedAave())
}, COMPILE_LIMIT_MS)

test('every market answers at its addresses, each contract wired to the others', async () => {
  for (const market of NAMES) {
    const { provider, pool, configurator, oracle, dataProvider } = MARKETS[market]
    const ask = (functionName: 'getPool' | 'getPoolConfigurator' | 'getPriceOracle' | 'getPoolDataProvider') =>
      devnet.client.readContract({ address: provider, abi: PROVIDER_ABI, functionName })
    expect(await ask('getPool')).toBe(pool)
    expect(await ask('getPoolConfigurator')).toBe(configurator)
    expect(await ask('getPriceOracle')).toBe(oracle)
    expect(await ask('getPoolDataProvider')).toBe(dataProvider)
    const back = { address: pool, abi: POOL_ABI, functionName: 'ADDRESSES_PROVIDER' } as const
    expect(await devnet.client.readContract(back)).toBe(provider)
    const list = { address: pool, abi: POOL_ABI, functionName: 'getReservesList' } as const
    expect(await devnet.client.readContract(list)).toEqual(aave.markets[market].reserves.map(({ asset }) => asset))
  }
})

test('the chain ends in the present after weeks of interest', async () => {
  const { timestamp } = await devnet.client.getBlock({ blockNumber: built.blockNumber })
  expect(Math.abs(Number(timestamp) - built.timeSec)).toBeLessThan(60)
  const { liquidityIndex, variableBorrowIndex } = await aave.getReserveData('main', 'usdc', built.blockNumber)
  expect(liquidityIndex).toBeGreaterThan(10n ** 27n)
  expect(variableBorrowIndex).toBeGreaterThan(liquidityIndex)
})

test('one reserve lends so much that its rate is over the kink', async () => {
  const { totalAToken, totalVariableDebt } = await aave.getReserveData('main', 'mkr', built.blockNumber)
  expect(totalVariableDebt * 100n).toBeGreaterThan(totalAToken * 45n)
})

test('restricted reserves are restricted', async () => {
  const read = (functionName: 'getReserveConfigurationData', asset: AssetName) =>
    devnet.client.readContract({
      address: MARKETS.main.dataProvider,
      abi: DATA_PROVIDER_ABI,
      functionName,
      args: [ASSETS[asset].address],
    })
  const [, ltv, threshold] = await read('getReserveConfigurationData', 'ltvZero')
  expect([ltv, threshold]).toEqual([0n, 6000n])
  expect((await read('getReserveConfigurationData', 'frozen'))[9]).toBe(true)
  expect((await read('getReserveConfigurationData', 'modal'))[2]).toBe(0n)
  const flags = { address: MARKETS.main.dataProvider, abi: DATA_PROVIDER_ABI } as const
  const paused = { ...flags, functionName: 'getPaused', args: [ASSETS.paused.address] } as const
  expect(await devnet.client.readContract(paused)).toBe(true)
  const ceiling = { ...flags, functionName: 'getDebtCeiling', args: [ASSETS.isolated.address] } as const
  expect(await devnet.client.readContract(ceiling)).toBeGreaterThan(0n)
})

test('wallets without debt have the largest health factor; the empty one and those that left have nothing', async () => {
  const { supplier, lender, receiver, empty, left, badDebt } = aave.wallets
  for (const wallet of [supplier, lender, receiver, empty, left, badDebt]) {
    const { totalDebtBase, healthFactor } = await aave.getUserAccountData('main', wallet)
    expect([totalDebtBase, healthFactor]).toEqual([0n, maxUint256])
  }
  for (const market of NAMES) {
    for (const wallet of [empty, left]) expect(await aave.getUserReserves(market, wallet)).toEqual([])
  }
})

test('the borrower has several collaterals and several debts', async () => {
  const reserves = await aave.getUserReserves('main', aave.wallets.borrower)
  expect(reserves.filter(({ isCollateral }) => isCollateral).length).toBeGreaterThanOrEqual(3)
  expect(reserves.filter(({ variableDebt }) => variableDebt > 0n).length).toBeGreaterThanOrEqual(4)
})

test('wallets in an eMode have its threshold, mixed ones something between', async () => {
  const { emode, mixedEmode, modal, etherfiOnly } = aave.wallets
  expect(await readEmode('main', emode)).toBe(1n)
  expect((await aave.getUserAccountData('main', emode)).currentLiquidationThreshold).toBe(9500n)
  const mixed = await aave.getUserAccountData('main', mixedEmode)
  expect(mixed.currentLiquidationThreshold).toBeGreaterThan(7800n)
  expect(mixed.currentLiquidationThreshold).toBeLessThan(9500n)
  expect(await readEmode('main', modal)).toBe(7n)
  expect(await readCollateral('main', modal)).toContain('modal')
  expect(await readEmode('etherfi', etherfiOnly)).toBe(1n)
})

test('collateral of LTV zero, by reserve and by eMode, counts for liquidation and gives no loan', async () => {
  for (const [wallet, thresholdAtLeast] of [
    [aave.wallets.ltvZero, 6000n],
    [aave.wallets.emodeLtvZero, 8600n],
  ] as const) {
    const { ltv, currentLiquidationThreshold } = await aave.getUserAccountData('main', wallet)
    expect(currentLiquidationThreshold).toBeGreaterThanOrEqual(thresholdAtLeast)
    expect(ltv).toBeLessThan(4200n)
    expect(ltv).toBeGreaterThan(0n)
  }
})

test('supplies are no collateral if switched off, isolated, received, or never collateral', async () => {
  const { switchedOff, isolated, receiver, receiverBorrower, bytes32 } = aave.wallets
  expect(await readCollateral('main', switchedOff)).toEqual(['weth'])
  expect(await readSupplied('main', switchedOff)).toContain('wbtc')
  expect(await readCollateral('main', isolated)).toEqual(['isolated'])
  expect(await readSupplied('main', isolated)).toContain('weth')
  expect(await readSupplied('main', receiver)).toEqual(['weth'])
  expect(await readCollateral('main', receiver)).toEqual([])
  expect(await readCollateral('main', receiverBorrower)).toEqual(['weeth'])
  expect(await readCollateral('main', bytes32)).toEqual(['mkr'])
  expect(await readSupplied('main', bytes32)).toContain('gho')
})

test('holdings in the paused and the frozen reserve still count', async () => {
  expect(await readCollateral('main', aave.wallets.paused)).toContain('paused')
  expect(await readCollateral('main', aave.wallets.frozen)).toContain('frozen')
  const debts = await aave.getUserReserves('main', aave.wallets.frozen)
  expect(debts.find(({ asset }) => asset === 'frozen')?.variableDebt).toBeGreaterThan(0n)
})

test('the price crash left one wallet liquidated and healthy, one underwater, one insolvent, one written off', async () => {
  const { liquidated, underwater, insolvent, badDebt } = aave.wallets
  const data = (wallet: Address) => aave.getUserAccountData('main', wallet)
  expect((await data(liquidated)).healthFactor).toBeGreaterThan(WAD)
  const under = await data(underwater)
  expect(under.healthFactor).toBeLessThan(WAD)
  expect(under.totalCollateralBase).toBeGreaterThan(under.totalDebtBase)
  const broke = await data(insolvent)
  expect(broke.totalCollateralBase).toBeLessThan(broke.totalDebtBase)
  expect(await aave.getUserReserves('main', badDebt)).toEqual([])
  for (const asset of ['usdc', 'dai'] as const) {
    const call = { abi: DEFICIT_ABI, functionName: 'getReserveDeficit', args: [ASSETS[asset].address] } as const
    expect(await devnet.client.readContract({ address: MARKETS.main.pool, ...call })).toBeGreaterThan(0n)
  }
})

test('dust is single raw units of supply and debt', async () => {
  const reserves = await aave.getUserReserves('main', aave.wallets.dust)
  expect(reserves.map(({ asset }) => asset).sort()).toEqual(['dai', 'usdc', 'wbtc', 'wsteth'])
  for (const { supplied, variableDebt } of reserves) expect(supplied + variableDebt).toBeLessThan(10n)
})

test('one wallet is in all three markets, others in one of them alone', async () => {
  const { everywhere, lidoOnly, etherfiOnly } = aave.wallets
  for (const market of ['main', 'lido', 'etherfi'] as const) {
    expect((await aave.getUserAccountData(market, everywhere)).totalDebtBase).toBeGreaterThan(0n)
  }
  expect(await aave.getUserReserves('main', lidoOnly)).toEqual([])
  expect(await aave.getUserReserves('main', etherfiOnly)).toEqual([])
  expect(await readSupplied('lido', lidoOnly)).toEqual(['wsteth', 'usdc'])
})

test('the 3.0 market has variable and stable debt and an eMode', async () => {
  const debts = await aave.getUserReserves('v3_0', aave.wallets.oldBorrower)
  expect(debts.find(({ asset }) => asset === 'dai')?.stableDebt).toBeGreaterThan(0n)
  expect(debts.find(({ asset }) => asset === 'usdc')?.variableDebt).toBeGreaterThan(0n)
  expect(await readEmode('v3_0', aave.wallets.oldEmode)).toBe(1n)
  for (const { stableDebtToken } of aave.markets.v3_0.reserves) expect(BigInt(stableDebtToken)).not.toBe(0n)
  for (const { stableDebtToken } of aave.markets.main.reserves) expect(BigInt(stableDebtToken)).toBe(0n)
})

test('an asset without a price fails only its holders, and only in its market', async () => {
  const { breakable, supplier } = aave.wallets
  const others = async () => [
    await aave.getUserAccountData('lido', breakable),
    await aave.getUserAccountData('main', supplier),
  ]
  const before = await aave.getUserAccountData('main', breakable)
  const fails = () => expect(aave.getUserAccountData('main', breakable)).rejects.toThrow('revert')
  await aave.breakFeed('breakable')
  await fails()
  expect(await others()).toHaveLength(2)
  await aave.mendFeed('breakable')
  await aave.setPrice('breakable', 0n)
  await fails()
  expect(await others()).toHaveLength(2)
  await aave.setPrice('breakable', BigInt(Math.round(ASSETS.breakable.usd * 1e8)))
  const after = await aave.getUserAccountData('main', breakable)
  // Except for a few seconds of interest on borrowed assets.
  const grown = after.totalCollateralBase - before.totalCollateralBase
  expect(grown).toBeGreaterThanOrEqual(0n)
  expect(grown * 1_000_000n).toBeLessThan(before.totalCollateralBase)
})

test('the helpers move a wallet through all its actions', async () => {
  const snapshot = await devnet.client.snapshot()
  const [wallet, market] = [aave.wallets.empty, 'lido'] as const
  await aave.supply({ market, wallet, asset: 'wsteth', amount: 10n ** 18n })
  await aave.setEMode({ market, wallet, category: 1 })
  await aave.borrow({ market, wallet, asset: 'weth', amount: 10n ** 18n })
  expect((await aave.getUserAccountData(market, wallet)).ltv).toBe(9350n)
  const { healthFactor } = await aave.getUserAccountData(market, wallet)
  await aave.warp(86_400 * 365)
  expect((await aave.getUserAccountData(market, wallet)).healthFactor).toBeLessThan(healthFactor)
  const price = await devnet.client.readContract({
    address: MARKETS.lido.oracle,
    abi: ORACLE_ABI,
    functionName: 'getAssetPrice',
    args: [ASSETS.wsteth.address],
  })
  await aave.setPrice('wsteth', (price * 8n) / 10n)
  await aave.liquidate({ market, wallet, collateral: 'wsteth', debt: 'weth', amount: 10n ** 17n })
  await aave.setPrice('wsteth', price)
  await aave.repay({ market, wallet, asset: 'weth', amount: 2n * 10n ** 18n })
  await aave.setUseAsCollateral({ market, wallet, asset: 'wsteth', on: false })
  await aave.transferAToken({ market, wallet, asset: 'wsteth', amount: 1000n, to: aave.wallets.left })
  expect(await readSupplied(market, aave.wallets.left)).toEqual(['wsteth'])
  await aave.withdraw({ market, wallet, asset: 'wsteth', amount: maxUint256 })
  expect(await aave.getUserReserves(market, wallet)).toEqual([])
  const balance = { address: ASSETS.wsteth.address, abi: TOKEN_ABI, functionName: 'balanceOf', args: [wallet] } as const
  expect(await devnet.client.readContract(balance)).toBeGreaterThan(0n)
  await devnet.client.revert({ id: snapshot })
})

async function readEmode(market: MarketName, wallet: Address): Promise<bigint> {
  const call = { abi: POOL_ABI, functionName: 'getUserEMode', args: [wallet] } as const
  return devnet.client.readContract({ address: MARKETS[market].pool, ...call })
}

async function readCollateral(market: MarketName, wallet: Address): Promise<AssetName[]> {
  const reserves = await aave.getUserReserves(market, wallet)
  return reserves.filter(({ isCollateral }) => isCollateral).map(({ asset }) => asset)
}

async function readSupplied(market: MarketName, wallet: Address): Promise<AssetName[]> {
  const reserves = await aave.getUserReserves(market, wallet)
  return reserves.filter(({ supplied }) => supplied > 0n).map(({ asset }) => asset)
}
