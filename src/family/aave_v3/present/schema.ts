import * as v from 'valibot'
import {
  evmAddress,
  healthFactorFigure as healthFactor,
  ratioFigure as ratio,
  usdFigure as usd,
  withFull,
} from '../../../finance/figure.ts'
import { DECIMAL, named, pagination, text, withWords } from '../../../lib/text/text_format.ts'
import { calculationsSchema, reducedCalculations } from '../../lending/calculations.ts'
import { FIGURE_WORDS, positionFiguresWith, walletPlace, walletPositions } from '../../lending/position.ts'
import { withdrawalFields } from '../../lending/withdrawal.ts'

const tokens = {
  address: withFull(evmAddress, 'the token'),
  amount: withFull(text(DECIMAL), 'whole tokens now, all digits'),
  priceUSD: withFull(usd, "a whole token, by the market's own oracle"),
}

const marketId = withWords('Name of the market, as the parameter market_id takes it', v.string())

const position = named(
  'AaveV3Position',
  'A position in one market of Aave V3',
  v.strictObject({
    marketId,
    ...positionFiguresWith({
      family: 'AaveV3',
      supplied: {
        ...tokens,
        liquidationThreshold: withFull(
          ratio,
          'the part of it that counts before a liquidation, by its eMode if in one',
        ),
        withdrawable: withFull(withdrawalFields.withdrawable, 'what a withdrawal pays'),
        limited_by: withFull(withdrawalFields.limited_by, 'why that is less'),
      },
      borrowed: tokens,
    }),
    borrowLimitUSD: withFull(usd, 'the debt up to which the pool lends'),
  }),
)

export type PresentedPosition = v.InferOutput<typeof position>

const calculations = calculationsSchema('AaveV3', {
  place: { marketId },
  safeBorrow:
    'What can still be borrowed before the health factor falls to the target, the maximum LTV is reached or, in ' +
    "isolation mode, the debt ceiling; 0 if no reserve lends to this account or the sequencer's sentinel refuses loans; " +
    "no asset is named, so one asset's liquidity or cap counts only where the account may borrow nothing else",
  safeWithdraw:
    'Collateral that can be taken out, in proportion, before the health factor falls to the target: at most what ' +
    'the pools can pay, nothing of paused reserves, collateral without LTV first; all of it without debt',
})

/** Success body of the list, without `request_id`. */
export const listOutput = v.strictObject({
  data: v.array(walletPositions(walletPlace, { position, calculations })),
  pagination,
})

const reducedPositions = walletPositions(walletPlace, {
  position: named(
    'ReducedAaveV3Position',
    'The figures of a position that a batch has',
    v.strictObject({ marketId, healthFactor, netWorthUSD: withWords(FIGURE_WORDS.netWorth, usd) }),
  ),
  calculations: reducedCalculations,
})

/** Success body of the batch, without `request_id`. */
export const batchOutput = v.strictObject({ data: v.array(reducedPositions), pagination })
