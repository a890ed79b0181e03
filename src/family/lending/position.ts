import * as v from 'valibot'
import { apyFigure, chainId, evmAddress, healthFactorFigure, usdFigure as usd } from '../../finance/figure.ts'
import { dueFields } from './due.ts'

/** Schemas of a position's figures in a list, with additional fields of each asset; the naming fields come before. */
export function positionFiguresWith<const Supplied extends v.ObjectEntries, const Borrowed extends v.ObjectEntries>({
  supplied,
  borrowed,
}: {
  readonly supplied: Supplied
  readonly borrowed: Borrowed
}) {
  return {
    healthFactor: healthFactorFigure,
    ...dueFields,
    totalCollateralUSD: usd,
    totalDebtUSD: usd,
    netWorthUSD: v.pipe(usd, v.description('Everything supplied less everything owed')),
    suppliedAssets: v.array(
      v.strictObject({
        symbol: v.string(),
        amountSuppliedUSD: usd,
        supplyAPY: apyFigure,
        isCollateral: v.boolean(),
        ...supplied,
      }),
    ),
    borrowedAssets: v.array(
      v.strictObject({ symbol: v.string(), amountBorrowedUSD: usd, borrowAPY: apyFigure, ...borrowed }),
    ),
  }
}

/** Builds the schema of lists and batches: `place` names a wallet; `positions` and `calculations` have equal length. */
export function walletPositions<
  const Place extends v.ObjectEntries,
  const Position extends v.GenericSchema,
  const Calculations extends v.GenericSchema,
>(place: Place, { position, calculations }: { readonly position: Position; readonly calculations: Calculations }) {
  return v.strictObject({ ...place, positions: v.array(position), calculations: v.array(calculations) })
}

/** Fields that name a wallet on an EVM chain. */
export const walletPlace = { chain_id: chainId, wallet: evmAddress }
