import * as v from 'valibot'
import { apyFigure, evmAddress, healthFactorFigure, usdFigure as usd } from '../../../finance/figure.ts'
import { DECIMAL, named, pagination, text, UNSIGNED_INTEGER, withWords } from '../../../lib/text/text_format.ts'
import { calculationsSchema, reducedCalculations } from '../../lending/calculations.ts'
import { dueFields } from '../../lending/due.ts'
import { FIGURE_WORDS, isCollateral, symbol, walletPlace, walletPositions } from '../../lending/position.ts'
import { withdrawalFields } from '../../lending/withdrawal.ts'

const WORTH = 'Its worth now, interest included, US dollars as of all tokens; null without a price'
const marketId = withWords('Name of the market', v.string())
const healthFactor = v.pipe(
  v.nullable(healthFactorFigure),
  v.description(
    'By the prices of the market itself and with interest up to the block; truncated to 4 digits; MAX without debt; ' +
      'null if there is debt and a feed does not answer',
  ),
)
const amount = v.pipe(
  v.nullable(text(DECIMAL)),
  v.description('Whole tokens with interest, all digits; null if the token has no usable decimals'),
)
const asset = { symbol, address: withWords('The token', evmAddress), amount }

const position = named(
  'CompoundV3Position',
  'A position in one market of Compound V3',
  v.strictObject({
    marketId,
    healthFactor,
    ...dueFields,
    totalCollateralUSD: withWords('Everything that is collateral, US dollars as of all tokens', v.nullable(usd)),
    totalDebtUSD: withWords('Everything owed, US dollars as of all tokens', v.nullable(usd)),
    netWorthUSD: withWords('Everything supplied less everything owed, rewards left out', v.nullable(usd)),
    suppliedAssets: withWords(
      'The base token if it is supplied, then collaterals, which earn nothing',
      v.array(
        named(
          'CompoundV3SuppliedAsset',
          'A token that is supplied',
          v.strictObject({
            ...asset,
            amountSuppliedUSD: withWords(WORTH, v.nullable(usd)),
            supplyAPY: apyFigure,
            isCollateral,
            ...withdrawalFields,
          }),
        ),
      ),
    ),
    borrowedAssets: withWords(
      FIGURE_WORDS.borrowed,
      v.array(
        named(
          'CompoundV3BorrowedAsset',
          'The base token, if it is owed',
          v.strictObject({
            ...asset,
            amountBorrowedUSD: withWords(WORTH, v.nullable(usd)),
            borrowAPY: apyFigure,
          }),
        ),
      ),
    ),
    rewards: v.pipe(
      v.nullable(
        v.array(
          named(
            'LendingReward',
            'What a claim pays beside interest',
            v.strictObject({
              token: withWords(
                'What is paid',
                v.strictObject({ address: withWords('Its contract', evmAddress), symbol }),
              ),
              raw: withWords('Smallest units of the token', text(UNSIGNED_INTEGER)),
              amount: withWords('Whole tokens, all digits; null without decimals', v.nullable(text(DECIMAL))),
              usd: withWords('US dollars; null without a price', v.nullable(usd)),
            }),
          ),
        ),
      ),
      v.description('What claiming the rewards pays now, [] if nothing; null if their contract does not answer'),
    ),
    reason: v.pipe(
      v.nullable(v.string()),
      v.description('Why its sums in US dollars and its calculations are null: what does not answer; null if all do'),
    ),
  }),
)

export type PresentedPosition = v.InferOutput<typeof position>

const WHERE_TOLD = 'Null where the position has no sums in US dollars'

const calculations = calculationsSchema('CompoundV3', {
  safeBorrow:
    'What can still be borrowed before the health factor falls to the target or the limit of borrowing is reached; at ' +
    'most what the market has; 0 while it pays out nothing',
  safeWithdraw:
    'Collateral that can be taken out, in proportion, before the health factor falls to the target or the limit of ' +
    'borrowing to the debt, all of it without debt; and what is supplied of the base token, at most what the market has',
})

/** Success body of the list, without `request_id`. */
export const listOutput = v.strictObject({
  data: v.array(
    walletPositions(walletPlace, { position, calculations: withWords(WHERE_TOLD, v.nullable(calculations)) }),
  ),
  pagination,
})

/** Success body of the batch, without `request_id`. */
export const batchOutput = v.strictObject({
  data: v.array(
    walletPositions(walletPlace, {
      position: named(
        'ReducedCompoundV3Position',
        'The figures of a position that a batch has',
        v.strictObject({ marketId, healthFactor, netWorthUSD: withWords(FIGURE_WORDS.netWorth, v.nullable(usd)) }),
      ),
      calculations: withWords(WHERE_TOLD, v.nullable(reducedCalculations)),
    }),
  ),
  pagination,
})
