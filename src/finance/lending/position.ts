import * as v from 'valibot'
import { healthFactorFigure, ratioFigure as ratio, usdFigure as usd } from '../figure.ts'

/** Schemas of a position's figures in a list. In an answer they come after the fields that name it. */
export const positionFigures = {
  healthFactor: healthFactorFigure,
  totalCollateralUSD: usd,
  totalDebtUSD: usd,
  netWorthUSD: v.pipe(usd, v.description('Everything supplied less everything owed')),
  suppliedAssets: v.array(
    v.strictObject({ symbol: v.string(), amountSuppliedUSD: usd, supplyAPY: ratio, isCollateral: v.boolean() }),
  ),
  borrowedAssets: v.array(v.strictObject({ symbol: v.string(), amountBorrowedUSD: usd, borrowAPY: ratio })),
}
