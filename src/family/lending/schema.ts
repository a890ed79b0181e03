import * as v from 'valibot'
import { evmAddress, healthFactorFigure as healthFactor, usdFigure as usd } from '../../finance/figure.ts'
import { DECIMAL, nonNegativeInteger, pagination, text } from '../../lib/text/text_format.ts'
import { LENDING_EVENT_TYPES } from './lending_event.ts'

/** Success body of the snapshots, without `request_id`. */
export const snapshotsOutput = v.strictObject({
  data: v.array(
    v.strictObject({
      timestamp: v.pipe(nonNegativeInteger, v.description('The midnight, Unix seconds')),
      collateral_usd: usd,
      debt_usd: usd,
      net_worth_usd: usd,
      health_factor: healthFactor,
    }),
  ),
})

const event = v.strictObject({
  type: v.picklist(LENDING_EVENT_TYPES),
  blockNumber: nonNegativeInteger,
  logIndex: v.pipe(
    nonNegativeInteger,
    v.description('A liquidation is two events of one log: the debt that was repaid, then the collateral taken'),
  ),
  timestamp: v.pipe(nonNegativeInteger, v.description('Unix seconds of the block')),
  transactionHash: text({ pattern: /^0x[0-9a-f]{64}$/, words: '0x and 64 hex digits' }),
  asset: v.strictObject({
    address: evmAddress,
    symbol: v.string(),
    name: v.string(),
    decimals: nonNegativeInteger,
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
