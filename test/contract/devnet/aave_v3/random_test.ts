import { expect, test } from 'bun:test'
import type { Address } from 'viem'
import { ASSETS, MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import { loadArtifacts } from '../../../devnet/aave_v3/compile.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { SCENARIO_SEC } from '../../../devnet/aave_v3/scenario.ts'
import { startDevnet } from '../../../devnet/mod.ts'
import { caseCount } from '../../../support/cases.ts'

const COMPILE_LIMIT_MS = 120_000
const COUNT = caseCount(200, 60)
const NAMES = Object.keys(MARKETS) as MarketName[]

test(
  'a devnet with Aave tells its stages, and builds it once',
  async () => {
    await loadArtifacts()
    const stages: string[] = []
    const devnet = await startDevnet({ onProgress: (stage) => stages.push(stage) })
    try {
      await devnet.aave()
      expect(stages.filter((stage) => /Aave|lend/.test(stage))).toHaveLength(2)
      expect(await devnet.aave()).toBe(await devnet.aave())
    } finally {
      await devnet.stop()
    }
  },
  COMPILE_LIMIT_MS,
)

test(
  'randomWallets() gives the same wallets for the same seed: many, in every market, with and without debt',
  async () => {
    await loadArtifacts()
    const build = async () => {
      const devnet = await startDevnet({ ageSec: SCENARIO_SEC })
      try {
        const aave = await devnet.aave()
        const { wallets } = await aave.randomWallets(7, COUNT)
        const reserves = await Promise.all(NAMES.map((market) => aave.getUserReservesMany(market, wallets)))
        for (const market of ['main', 'lido', 'etherfi'] as const) await checkTotals(aave, market, wallets)
        return reserves
      } finally {
        await devnet.stop()
      }
    }
    const [one, other] = [await build(), await build()]
    const shape = (reserves: typeof one) =>
      reserves.map((market) => market.map((held) => held.map(({ asset, isCollateral }) => `${asset} ${isCollateral}`)))
    expect(shape(one)).toEqual(shape(other))
    for (const held of one) {
      expect(held.filter((reserves) => reserves.length > 0).length).toBeGreaterThan(COUNT / 10)
      expect(held.flat().filter(({ variableDebt }) => variableDebt > 0n).length).toBeGreaterThan(COUNT / 20)
    }
    const main = one[0]?.flat() ?? []
    expect(main.filter(({ supplied, isCollateral }) => supplied > 0n && !isCollateral).length).toBeGreaterThan(
      COUNT / 10,
    )
  },
  COMPILE_LIMIT_MS,
)

/** Since 3.5: a supply is worth its floor and a debt its ceiling; what is not collateral counts for nothing. */
async function checkTotals(aave: AaveDevnet, market: MarketName, wallets: readonly Address[]): Promise<void> {
  const block = await aave.blockNumber()
  const prices = await aave.getPrices(market, block)
  const accounts = await aave.getUserAccountDataMany(market, wallets, block)
  const held = await aave.getUserReservesMany(market, wallets, block)
  const totals = held.map((reserves) => {
    let [collateral, debt] = [0n, 0n]
    for (const { asset, supplied, variableDebt, isCollateral } of reserves) {
      const [price, unit] = [prices.get(asset) ?? 0n, 10n ** BigInt(ASSETS[asset].decimals)]
      if (isCollateral) collateral += (supplied * price) / unit
      debt += (variableDebt * price + unit - 1n) / unit
    }
    return [collateral, debt]
  })
  expect(totals).toEqual(accounts.map(({ totalCollateralBase, totalDebtBase }) => [totalCollateralBase, totalDebtBase]))
}
