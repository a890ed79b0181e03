import * as v from 'valibot'
import {
  apyFigure,
  evmAddress,
  healthFactorFigure as healthFactor,
  ratioFigure as ratio,
  usdFigure as usd,
} from '../../../finance/figure.ts'
import { DECIMAL, named, nonNegativeInteger, pagination, text, withWords } from '../../../lib/text/text_format.ts'
import { calculationsSchema, reducedCalculations } from '../../lending/calculations.ts'
import { FIGURE_WORDS, positionFiguresWith, walletPlace, walletPositions } from '../../lending/position.ts'
import { withdrawalFields } from '../../lending/withdrawal.ts'

const amount = text(DECIMAL)

/** Fields that name what a row is of: one spoke may list a token twice, through two hubs. */
const reserve = {
  address: v.pipe(evmAddress, v.description('The token')),
  reserveId: v.pipe(nonNegativeInteger, v.description('Id of the reserve in the spoke')),
  hub: v.pipe(v.string(), v.description('Name of the hub that has the token, else its address')),
  amount: v.pipe(amount, v.description('Whole tokens with interest, all digits')),
}

const marketId = withWords('Name of the spoke', v.string())

const position = named(
  'AaveV4Position',
  'A position in one spoke of Aave V4',
  v.strictObject({
    marketId,
    ...positionFiguresWith({
      family: 'AaveV4',
      supplied: {
        ...reserve,
        ...withdrawalFields,
        liquidationBonus: v.pipe(
          v.nullable(ratio),
          v.description('What a liquidator takes of it above the debt; null if it cannot be liquidated'),
        ),
      },
      borrowed: {
        ...reserve,
        drawn: v.pipe(amount, v.description('Part of the amount that was borrowed, with interest')),
        premium: v.pipe(amount, v.description('Part of the amount that is owed for the risk of the collateral')),
        baseBorrowAPY: v.pipe(apyFigure, v.description('Without the premium of this account')),
      },
    }),
    riskPremium: v.pipe(ratio, v.description('Interest that the debts bear beyond the base rate, as a part of it')),
    riskPremiumAfterRefresh: v.pipe(
      v.nullable(ratio),
      v.description(
        'The same once the spoke computes it anew, as it does at every loan; null where it would refuse or is of another revision',
      ),
    ),
    configOutdated: v.pipe(
      v.boolean(),
      v.description('True if collateral counts by other factors than a loan or withdrawal would give it'),
    ),
    healthFactorAfterRefresh: v.pipe(
      v.nullable(healthFactor),
      v.description(
        'Health factor once collateral counts by the latest factors; null where the spoke would refuse that or is of another revision',
      ),
    ),
    targetHealthFactor: v.pipe(
      v.nullable(healthFactor),
      v.description('Health factor to which a liquidation restores the account'),
    ),
  }),
)

export type PresentedPosition = v.InferOutput<typeof position>

const calculations = calculationsSchema('AaveV4', {
  place: { marketId },
  safeBorrow:
    'What can still be borrowed before the health factor falls to the target, by the latest collateral factors, which ' +
    'every loan applies; 0 if no reserve lends; no asset is named, so liquidity and caps do not count',
  safeWithdraw:
    'Collateral that can be taken out, in proportion, before the health factor falls to the target, by the latest ' +
    'collateral factors: at most what withdrawals of each alone pay; all of that without debt',
})

/** Success body of the list, without `request_id`. */
export const listOutput = v.strictObject({
  data: v.array(walletPositions(walletPlace, { position, calculations })),
  pagination,
})

const reducedPositions = walletPositions(walletPlace, {
  position: named(
    'ReducedAaveV4Position',
    'The figures of a position that a batch has',
    v.strictObject({ marketId, healthFactor, netWorthUSD: withWords(FIGURE_WORDS.netWorth, usd) }),
  ),
  calculations: reducedCalculations,
})

/** Success body of the batch, without `request_id`. */
export const batchOutput = v.strictObject({ data: v.array(reducedPositions), pagination })
