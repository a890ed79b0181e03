import * as v from 'valibot'
import { healthFactorFigure, ratioFigure as ratio, usdFigure as usd } from '../figure.ts'
import { chainId, evmAddress } from '../schema.ts'

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

/** A wallet in a place with its positions there, and as many calculations: what lists and batches answer. */
export function walletPositions<
  const Place extends v.ObjectEntries,
  const Position extends v.GenericSchema,
  const Calculations extends v.GenericSchema,
>(place: Place, { position, calculations }: { readonly position: Position; readonly calculations: Calculations }) {
  return v.strictObject({ ...place, positions: v.array(position), calculations: v.array(calculations) })
}

/** A wallet on an EVM chain. */
export const walletPlace = { chain_id: chainId, wallet: evmAddress }
