import * as v from 'valibot'
import { apyFigure, chainId, evmAddress, healthFactorFigure, usdFigure as usd } from '../../finance/figure.ts'
import { named, withWords } from '../../lib/text/text_format.ts'
import { dueFields } from './due.ts'

/** What figures of a position are. */
export const FIGURE_WORDS = {
  collateral: 'Everything that is collateral, US dollars by the prices of the market itself',
  debt: 'Everything owed, US dollars by the prices of the market itself',
  netWorth: 'Everything supplied less everything owed',
  supplied: 'What is supplied, collateral or not',
  borrowed: 'What is owed',
  worth: 'Its worth now, interest included, US dollars by the prices of the market itself',
}

/** The symbol of a token, as its contract tells it. */
export const symbol = withWords('Symbol of the token, as the token itself tells it', v.string())
/** Whether a supply secures debts. */
export const isCollateral = withWords('Whether it secures debts', v.boolean())

/**
 * Schemas of a position's figures in a list by the family's name, `AaveV3`, with additional fields of each asset; the
 * naming fields come before.
 */
export function positionFiguresWith<const Supplied extends v.ObjectEntries, const Borrowed extends v.ObjectEntries>({
  family,
  supplied,
  borrowed,
}: {
  readonly family: string
  readonly supplied: Supplied
  readonly borrowed: Borrowed
}) {
  return {
    healthFactor: healthFactorFigure,
    ...dueFields,
    totalCollateralUSD: withWords(FIGURE_WORDS.collateral, usd),
    totalDebtUSD: withWords(FIGURE_WORDS.debt, usd),
    netWorthUSD: withWords(FIGURE_WORDS.netWorth, usd),
    suppliedAssets: withWords(
      FIGURE_WORDS.supplied,
      v.array(
        named(
          `${family}SuppliedAsset`,
          'A token that is supplied',
          v.strictObject({
            symbol,
            amountSuppliedUSD: withWords(FIGURE_WORDS.worth, usd),
            supplyAPY: apyFigure,
            isCollateral,
            ...supplied,
          }),
        ),
      ),
    ),
    borrowedAssets: withWords(
      FIGURE_WORDS.borrowed,
      v.array(
        named(
          `${family}BorrowedAsset`,
          'A token that is owed',
          v.strictObject({
            symbol,
            amountBorrowedUSD: withWords(FIGURE_WORDS.worth, usd),
            borrowAPY: apyFigure,
            ...borrowed,
          }),
        ),
      ),
    ),
  }
}

/** Builds the schema of lists and batches: `place` names a wallet; `positions` and `calculations` have equal length. */
export function walletPositions<
  const Place extends v.ObjectEntries,
  const Position extends v.GenericSchema,
  const Calculations extends v.GenericSchema,
>(place: Place, { position, calculations }: { readonly position: Position; readonly calculations: Calculations }) {
  return v.strictObject({
    ...place,
    positions: withWords('One for each market or account; `calculations` has an item for each', v.array(position)),
    calculations: withWords('What follows from each position: item i is of `positions[i]`', v.array(calculations)),
  })
}

/** Fields that name a wallet on an EVM chain. */
export const walletPlace = { chain_id: chainId, wallet: withWords('The wallet that was asked about', evmAddress) }
