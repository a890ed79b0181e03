import { encodeAbiParameters, type Hex } from 'viem'
import { BANK } from '../../addresses.ts'
import { ASSETS, MARKETS } from '../addresses.ts'
import { ALL, borrowCall, repayCall, supplyCall, withdrawCall } from '../calls.ts'
import { configureCalls } from '../market.ts'
import type { MarketPlan } from '../release.ts'
import { MARKET_SETUPS } from '../reserves.ts'
import { rawUsd } from '../scenario.ts'
import { type Act, attempt, call, choice, onConfigurator, onPool, type Scene } from './scene.ts'

const DAY_SEC = 86_400
/** Word of `getReserveData` that holds a reserve's strategy in 3.0. */
const STRATEGY_WORD = 11
const GET_RESERVE_DATA = '0x35ea6a75'

/** What governance does in every version. */
export const GOVERNANCE_ACTS = {
  'interest for the treasury': (scene) => {
    const assets = scene.traded.map((asset) => ASSETS[asset].address)
    return attempt(scene, [onPool(scene, BANK, 'mintToTreasury', [assets])])
  },
  'treasury withdraws': (scene) => {
    const { movement } = choice(scene)
    return attempt(scene, [withdrawCall({ ...movement, wallet: scene.treasury, amount: ALL })])
  },
  'reserve factor': (scene) => {
    const factor = BigInt(1_000 + scene.random.below(3_000))
    return attempt(scene, [onConfigurator(scene, 'setReserveFactor', [choice(scene).address, factor])])
  },
  // Not of collateral: since 3.6 what was frozen gives no loans afterwards.
  freeze: (scene) =>
    attempt(
      scene,
      [true, false].map((on) => onConfigurator(scene, 'setReserveFreeze', [ASSETS.usdc.address, on])),
    ),
  'reserve listed, used and dropped': listAndDrop,
} as const satisfies Record<string, Act>

export const OLD_GOVERNANCE_ACTS = {
  'rate strategy': async (scene) => {
    const { address } = choice(scene)
    const like = ASSETS[scene.random.pick(scene.traded)].address
    const data: Hex = `${GET_RESERVE_DATA}${like.slice(2).padStart(64, '0')}`
    const answer = await scene.rpc.call<Hex>('eth_call', { to: MARKETS[scene.market].pool, data }, 'latest')
    const strategy = `0x${answer.slice(2 + 64 * STRATEGY_WORD).slice(24, 64)}`
    return attempt(scene, [onConfigurator(scene, 'setReserveInterestRateStrategyAddress', [address, strategy])])
  },
} as const satisfies Record<string, Act>

export const NEW_GOVERNANCE_ACTS = {
  'rate data': (scene) => {
    const bps = [8_000 + scene.random.below(1_000), scene.random.below(100), 300 + scene.random.below(900), 9_000]
    const rates = encodeAbiParameters(
      [{ type: 'uint16' }, { type: 'uint32' }, { type: 'uint32' }, { type: 'uint32' }],
      bps as [number, number, number, number],
    )
    return attempt(scene, [onConfigurator(scene, 'setReserveInterestRateData', [choice(scene).address, rates])])
  },
} as const satisfies Record<string, Act>

/** A reserve comes, is used by some, in 3.0 with a stable debt that is rebalanced, and goes when all have left. */
async function listAndDrop(scene: Scene): Promise<boolean> {
  const { market, passing: asset, aave, treasury } = scene
  const [lender, stable, variable] = [scene.stranger(), scene.stranger(), scene.stranger()]
  const isOld = market === 'v3_0'
  await listPassing(scene)
  const owe = (wallet: typeof lender, usd: number, mode: 'stable' | 'variable') => [
    supplyCall({ market, wallet, asset: 'weth', amount: rawUsd('weth', 5_000) }),
    borrowCall({ market, wallet, asset, amount: rawUsd(asset, usd), mode }),
  ]
  const { address } = ASSETS[asset]
  const lent = supplyCall({ market, wallet: lender, asset, amount: rawUsd(asset, 2_000) })
  if (!(await attempt(scene, [lent, ...owe(stable, 450, isOld ? 'stable' : 'variable')]))) return false
  if (!(await attempt(scene, owe(variable, 1_500, 'variable')))) return false
  await aave.warp(3 * DAY_SEC)
  if (isOld && !(await attempt(scene, [onPool(scene, BANK, 'rebalanceStableBorrowRate', [address, stable])])))
    return false
  await aave.warp(DAY_SEC)
  const amount = rawUsd(asset, 10_000)
  const aToken = await readAToken(scene, address)
  return attempt(scene, [
    repayCall({ market, wallet: stable, asset, amount, mode: isOld ? 'stable' : 'variable' }),
    repayCall({ market, wallet: variable, asset, amount }),
    // What rounding may have left too little.
    { from: BANK, to: address, data: call('transfer', [aToken, 1_000n]) },
    withdrawCall({ market, wallet: lender, asset, amount: ALL }),
    onPool(scene, BANK, 'mintToTreasury', [[address]]),
    withdrawCall({ market, wallet: treasury, asset, amount: ALL }),
    onConfigurator(scene, 'setDebtCeiling', [address, 0n]),
    onConfigurator(scene, 'dropReserve', [address]),
  ])
}

/** Lists the reserve that comes and goes, isolated at first. */
export async function listPassing(scene: Scene): Promise<void> {
  const { market, passing: asset, send, release } = scene
  const like = { ...MARKET_SETUPS[market].reserves.usdc, debtCeilingCents: 1_000_00 }
  const plan: MarketPlan = {
    name: market,
    addresses: MARKETS[market],
    setup: { reserves: { [asset]: like }, emodes: [] },
  }
  const { address, feed } = ASSETS[asset]
  await send([
    { from: BANK, to: MARKETS[market].oracle, data: call('setAssetSources', [[address], [feed]]) },
    ...(await release.listReserves(send, plan)),
  ])
  await send(configureCalls(release, plan))
}

async function readAToken({ rpc, market }: Scene, asset: Hex): Promise<Hex> {
  const data: Hex = `${GET_RESERVE_DATA}${asset.slice(2).padStart(64, '0')}`
  const answer = await rpc.call<Hex>('eth_call', { to: MARKETS[market].pool, data }, 'latest')
  return `0x${answer.slice(2 + 64 * 8).slice(24, 64)}`
}
