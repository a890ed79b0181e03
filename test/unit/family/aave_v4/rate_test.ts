import { expect, test } from 'bun:test'
import { zeroAddress } from 'viem'
import {
  type Asset,
  computeBaseApy,
  computeBorrowApy,
  computeSupplyApy,
} from '../../../../src/family/aave_v4/math/account.ts'
import { readVectors } from '../../../devnet/aave_v4/vectors.ts'

const RAY = 10n ** 27n
const YEAR_SEC = 31_536_000
const BPS = 10_000n
const CONFIG = { collateralFactorBps: 0n, liquidationBonusBps: BPS }

const SPOKE = { drawnShares: 0n, premiumShares: 0n, premiumThresholdBps: 0n, isActive: true, isHalted: false }
const NOTHING = {
  reserveId: 0,
  isCollateral: false,
  isBorrowing: true,
  hasAnswered: true,
  key: 0,
  own: CONFIG,
  supplied: 0n,
  drawn: 0n,
  premium: 0n,
  suppliedShares: 0n,
}
const RESERVE = {
  spoke: 0,
  id: 0,
  hub: zeroAddress,
  assetId: 0,
  collateralRiskBps: 0n,
  isPaused: false,
  latestKey: 0,
  latest: CONFIG,
  price: undefined,
  token: { address: zeroAddress, decimals: 18, symbol: undefined, name: undefined },
}

/** The yearly yield that a growth over some seconds amounts to, compounded by the second. */
const annualize = (growth: number, seconds: number): number => Math.expm1(Math.log1p(growth / seconds) * YEAR_SEC)
/** A ratio of large integers. */
const divide = (a: bigint, b: bigint): number => Number((a * 10n ** 15n) / b) / 1e15

/** Debts of the vectors whose hubs last touched their assets some time ago, with what the contracts say of both times. */
function listDebts() {
  return readVectors().snapshots.flatMap(({ world, answers }) =>
    Object.values(world.spokes).flatMap(({ reserves, users }) =>
      Object.values(users).flatMap(({ positions }) =>
        Object.entries(positions).flatMap(([id, position]) => {
          const { hub, assetId, decimals } = reserves[Number(id)] ?? {}
          const asset = hub && world.hubs[hub]?.assets[assetId ?? 0]
          const told = hub && answers.assets[hub]?.[assetId ?? 0]
          if (asset === undefined || told === undefined || position.drawnShares === '0') return []
          const seconds = Number(BigInt(world.now) - BigInt(asset.lastUpdateTimestamp))
          return seconds === 0 ? [] : [{ asset, told, position, seconds, decimals: decimals ?? 0 }]
        }),
      ),
    ),
  )
}

type Debt = ReturnType<typeof listDebts>[number]

/** A debt as the lens reads it at the time of the last touch, when the index is the stored one. */
function toAsset({ asset, position, decimals }: Debt, addedAssets: bigint): Asset {
  return {
    ...NOTHING,
    drawnShares: BigInt(position.drawnShares),
    premiumShares: BigInt(position.premiumShares),
    premiumOffsetRay: BigInt(position.premiumOffsetRay),
    reserve: {
      ...RESERVE,
      decimals,
      asset: {
        revision: 1,
        liquidity: BigInt(asset.liquidity),
        addedShares: BigInt(asset.addedShares),
        drawnShares: BigInt(asset.drawnShares),
        premiumShares: BigInt(asset.premiumShares),
        feeBps: BigInt(asset.liquidityFee),
        drawnRateRay: BigInt(asset.drawnRate),
        drawnIndexRay: BigInt(asset.drawnIndex),
        addedAssets,
        spoke: SPOKE,
      },
    },
  }
}

test('a debt grows by its own rate from the last touch of its asset to the block, premium and all', () => {
  const debts = listDebts()
  expect(debts.length).toBeGreaterThan(50)
  for (const debt of debts) {
    const { position, asset, told, seconds } = debt
    const shares = BigInt(position.drawnShares) + BigInt(position.premiumShares)
    const before = shares * BigInt(asset.drawnIndex) - BigInt(position.premiumOffsetRay)
    const growth = divide(shares * (BigInt(told.drawnIndex) - BigInt(asset.drawnIndex)), before)
    expect(Number(computeBorrowApy(toAsset(debt, 0n))) / 1e27).toBeCloseTo(annualize(growth, seconds), 6)
    const drawn = divide(BigInt(told.drawnIndex) - BigInt(asset.drawnIndex), BigInt(asset.drawnIndex))
    expect(Number(computeBaseApy(toAsset(debt, 0n).reserve)) / 1e27).toBeCloseTo(annualize(drawn, seconds), 6)
  }
})

test('what is behind added shares grows by the supply rate from the last touch of the asset to the block', () => {
  for (const debt of listDebts()) {
    const { asset, told, seconds } = debt
    const owed = (index: bigint) => {
      const shares = BigInt(asset.drawnShares) + BigInt(asset.premiumShares)
      const owedRay = shares * index - BigInt(asset.premiumOffsetRay) + BigInt(asset.deficitRay)
      return (owedRay + RAY - 1n) / RAY
    }
    // The stored state, without interest since the last touch.
    const before =
      BigInt(asset.liquidity) + BigInt(asset.swept) + owed(BigInt(asset.drawnIndex)) - BigInt(asset.realizedFees)
    const growth = divide(BigInt(told.addedAssets) - before, before + 1_000_000n)
    const apy = Number(computeSupplyApy(toAsset(debt, before).reserve)) / 1e27
    // A token of six digits rounds its growth.
    expect(Math.abs(apy - annualize(growth, seconds))).toBeLessThan(1e-6 + (3 * YEAR_SEC) / seconds / Number(before))
  }
})
