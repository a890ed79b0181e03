import * as v from 'valibot'
import {
  healthFactorFigure as healthFactor,
  percentageFigure as percentage,
  ratioFigure as ratio,
  ratioOrMaxFigure as ratioOrMax,
  usdFigure as usd,
} from '../figure.ts'

const count = v.pipe(v.number(), v.integer(), v.minValue(0))

const place = {
  chain_id: v.pipe(v.number(), v.integer()),
  wallet: v.pipe(v.string(), v.regex(/^0x[0-9a-fA-F]{40}$/)),
}

const position = v.strictObject({
  marketId: v.string(),
  healthFactor,
  totalCollateralUSD: usd,
  totalDebtUSD: usd,
  netWorthUSD: v.pipe(usd, v.description('Everything supplied less everything owed')),
  suppliedAssets: v.array(
    v.strictObject({ symbol: v.string(), amountSuppliedUSD: usd, supplyAPY: ratio, isCollateral: v.boolean() }),
  ),
  borrowedAssets: v.array(v.strictObject({ symbol: v.string(), amountBorrowedUSD: usd, borrowAPY: ratio })),
})

const calculations = v.strictObject({
  targetHealthFactor: v.number(),
  healthFactor,
  dailySupplyInterestUSD: usd,
  dailyBorrowInterestUSD: usd,
  netDailyInterestUSD: usd,
  safeBorrowAmountUSD: v.pipe(
    usd,
    v.description(
      'What can still be borrowed before the health factor falls to the target, the maximum LTV is reached or, in ' +
        "isolation mode, the debt ceiling; no asset is named, so no single asset's liquidity or cap counts",
    ),
  ),
  safeWithdrawAmountUSD: v.pipe(
    usd,
    v.description(
      'Collateral that can be taken out, in proportion, before the health factor falls to the target: at most what ' +
        'the pools can pay, nothing of paused reserves, collateral without LTV first; all of it without debt',
    ),
  ),
  currentLtvPercentage: percentage,
  netAPY: ratio,
  positionLeverage: ratioOrMax,
  weightedSupplyAPY: ratio,
  weightedBorrowAPY: ratio,
  borrowUtilizationRate: ratioOrMax,
})

const pagination = v.strictObject({
  page: count,
  limit: count,
  total: count,
  next_page: v.nullable(v.string()),
  prev_page: v.nullable(v.string()),
})

/** Success body of the list, without `request_id`: one item of `calculations` for each of `positions`. */
export const listOutput = v.strictObject({
  data: v.array(v.strictObject({ ...place, positions: v.array(position), calculations: v.array(calculations) })),
  pagination,
})

/** Success body of the batch, without `request_id`. */
export const batchOutput = v.strictObject({
  data: v.array(
    v.strictObject({
      ...place,
      positions: v.array(v.strictObject({ marketId: v.string(), healthFactor, netWorthUSD: usd })),
      calculations: v.array(v.strictObject({ healthFactor, netAPY: ratio, targetHealthFactor: v.number() })),
    }),
  ),
  pagination,
})
