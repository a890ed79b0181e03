import type { Address } from 'viem'
import { usdToRaw } from '../scenario.ts'
import type { Send, Transaction } from '../transaction.ts'
import type { AaveV3 } from './aave_v3.ts'
import { ASSETS, type AssetName, MARKETS, type MarketName, AAVE_WALLETS as W } from './addresses.ts'
import {
  ALL,
  borrowCall,
  liquidateCall,
  repayCall,
  restrictCall,
  setEmodeCall,
  setPriceCall,
  setUseAsCollateralCall,
  supplyCall,
  transferCall,
  withdrawCall,
} from './calls.ts'
import { MARKET_SETUPS, type ReserveSetup } from './reserves.ts'

const DAY_SEC = 86_400
/** How much time passes in the scenario. */
export const SCENARIO_SEC = 40 * DAY_SEC
const LENT_USD = 400_000
/** Little enough that borrowing drives the rate over its kink. */
const LENT_LITTLE_USD: Readonly<Partial<Record<AssetName, number>>> = { mkr: 1_000 }
const USD_E8 = 10n ** 8n
/** What prices are in the end: numbers that no calculation comes out even with. USD with 8 decimals. */
const LAST_PRICES: Readonly<Partial<Record<AssetName, bigint>>> = {
  weth: 3021_48273645n,
  wbtc: 91307_55190381n,
  usdc: 99987654n,
  dai: 1_00021347n,
  usdt: 1_00003911n,
}

const DUST = { market: 'main', wallet: W.dust } as const
const LEFT = { market: 'main', wallet: W.left } as const

/** What one wallet does in one market, in USD of the prices at the start. */
interface Holding {
  readonly wallet: Address
  readonly market?: MarketName
  readonly emode?: number
  readonly supply: Readonly<Partial<Record<AssetName, number>>>
  readonly borrow?: Readonly<Partial<Record<AssetName, number>>>
  /** Collateral that the Pool does not switch on by itself. */
  readonly on?: readonly AssetName[]
  readonly off?: readonly AssetName[]
}

const HOLDINGS: readonly Holding[] = [
  { wallet: W.supplier, supply: { weth: 30_000, weeth: 20_000, dai: 5_000 } },
  {
    wallet: W.borrower,
    supply: { weth: 300_000, wbtc: 200_000, usdc: 100_000 },
    borrow: { usdc: 150_000, dai: 90_000, weth: 40_000, mkr: 4_000 },
  },
  { wallet: W.emode, emode: 1, supply: { wsteth: 50_000, weeth: 20_000 }, borrow: { weth: 60_000 } },
  { wallet: W.mixedEmode, emode: 1, supply: { wsteth: 20_000, usdc: 10_000 }, borrow: { weth: 18_000 } },
  { wallet: W.modal, emode: 7, supply: { modal: 8_000, wbtc: 1_000 }, borrow: { usdc: 6_000 } },
  { wallet: W.emodeLtvZero, emode: 4, supply: { wbtc: 9_000, weth: 9_000 }, borrow: { usdc: 6_000 } },
  { wallet: W.isolated, supply: { isolated: 10_000 }, on: ['isolated'], borrow: { usdc: 3_000, dai: 500 } },
  { wallet: W.switchedOff, supply: { weth: 10_000, wbtc: 5_000 }, off: ['wbtc'], borrow: { usdc: 3_000 } },
  { wallet: W.ltvZero, supply: { ltvZero: 10_000, weth: 5_000 }, borrow: { usdc: 4_000 } },
  { wallet: W.paused, supply: { paused: 3_000, weth: 2_000 }, borrow: { usdc: 1_000, paused: 300 } },
  { wallet: W.frozen, supply: { frozen: 4_000, weth: 2_000 }, borrow: { dai: 1_000, frozen: 700 } },
  { wallet: W.liquidated, supply: { volatile: 20_000 }, borrow: { usdc: 13_000 } },
  { wallet: W.underwater, supply: { volatile: 10_000 }, borrow: { usdc: 5_500 } },
  { wallet: W.insolvent, supply: { volatile: 10_000 }, borrow: { usdt: 6_900 } },
  { wallet: W.badDebt, supply: { volatile: 5_000 }, borrow: { usdc: 3_000, dai: 450 } },
  { wallet: W.left, supply: { weth: 2_000, usdc: 1_000 }, borrow: { dai: 500 } },
  { wallet: W.breakable, supply: { breakable: 5_000 }, borrow: { usdc: 1_000 } },
  { wallet: W.breakable, market: 'lido', supply: { wsteth: 3_000 }, borrow: { weth: 1_000 } },
  { wallet: W.bytes32, supply: { mkr: 5_000, gho: 500 }, borrow: { gho: 1_000 } },
  { wallet: W.everywhere, supply: { weth: 7_000, usdc: 4_000 }, borrow: { usdt: 5_000 } },
  { wallet: W.everywhere, market: 'lido', emode: 1, supply: { wsteth: 9_000 }, borrow: { weth: 7_500 } },
  { wallet: W.everywhere, market: 'etherfi', supply: { weeth: 6_000, usdc: 500 }, borrow: { usdc: 3_000 } },
  { wallet: W.lidoOnly, market: 'lido', supply: { wsteth: 8_000, usdc: 900 }, borrow: { usdc: 2_500 } },
  { wallet: W.etherfiOnly, market: 'etherfi', emode: 1, supply: { weeth: 11_000 }, borrow: { weth: 9_000 } },
  { wallet: W.oldSupplier, market: 'v3_0', supply: { weth: 3_000, dai: 4_000 } },
  { wallet: W.oldBorrower, market: 'v3_0', supply: { weth: 20_000, wbtc: 10_000 }, borrow: { usdc: 5_000 } },
  { wallet: W.oldEmode, market: 'v3_0', emode: 1, supply: { usdc: 10_000 }, borrow: { dai: 9_000 } },
]

