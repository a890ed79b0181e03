import type { Address } from 'viem'
import type { AssetName } from '../addresses.ts'
import { borrowCall, liquidateCall, setPriceCall, supplyCall } from '../calls.ts'
import { rawUsd } from '../scenario.ts'
import { type Act, attempt, type Scene } from './scene.ts'

const HOUR_SEC = 3_600
/** What prices are outside of crashes, USD with 8 decimals, and what is left of them in a crash. */
const PRICES = { weth: 3_021_48273645n, weeth: 3_158_20994716n, wbtc: 91_307_55190381n } as const
const CRASH_PERCENT = { partly: 81n, further: 68n, fully: 45n } as const

type Collateral = keyof typeof PRICES

interface Liquidation {
  readonly collateral: Collateral
  /** What the victims supply, and owe. USD of the prices at the start. */
  readonly supplied: readonly (readonly [AssetName, number])[]
  readonly owed: readonly (readonly [AssetName, number, ('stable' | 'variable')?])[]
  readonly crashed: Collateral
  readonly crash: keyof typeof CRASH_PERCENT
  /** Absent: as much as the Pool allows. */
  readonly repaidUsd?: number
  readonly receiveAToken: boolean
  /** How many victims there are, one some time after the other. */
  readonly victims: number
}

/** Two thirds of a loan. */
const PARTLY = {
  collateral: 'weth',
  supplied: [['weth', 10_000]],
  owed: [['usdc', 7_000]],
  crashed: 'weth',
  crash: 'partly',
  repaidUsd: 2_000,
  receiveAToken: false,
  victims: 1,
} as const satisfies Liquidation

/** Wallets are liquidated in every way; the protocol takes its fee. */
export const LIQUIDATION_ACTS = {
  'liquidation for the asset': (scene) => liquidation(scene, PARTLY),
  'liquidation for aTokens': (scene) => liquidation(scene, { ...PARTLY, receiveAToken: true }),
  'liquidations for aTokens in a row': (scene) => liquidation(scene, { ...PARTLY, receiveAToken: true, victims: 3 }),
  'liquidation of one asset': (scene) => liquidation(scene, oneAsset(scene)),
  'liquidation of one asset for aTokens': (scene) => liquidation(scene, { ...oneAsset(scene), receiveAToken: true }),
} as const satisfies Record<string, Act>

export const OLD_LIQUIDATION_ACTS = {
  'liquidation of stable and variable debt': (scene) =>
    liquidation(scene, {
      ...PARTLY,
      owed: [
        ['usdc', 5_000, 'stable'],
        ['usdc', 2_000],
      ],
      repaidUsd: 3_000,
    }),
} as const satisfies Record<string, Act>

export const NEW_LIQUIDATION_ACTS = {
  'debt written off': (scene) => liquidation(scene, { ...withoutLimit(PARTLY), crash: 'fully' }),
  'debts written off, for aTokens': (scene) =>
    liquidation(scene, {
      ...withoutLimit(PARTLY),
      crash: 'fully',
      receiveAToken: true,
      owed: [
        ['usdc', 5_000],
        [scene.second, 800],
      ],
    }),
} as const satisfies Record<string, Act>

function oneAsset({ second }: Scene): Liquidation {
  return {
    ...PARTLY,
    supplied: [
      ['weth', 3_000],
      [second, 10_000],
    ],
    owed: [['weth', 9_000]],
    crashed: second as Collateral,
    crash: 'further',
    repaidUsd: 1_000,
  }
}

function withoutLimit({ repaidUsd: _, ...liquidation }: Liquidation & { readonly repaidUsd: number }): Liquidation {
  return liquidation
}

/** Time passes before each of them, so that the reserves have interest to accrue. */
async function liquidation(scene: Scene, of: Liquidation): Promise<boolean> {
  const { market, aave, random, send } = scene
  const victims = Array.from({ length: of.victims }, () => scene.stranger())
  await aave.warp(HOUR_SEC)
  if (
    !(await attempt(
      scene,
      victims.flatMap((wallet) => loanCalls(scene, wallet, of)),
    ))
  )
    return false
  await send([setPriceCall(of.crashed, (PRICES[of.crashed] * CRASH_PERCENT[of.crash]) / 100n)])
  const debt = of.owed[0]?.[0] ?? 'usdc'
  const amount = of.repaidUsd === undefined ? {} : { amount: rawUsd(debt, of.repaidUsd) }
  let isDone = true
  for (const wallet of victims) {
    await aave.warp(HOUR_SEC + random.below(48 * HOUR_SEC))
    const { collateral, receiveAToken } = of
    isDone &&= await attempt(scene, [liquidateCall({ market, wallet, collateral, debt, receiveAToken, ...amount })])
  }
  await send([setPriceCall(of.crashed, PRICES[of.crashed])])
  return isDone
}

function loanCalls({ market }: Scene, wallet: Address, { supplied, owed }: Liquidation) {
  return [
    ...supplied.map(([asset, usd]) => supplyCall({ market, wallet, asset, amount: rawUsd(asset, usd) })),
    ...owed.map(([asset, usd, mode = 'variable']) =>
      borrowCall({ market, wallet, asset, amount: rawUsd(asset, usd), mode }),
    ),
  ]
}
