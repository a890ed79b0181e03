import * as v from 'valibot'
import {
  apyFigure,
  healthFactorFigure,
  incompleteList,
  ratioFigure as ratio,
  usdFigure as usd,
} from '../../../finance/figure.ts'
import { DECIMAL, named, pagination, text, UNSIGNED_INTEGER, withWords } from '../../../lib/text/text_format.ts'
import { calculationsSchema } from '../../lending/calculations.ts'
import { dueFields } from '../../lending/due.ts'
import { FIGURE_WORDS, isCollateral, symbol, walletPlace, walletPositions } from '../../lending/position.ts'
import { withdrawalFields } from '../../lending/withdrawal.ts'

/** The id of a market in an answer. */
export const marketIdText = text({ pattern: /^0x[0-9a-f]{64}$/, words: '0x and 64 hex digits' })

const asset = {
  symbol,
  amount: v.pipe(
    v.nullable(text(DECIMAL)),
    v.description('Whole tokens, all digits; null if the token has no usable decimals'),
  ),
}

const position = named(
  'MorphoPosition',
  'A position in one market of Morpho Blue',
  v.strictObject({
    marketId: withWords('Id of the market', marketIdText),
    collateralSymbol: v.pipe(
      v.nullable(v.string()),
      v.description('Symbol of its collateral; null in a market without'),
    ),
    loanSymbol: withWords('Symbol of the token that is lent and borrowed', v.string()),
    lltv: v.pipe(ratio, v.description('Liquidation loan-to-value')),
    oraclePrice: v.pipe(
      v.nullable(text(UNSIGNED_INTEGER)),
      v.description(
        "The oracle's own integer: raw units of the loan token for a raw unit of the collateral, times 10^36; null if it " +
          'does not answer',
      ),
    ),
    healthFactor: v.pipe(
      v.nullable(healthFactorFigure),
      v.description('Truncated to 4 digits; MAX without debt; null if there is debt and the oracle does not answer'),
    ),
    ...dueFields,
    totalCollateralUSD: withWords(FIGURE_WORDS.collateral, v.nullable(usd)),
    totalDebtUSD: withWords(FIGURE_WORDS.debt, v.nullable(usd)),
    netWorthUSD: withWords(FIGURE_WORDS.netWorth, v.nullable(usd)),
    suppliedAssets: v.pipe(
      v.array(
        named(
          'MorphoSuppliedAsset',
          'A token that is supplied',
          v.strictObject({
            ...asset,
            amountSuppliedUSD: withWords(FIGURE_WORDS.worth, v.nullable(usd)),
            supplyAPY: v.nullable(apyFigure),
            isCollateral,
            ...withdrawalFields,
          }),
        ),
      ),
      v.description('What was lent, then the collateral, which earns nothing'),
    ),
    borrowedAssets: withWords(
      FIGURE_WORDS.borrowed,
      v.array(
        named(
          'MorphoBorrowedAsset',
          'A token that is owed',
          v.strictObject({
            ...asset,
            amountBorrowedUSD: withWords(FIGURE_WORDS.worth, v.nullable(usd)),
            borrowAPY: v.nullable(apyFigure),
          }),
        ),
      ),
    ),
    reason: v.pipe(
      v.nullable(v.string()),
      v.description(
        'Why its figures in US dollars and its calculations are null: what does not answer; null if all do',
      ),
    ),
  }),
)

const calculations = calculationsSchema('Morpho', {
  safeBorrow:
    'What can still be borrowed before the health factor falls to the target or the liquidation loan-to-value is ' +
    'reached; at most what the market holds idle; 0 while the contract would revert',
  safeWithdraw:
    'Collateral that can be taken out before the health factor falls to the target, all of it without debt, and what ' +
    'was lent, at most what the market holds idle; 0 while the contract would revert',
})

const held = v.strictObject({
  ...walletPositions(walletPlace, {
    position,
    calculations: v.pipe(v.nullable(calculations), v.description('Null where the position has a reason')),
  }).entries,
  incomplete: incompleteList('Markets beyond the first 2,000 that the wallet entered, which the list does not have'),
})

/** Success body of the list, without `request_id`. */
export const listOutput = v.strictObject({ data: v.array(held), pagination })
