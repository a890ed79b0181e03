import { beforeAll, describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { isInCategory } from '../../../../src/family/aave_v3/math/account.ts'
import { safeBorrow, safeWithdraw } from '../../../../src/family/aave_v3/math/safe.ts'
import type { Position } from '../../../../src/family/aave_v3/read/position.ts'
import { parseRational, type Rational, rational } from '../../../../src/lib/number/rational.ts'
import { ASSETS, type AssetName, MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import { borrowCall, supplyCall, withdrawCall } from '../../../devnet/aave_v3/calls.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { type EmodeSetup, MARKET_SETUPS, type MarketSetup } from '../../../devnet/aave_v3/reserves.ts'
import { rawUsd } from '../../../devnet/aave_v3/scenario.ts'
import { exclusiveAave } from '../../../devnet/aave_v3/shared.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { createRandom } from '../../../devnet/random.ts'
import type { Transaction } from '../../../devnet/transaction.ts'
import { caseCount } from '../../../support/cases.ts'
import { createChain, createClient, readWallets } from './support.ts'

const RANDOM_COUNT = caseCount(200, 40)
const TARGETS = ['1.01', '1.1', '1.25', '1.5', '2', '3.75']
/** How far from the target a health factor may be, relative to it. */
const NEAR = 1e-6
/** Below this a raw unit of a token with 6 decimals, or what accrues in the seconds in between, is more than that. */
const LEAST_USD = 25
const NAMES = Object.keys(MARKETS) as MarketName[]

let devnet: Devnet
let aave: AaveDevnet
let random: readonly Address[]

beforeAll(async () => {
  const shared = await exclusiveAave()
  devnet = shared.devnet
  aave = shared.aave
  random = (await aave.randomWallets(90_210, RANDOM_COUNT)).wallets
  // So that no pool is too empty for all of them together.
  const lender = toWalletAddress('aave lender to many')
  const borrowable = NAMES.flatMap((market) =>
    aave.markets[market].reserves
      .filter(({ name }) => (MARKET_SETUPS[market] as MarketSetup).reserves[name]?.borrowable === true)
      .filter(({ name }) => !['paused', 'frozen', 'mkr'].includes(name))
      .map(({ name }) => supplyCall({ market, wallet: lender, asset: name, amount: rawUsd(name, 8_000_000) })),
  )
  await devnet.send(borrowable)
}, 180_000)

/** What a wallet has in a market, and the health factor that it is brought to. */
interface Case {
  readonly wallet: Address
  readonly market: MarketName
  readonly position: Position
  readonly target: Rational
}

async function readCases(wallets: readonly Address[], seed: number): Promise<Case[]> {
  const dice = createRandom(seed)
  const read = await readWallets(createClient(createChain(devnet)), wallets)
  return read.wallets.flatMap(({ wallet, positions }) =>
    positions.map((position) => {
      const target = parseRational(dice.pick(TARGETS))
      if (target === undefined) throw new Error('Cannot read a target')
      return { wallet, market: position.market as MarketName, position, target }
    }),
  )
}

function toNumber({ numerator, denominator }: Rational): number {
  return Number((numerator * 10n ** 15n) / denominator) / 1e15
}

/** Health factors afterwards, by the pools' own account. */
async function readFactors(cases: readonly Case[]) {
  return Promise.all(
    cases.map(async ({ market, wallet }) => {
      const data = await aave.getUserAccountData(market, wallet)
      return { factor: Number(data.healthFactor) / 1e18, ...data }
    }),
  )
}

function getAsset(address: Address): AssetName {
  const [name] = Object.entries(ASSETS).find(([, asset]) => asset.address === address) ?? []
  if (name === undefined) throw new Error(`Cannot find the asset ${address}`)
  return name as AssetName
}

/** An asset that this wallet may borrow, with as many decimals as there is one. */
function getBorrowable({ market, position }: Case): AssetName {
  const { emodes, reserves }: { emodes: readonly EmodeSetup[]; reserves: MarketSetup['reserves'] } =
    MARKET_SETUPS[market]
  const category = emodes.find(({ id }) => id === position.category?.id)
  const isolated = position.assets.some(({ isCollateral, reserve }) => isCollateral && reserve.debtCeiling > 0n)
  const allowed = (asset: AssetName) =>
    category !== undefined ? category.borrowable.includes(asset) : !isolated || reserves[asset]?.borrowableInIsolation
  const asset = (['weth', 'dai', 'usdc'] as const).find((each) => reserves[each] !== undefined && allowed(each))
  if (asset === undefined) throw new Error(`Cannot find what to borrow in the market ${market}`)
  return asset
}

describe('a safe amount, executed', () => {
  test('borrowed, ends at the target health factor, at the maximum LTV or at the debt ceiling', async () => {
    const prices = new Map(await Promise.all(NAMES.map(async (name) => [name, await aave.getPrices(name)] as const)))
    const cases = (await readCases(random.slice(0, RANDOM_COUNT / 2), 1)).filter((each) => {
      const { data } = each.position
      return toNumber(safeBorrow(each.position, each.target)) * 1e8 + Number(data.totalDebt) > LEAST_USD * 1e8
    })
    const executed: Case[] = []
    const calls: Transaction[] = []
    for (const each of cases) {
      const safe = safeBorrow(each.position, each.target)
      const asset = getBorrowable(each)
      const price = prices.get(each.market)?.get(asset) ?? 0n
      const unit = 10n ** BigInt(ASSETS[asset].decimals)
      const exact = (safe.numerator * each.position.unit * unit) / (safe.denominator * price)
      // At a limit the pool compares to the unit, and interest accrues until then.
      const amount = endsEarlier(each) ? (exact * 999_999n) / 1_000_000n : exact
      if (amount === 0n) continue
      executed.push(each)
      calls.push(borrowCall({ market: each.market, wallet: each.wallet, asset, amount }))
    }
    await devnet.send(calls)
    const counts = { onTarget: 0, limited: 0 }
    for (const [index, after] of (await readFactors(executed)).entries()) {
      const each = executed[index] as Case
      const target = toNumber(each.target)
      if (endsEarlier(each)) {
        expect(after.factor).toBeGreaterThan(target * (1 - NEAR))
        if (!isIsolated(each)) {
          const limit = Number(after.availableBorrowsBase + after.totalDebtBase)
          expect(Number(after.availableBorrowsBase) / limit).toBeLessThan(3e-6)
        }
        counts.limited++
      } else {
        expect(Math.abs(after.factor / target - 1)).toBeLessThan(NEAR)
        counts.onTarget++
      }
    }
    expect(counts.onTarget).toBeGreaterThan(RANDOM_COUNT / 5)
    expect(counts.limited).toBeGreaterThan(RANDOM_COUNT / 20)
  }, 60_000)

  test('withdrawn, collateral without LTV first and the rest in proportion, ends at the target', async () => {
    // Two of the named wallets take part; other tests need them unchanged.
    const snapshot = await devnet.rpc.call('evm_snapshot')
    try {
      const { ltvZero, emodeLtvZero } = aave.wallets
      const cases = [
        ...(await readCases(random.slice(RANDOM_COUNT / 2), 2)),
        // The first has to give all that has no LTV and some more, the second a part of it.
        ...(await readCases([ltvZero], 3)).map((each) => ({ ...each, target: rational(101n, 100n) })),
        ...(await readCases([emodeLtvZero], 4)).map((each) => ({ ...each, target: rational(2n, 1n) })),
      ]
      const executed: { readonly each: Case; readonly parts: readonly Part[] }[] = []
      for (const each of cases) {
        const takenE8 = toNumber(safeWithdraw(each.position, each.target)) * 1e8
        if (takenE8 < LEAST_USD * 1e8 || Number(each.position.data.totalDebt) < LEAST_USD * 1e8) continue
        const parts = createParts(each, takenE8)
        if (parts !== undefined) executed.push({ each, parts })
      }
      await devnet.send(
        executed.flatMap(({ each: { market, wallet }, parts }) =>
          parts.map(({ asset, amount }) => {
            return withdrawCall({ market, wallet, asset: getAsset(asset.reserve.asset), amount })
          }),
        ),
      )
      const after = await readFactors(executed.map(({ each }) => each))
      for (const [index, { factor, totalCollateralBase }] of after.entries()) {
        const { each, parts } = executed[index] as (typeof executed)[number]
        // A raw unit of some tokens is worth a part of what is left that can be seen.
        const grains = parts.map(({ asset }) => Number(asset.price) / 10 ** asset.reserve.decimals)
        const grain = grains.reduce((sum, value) => sum + value, 0) / Number(totalCollateralBase)
        // 3.0 uses the average threshold in whole basis points, which may change.
        const isCut = each.market === 'v3_0' && parts.length > 1
        const cut = isCut ? 1 / Number(each.position.data.liquidationThresholdBps) : 0
        expect(Math.abs(factor / toNumber(each.target) - 1)).toBeLessThan(NEAR + grain + cut)
      }
      const withoutLtv = executed.filter(({ each, parts }) => parts.some(({ asset }) => !hasLtv(each, asset)))
      expect(withoutLtv.map(({ each: { wallet } }) => wallet)).toEqual([ltvZero, emodeLtvZero])
      expect(withoutLtv.map(({ parts }) => parts.length)).toEqual([2, 1])
      expect(executed.filter(({ parts }) => parts.length > 1).length).toBeGreaterThan(RANDOM_COUNT * 0.075)
      expect(executed.length).toBeGreaterThan(RANDOM_COUNT / 5)
    } finally {
      await devnet.rpc.call('evm_revert', snapshot)
    }
  }, 60_000)
})

/** True if something other than the health factor limits a borrowing. */
function endsEarlier(each: Case): boolean {
  const { data } = each.position
  const safeE8 = toNumber(safeBorrow(each.position, each.target)) * 1e8
  const byHealth =
    data.totalDebt > 0n
      ? (Number(data.healthFactorWad) / 1e18 / toNumber(each.target) - 1) * Number(data.totalDebt)
      : (Number(data.totalCollateral) * Number(data.liquidationThresholdBps)) / 10_000 / toNumber(each.target)
  // The average threshold is cut to basis points, which is less than what lies between the two.
  return safeE8 < byHealth * 0.999
}

function isIsolated({ position }: Case): boolean {
  return position.assets.some(({ isCollateral, reserve }) => isCollateral && reserve.debtCeiling > 0n)
}

type Held = Position['assets'][number]

/** What is taken out of one collateral, raw units. */
interface Part {
  readonly asset: Held
  readonly amount: bigint
}

/** By the rules of `ValidationLogic`, independent of the code that calculates the figures. */
function hasLtv({ market, position }: Case, asset: Held): boolean {
  const { category } = position
  const own = asset.reserve.ltvBps > 0n
  if (category === undefined || market === 'v3_0') return own
  if (!isInCategory(asset.reserve, position)) return own
  return ((category.zeroLtvBitmap >> BigInt(asset.reserve.id)) & 1n) === 0n
}

/** How much of each collateral may be taken out; undefined if a pool cannot pay its part. */
function createParts(each: Case, takenE8: number): Part[] | undefined {
  const collaterals = each.position.assets.filter(({ isCollateral, supplied }) => isCollateral && supplied > 0n)
  const valueE8 = ({ supplied, price, reserve }: Held) => (Number(supplied) * Number(price)) / 10 ** reserve.decimals
  const total = (group: readonly Held[]) => group.reduce((sum, asset) => sum + valueE8(asset), 0)
  const first = collaterals.filter((asset) => !hasLtv(each, asset))
  const rest = collaterals.filter((asset) => hasLtv(each, asset))
  const fromFirst = Math.min(takenE8, total(first))
  const parts = [
    ...first.map((asset) => ({ asset, share: fromFirst / total(first) })),
    ...rest.map((asset) => ({ asset, share: (takenE8 - fromFirst) / total(rest) })),
  ]
  if (parts.some(({ asset }) => !asset.reserve.isOpen || asset.reserve.withdrawable < asset.supplied)) return undefined
  return parts
    .map(({ asset, share }) => ({ asset, amount: (asset.supplied * BigInt(Math.floor(share * 1e15))) / 10n ** 15n }))
    .filter(({ amount }) => amount > 0n)
}