/** Builds the wallets by real transactions; interest accrues between the steps. */
export async function buildAaveScenario(send: Send, aave: AaveV3): Promise<void> {
  // What one transaction needs of another sender's is a stage before it: their order within a stage is the node's.
  await send(HOLDINGS.flatMap(emodeCalls))
  await send([...lenderCalls(), ...dustSupplies(), ...HOLDINGS.flatMap(supplyCalls)])
  await send([...dustDebts(), ...HOLDINGS.flatMap(collateralCalls)])
  await aave.warp(SCENARIO_SEC / 4)
  await send([...HOLDINGS.flatMap(borrowCalls), ...oldStableCalls()])
  await aave.warp(SCENARIO_SEC / 4)
  await send([...transferCalls(aave), ...leaveRepayment()])
  await send([...receiverCalls(), ...leaveWithdrawals()])
  await send(crashCalls())
  await send(restrictCalls())
  await aave.warp(SCENARIO_SEC / 2)
  await send(entries(LAST_PRICES).map(([asset, usdE8]) => setPriceCall(asset, usdE8)))
}

/** Raw units of an asset that so many USD buy at the start. */
export function rawUsd(asset: AssetName, usd: number): bigint {
  return usdToRaw(ASSETS[asset], usd)
}

function lenderCalls(): Transaction[] {
  return (Object.keys(MARKETS) as MarketName[]).flatMap((market) =>
    entries<ReserveSetup>(MARKET_SETUPS[market].reserves)
      .filter(([, { borrowable }]) => borrowable)
      .map(([asset]) =>
        supplyCall({ market, wallet: W.lender, asset, amount: rawUsd(asset, LENT_LITTLE_USD[asset] ?? LENT_USD) }),
      ),
  )
}

/** While every index is 1: later so little would be nothing. */
function dustSupplies(): Transaction[] {
  return [
    supplyCall({ ...DUST, asset: 'usdc', amount: 3n }),
    supplyCall({ ...DUST, asset: 'wsteth', amount: 1n }),
    supplyCall({ ...DUST, asset: 'wbtc', amount: 1n }),
  ]
}

function dustDebts(): Transaction[] {
  return [borrowCall({ ...DUST, asset: 'usdc', amount: 1n }), borrowCall({ ...DUST, asset: 'dai', amount: 1n })]
}

