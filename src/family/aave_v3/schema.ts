import * as v from 'valibot'
import {
  healthFactorFigure as healthFactor,
  percentageFigure as percentage,
  ratioFigure as ratio,
  ratioOrMaxFigure as ratioOrMax,
  usdFigure as usd,
} from '../../finance/figure.ts'
import { LENDING_EVENT_TYPES } from '../../finance/lending/lending_event.ts'
import { chainId, count, evmAddress, pagination } from '../../finance/schema.ts'
import { DECIMAL, text } from '../../lib/text/text_format.ts'

const place = { chain_id: chainId, wallet: evmAddress }

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

/** Success body of the list, without `request_id`: one item of `calculations` for each of `positions`. */
export const listOutput = v.strictObject({
  data: v.array(v.strictObject({ ...place, positions: v.array(position), calculations: v.array(calculations) })),
  pagination,
})

/** Success body of the snapshots, without `request_id`. */
export const snapshotsOutput = v.strictObject({
  data: v.array(
    v.strictObject({
      timestamp: v.pipe(count, v.description('The midnight, Unix seconds')),
      collateral_usd: usd,
      debt_usd: usd,
      net_worth_usd: usd,
      health_factor: healthFactor,
    }),
  ),
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

const event = v.strictObject({
  type: v.picklist(LENDING_EVENT_TYPES),
  blockNumber: count,
  logIndex: v.pipe(
    count,
    v.description('A liquidation is two events of one log: the debt that was repaid, then the collateral taken'),
  ),
  timestamp: v.pipe(count, v.description('Unix seconds of the block')),
  transactionHash: text({ pattern: /^0x[0-9a-f]{64}$/, words: '0x and 64 hex digits' }),
  asset: v.strictObject({
    address: evmAddress,
    symbol: v.string(),
    name: v.string(),
    decimals: count,
    logoURI: v.null(),
  }),
  amount: v.pipe(text(DECIMAL), v.description('Whole tokens, all digits')),
  amountUSD: usd,
  priceUSD: v.pipe(usd, v.description("A whole token at the event's block, by the market's own oracle")),
  counterparty: v.pipe(
    evmAddress,
    v.description('Payer of a supply, receiver of a withdrawal or borrow, repayer, or liquidator'),
  ),
})

/** Success body of the events, without `request_id`. */
export const eventsOutput = v.strictObject({ data: v.array(event), pagination })
