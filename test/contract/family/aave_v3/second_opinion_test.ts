import { beforeAll, describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import {
  computeBorrows,
  computeSupplies,
  computeTotals,
  yieldLegs,
} from '../../../../src/family/aave_v3/math/account.ts'
import { safeBorrow } from '../../../../src/family/aave_v3/math/safe.ts'
import type { ChainRead, Position } from '../../../../src/family/aave_v3/read/position.ts'
import { netApy, weightedApy } from '../../../../src/finance/math/lending.ts'
import { formatRational, type Rational, rational } from '../../../../src/lib/number/rational.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import { secondOpinion } from './second_opinion.ts'
import { createChain, createClient, readWallets } from './support.ts'

const MARKETS = ['main', 'lido', 'etherfi'] as const
const RANDOM_COUNT = 150
/** The library calculates with floats of 20 digits, and with an average threshold that is not cut to basis points. */
const RELATIVE = 1e-9
const SECONDS_PER_YEAR = 31_536_000
/**
 * How far the library's power of a rate may be off, as a share of 1 + APY, which matters for tiny rates: it cuts the
 * rate per second to a whole ray, which a year of seconds multiplies, and rounds each of its 24 squares to a whole ray:
 * half a ray of the first counts for half of the seconds, of the second for a quarter, and so on.
 */
const POWER = (1 + 0.5) * SECONDS_PER_YEAR * 1e-27

let wallets: readonly Address[]
let read: ChainRead
const opinions = new Map<string, Awaited<ReturnType<typeof secondOpinion>>>()

beforeAll(async () => {
  const { devnet, aave } = await sharedAave()
  const random = await aave.randomWallets(77_001, RANDOM_COUNT)
  wallets = [...Object.values(aave.wallets), ...random.wallets]
  read = await readWallets(createClient(createChain(devnet)), wallets)
  for (const market of MARKETS) {
    opinions.set(market, await secondOpinion({ devnet, aave }, { market, wallets, block: read.block.number }))
  }
}, 180_000)

type Summary = Awaited<ReturnType<typeof secondOpinion>>[number]

/** Calls `compare` for every wallet and market that either side knows of. */
function each(compare: (ours: Position, theirs: Summary) => void) {
  let compared = 0
  for (const market of MARKETS) {
    const theirs = opinions.get(market) ?? []
    for (const [index, wallet] of wallets.entries()) {
      const summary = theirs[index]
      if (summary === undefined) throw new Error('Cannot find a second opinion')
      const ours = read.wallets
        .find((one) => one.wallet === wallet)
        ?.positions.find((position) => position.market === market)
      if (ours === undefined) expect(Number(summary.totalLiquidityUSD)).toBe(0)
      else {
        compare(ours, summary)
        compared++
      }
    }
  }
  expect(compared).toBeGreaterThan(RANDOM_COUNT)
}

function toNumber(value: Rational): number {
  return Number(formatRational(value, { digits: 24 }))
}

/** Largest difference by rounding to raw units, US dollars: one unit of each asset, as the library rounds half up. */
function slack(ours: Position, side: 'supplied' | 'variableDebt'): number {
  const units = ours.assets
    .filter((asset) => asset[side] > 0n)
    .map(({ reserve, price }) => Number(price) / Number(ours.unit) / 10 ** reserve.decimals)
  // And a unit of the market for each.
  return units.reduce((sum, unit) => sum + unit + 1e-8, 0)
}

/**
 * The difference of the library's compound interest, relative to the debt. The contracts' series is x + x²/2 + x³/6
 * over x = rate × time. The library instead takes powers of the rate per second and rounds each to a whole ray: half a
 * unit of the square, times seconds²/2, and of the cube, times seconds³/6. Over a month at 0.5 % the cube rounds to 0.
 * It also counts pairs and triples of seconds, n(n − 1) instead of n², which lacks x × the rate per second.
 */
function compounding(
  read: ChainRead,
  {
    lastUpdateTimestamp,
    variableBorrowRate,
  }: { readonly lastUpdateTimestamp: number; readonly variableBorrowRate: string },
): number {
  const seconds = Number(read.block.timestampSec) - lastUpdateTimestamp
  const perSecond = Number(variableBorrowRate) / SECONDS_PER_YEAR
  const x = perSecond * seconds
  return (0.5 * seconds ** 2) / 2 / 1e27 + (0.5 * seconds ** 3) / 6 / 1e27 + x * (1 + x) * perSecond + 1e-15
}

/** US dollars by which debts may differ, by rounding and by the library's interest. */
function debtSlack(ours: Position, theirs: Summary): number {
  const interest = theirs.userReservesData.map(({ variableBorrowsUSD, reserve }) => {
    return Number(variableBorrowsUSD) * compounding(read, reserve)
  })
  return slack(ours, 'variableDebt') + interest.reduce((sum, usd) => sum + usd, 0)
}

function close(ours: number, theirs: number, tolerance: { readonly relative: number; readonly absolute?: number }) {
  const { relative, absolute = 0 } = tolerance
  // Doubles round both figures, and the library cuts its own.
  const allowed = Math.abs(theirs) * relative + absolute
  if (!(Math.abs(ours - theirs) <= allowed)) throw new Error(`Expected ${ours} to be within ${allowed} of ${theirs}`)
}

describe("Aave's own library", () => {
  test('agrees on supplies, debts and net worth in US dollars, but for its own rounding', () => {
    each((ours, theirs) => {
      const { unit } = ours
      const other = (asset: string) =>
        theirs.userReservesData.find(({ underlyingAsset }) => underlyingAsset === asset.toLowerCase())
      for (const { asset, value } of computeSupplies(ours)) {
        const absolute = slack({ ...ours, assets: [asset] }, 'supplied')
        const theirValue = Number(other(asset.reserve.asset)?.underlyingBalanceUSD)
        close(toNumber(rational(value, unit)), theirValue, { relative: 1e-15, absolute })
      }
      for (const { asset, value } of computeBorrows(ours)) {
        const theirValue = Number(other(asset.reserve.asset)?.variableBorrowsUSD)
        const userReservesData = theirs.userReservesData.filter(({ underlyingAsset }) => {
          return underlyingAsset === asset.reserve.asset.toLowerCase()
        })
        const absolute = debtSlack({ ...ours, assets: [asset] }, { ...theirs, userReservesData })
        close(toNumber(rational(value, unit)), theirValue, { relative: 1e-15, absolute })
      }
      const { supplied, debt, perUsd } = computeTotals(ours)
      const absolute = slack(ours, 'supplied') + debtSlack(ours, theirs)
      close(toNumber(rational(supplied - debt, perUsd)), Number(theirs.netWorthUSD), { relative: 1e-14, absolute })
    })
  })

  test('agrees on health factor and what is available, isolation mode included', () => {
    const counts = { healthFactors: 0, isolated: 0 }
    each((ours, theirs) => {
      const { data, unit } = ours
      const [debt, collateral] = [Number(data.totalDebt) / Number(unit), Number(data.totalCollateral) / Number(unit)]
      if (debt > 1e-3 && collateral > 1e-3) {
        const relative = RELATIVE + debtSlack(ours, theirs) / debt + slack(ours, 'supplied') / collateral
        close(Number(data.healthFactorWad) / 1e18, Number(theirs.healthFactor), { relative })
        counts.healthFactors++
      }
      if (!theirs.isInIsolationMode || collateral < 1) return
      counts.isolated++
      // So low a target that the maximum LTV or the debt ceiling is what binds; one collateral has no average to cut.
      const lowest = safeBorrow(ours, rational(10_001n, 10_000n))
      const absolute = slack(ours, 'supplied') + debtSlack(ours, theirs)
      close(toNumber(lowest), Number(theirs.availableBorrowsUSD), { relative: RELATIVE, absolute })
    })
    expect(counts.healthFactors).toBeGreaterThan(RANDOM_COUNT / 3)
    expect(counts.isolated).toBeGreaterThan(3)
  })

  test('agrees on the APYs of reserves, and so on weighted and net ones', () => {
    let compared = 0
    each((ours, theirs) => {
      const interest = { supply: 0, borrow: 0 }
      const closeYield = (apyRay: bigint, theirApy: number) =>
        close(Number(apyRay) / 1e27, theirApy, { relative: 1e-15, absolute: POWER * (1 + theirApy) })
      for (const { underlyingAsset, reserve, ...amounts } of theirs.userReservesData) {
        interest.supply += Number(amounts.underlyingBalanceUSD) * Number(reserve.supplyAPY)
        interest.borrow += Number(amounts.variableBorrowsUSD) * Number(reserve.variableBorrowAPY)
        const asset = ours.assets.find((one) => one.reserve.asset.toLowerCase() === underlyingAsset)
        if (asset === undefined) continue
        closeYield(asset.reserve.supplyApyRay, Number(reserve.supplyAPY))
        closeYield(asset.reserve.borrowApyRay, Number(reserve.variableBorrowAPY))
      }
      const legs = yieldLegs(ours)
      const [supplied, owed] = [Number(theirs.totalLiquidityUSD), Number(theirs.totalBorrowsUSD)]
      const net = supplied - owed
      const errors = { supply: slack(ours, 'supplied'), borrow: debtSlack(ours, theirs) }
      // For tiny amounts only rounding is left.
      if (supplied > 100 * errors.supply) {
        const relative = RELATIVE + (4 * errors.supply) / supplied
        const highest = Math.max(...legs.supplies.map(({ apyRay }) => Number(apyRay) / 1e27))
        close(toNumber(weightedApy(legs.supplies)), interest.supply / supplied, {
          relative,
          absolute: highest * relative,
        })
      }
      if (owed > 100 * errors.borrow) {
        const relative = RELATIVE + (4 * errors.borrow) / owed
        const highest = Math.max(...legs.borrows.map(({ apyRay }) => Number(apyRay) / 1e27))
        close(toNumber(weightedApy(legs.borrows)), interest.borrow / owed, { relative, absolute: highest * relative })
      }
      if (net < 100 * (errors.supply + errors.borrow)) return
      const highest = Math.max(...[...legs.supplies, ...legs.borrows].map(({ apyRay }) => Number(apyRay) / 1e27))
      const wrong = (2 * (errors.supply + errors.borrow) * (highest + (interest.supply + interest.borrow) / net)) / net
      const theirNet = (interest.supply - interest.borrow) / net
      close(toNumber(netApy(computeTotals(ours), legs)), theirNet, { relative: RELATIVE, absolute: wrong + 1e-18 })
      compared++
    })
    expect(compared).toBeGreaterThan(RANDOM_COUNT / 2)
  })
})