function emodeCalls({ wallet, market = 'main', emode }: Holding): Transaction[] {
  return emode === undefined ? [] : [setEmodeCall({ market, wallet, category: emode })]
}

function supplyCalls({ wallet, market = 'main', supply }: Holding): Transaction[] {
  return raw(supply).map(([asset, amount]) => supplyCall({ market, wallet, asset, amount }))
}

function collateralCalls({ wallet, market = 'main', on = [], off = [] }: Holding): Transaction[] {
  return [
    ...on.map((asset) => setUseAsCollateralCall({ market, wallet, asset, on: true })),
    ...off.map((asset) => setUseAsCollateralCall({ market, wallet, asset, on: false })),
  ]
}

function borrowCalls({ wallet, market = 'main', borrow = {} }: Holding): Transaction[] {
  return raw(borrow).map(([asset, amount]) => borrowCall({ market, wallet, asset, amount }))
}

function oldStableCalls(): Transaction[] {
  const common = { market: 'v3_0', wallet: W.oldBorrower, mode: 'stable' } as const
  return [borrowCall({ ...common, asset: 'dai', amount: rawUsd('dai', 3_000) })]
}

function transferCalls(aave: AaveV3): Transaction[] {
  const send = (asset: AssetName, to: Address, usd: number) =>
    transferCall({ token: aave.reserveOf('main', asset).aToken, from: W.supplier, to, amount: rawUsd(asset, usd) })
  return [
    send('weth', W.receiver, 2_000),
    send('weeth', W.receiverBorrower, 3_000),
    // Isolated wallets cannot use a second collateral: this supply stays without.
    supplyCall({ market: 'main', wallet: W.isolated, asset: 'weth', amount: rawUsd('weth', 1_000) }),
  ]
}

function receiverCalls(): Transaction[] {
  const borrower = { market: 'main', wallet: W.receiverBorrower } as const
  return [
    setUseAsCollateralCall({ ...borrower, asset: 'weeth', on: true }),
    borrowCall({ ...borrower, asset: 'usdt', amount: rawUsd('usdt', 700) }),
  ]
}

function leaveRepayment(): Transaction[] {
  return [repayCall({ ...LEFT, asset: 'dai', amount: rawUsd('dai', 600) })]
}

function leaveWithdrawals(): Transaction[] {
  return [withdrawCall({ ...LEFT, asset: 'weth', amount: ALL }), withdrawCall({ ...LEFT, asset: 'usdc', amount: ALL })]
}

/** The price falls twice: one wallet is liquidated in part, one in full with debt left over, two are left alone. */
function crashCalls(): Transaction[] {
  const liquidated = { market: 'main', wallet: W.liquidated } as const
  const badDebt = { market: 'main', wallet: W.badDebt, collateral: 'volatile' } as const
  return [
    setPriceCall('volatile', 78n * USD_E8),
    liquidateCall({ ...liquidated, collateral: 'volatile', debt: 'usdc', amount: rawUsd('usdc', 6_000) }),
    repayCall({ ...liquidated, asset: 'usdc', amount: rawUsd('usdc', 2_000) }),
    setPriceCall('volatile', 60n * USD_E8),
    liquidateCall({ ...badDebt, debt: 'usdc' }),
  ]
}

function restrictCalls(): Transaction[] {
  return [
    restrictCall('main', { kind: 'ltvZero', asset: 'ltvZero', threshold: 6_000, bonus: 11_000 }),
    restrictCall('main', { kind: 'emodeLtvZero', asset: 'wbtc', category: 4 }),
    restrictCall('main', { kind: 'freeze', asset: 'frozen', on: true }),
    restrictCall('main', { kind: 'pause', asset: 'paused', on: true }),
  ]
}

function raw(usd: Readonly<Partial<Record<AssetName, number>>>): [AssetName, bigint][] {
  return entries(usd).map(([asset, value]) => [asset, rawUsd(asset, value)])
}

function entries<T>(byAsset: Readonly<Partial<Record<AssetName, T>>>): [AssetName, T][] {
  return Object.entries(byAsset) as [AssetName, T][]
}
