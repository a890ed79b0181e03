import * as v from 'valibot'
import { getAddress, zeroAddress } from 'viem'
import {
  evmAddress,
  formatHealthFactor,
  formatUsd,
  healthFactorFigure as healthFactor,
  usdFigure as usd,
} from '../../finance/figure.ts'
import { type UsdPrice, usdValue } from '../../finance/price/price.ts'
import type { StoredSnapshot } from '../../finance/series/store.ts'
import type { TokenFacts } from '../../finance/token/read_tokens.ts'
import { formatExact } from '../../lib/number/decimal.ts'
import { toRational, ZERO } from '../../lib/number/rational.ts'
import { DECIMAL, named, nonNegativeInteger, pagination, text, withWords } from '../../lib/text/text_format.ts'
import { LENDING_EVENT_TYPES, type LendingEvent } from './lending_event.ts'
import type { SnapshotFigures } from './series.ts'

/** Success body of the snapshots, without `request_id`. */
export const snapshotsOutput = v.strictObject({
  data: v.array(
    named(
      'LendingSnapshot',
      'A position at a midnight (UTC)',
      v.strictObject({
        timestamp: v.pipe(nonNegativeInteger, v.description('The midnight, Unix seconds')),
        collateral_usd: withWords('Everything that was collateral', usd),
        debt_usd: withWords('Everything owed; not negative', usd),
        net_worth_usd: withWords('Everything supplied less everything owed', usd),
        health_factor: healthFactor,
      }),
    ),
  ),
})

const event = named(
  'LendingEvent',
  'What changed a lending position',
  v.strictObject({
    type: withWords('What happened', v.picklist(LENDING_EVENT_TYPES)),
    blockNumber: withWords('Block of the event', nonNegativeInteger),
    logIndex: v.pipe(
      nonNegativeInteger,
      v.description('A liquidation is two events of one log: the debt that was repaid, then the collateral taken'),
    ),
    timestamp: v.pipe(nonNegativeInteger, v.description('Unix seconds of the block')),
    transactionHash: withWords('Its transaction', text({ pattern: /^0x[0-9a-f]{64}$/, words: '0x and 64 hex digits' })),
    asset: named(
      'EventAsset',
      'The token that moved',
      v.strictObject({
        address: withWords('Its contract', evmAddress),
        symbol: withWords('Its symbol, as the token itself tells it', v.string()),
        name: withWords('Its name, as the token itself tells it', v.string()),
        decimals: withWords('Digits of its smallest unit', nonNegativeInteger),
        logoURI: withWords('Always null: no picture is loaded from elsewhere', v.null()),
      }),
    ),
    amount: v.pipe(text(DECIMAL), v.description('Whole tokens, all digits')),
    amountUSD: withWords('amount × priceUSD', usd),
    priceUSD: v.pipe(usd, v.description("A whole token at the event's block, by the market's own oracle")),
    counterparty: v.pipe(
      evmAddress,
      v.description('Payer of a supply, receiver of a withdrawal or borrow, repayer, or liquidator'),
    ),
  }),
)

/** Success body of the events, without `request_id`. */
export const eventsOutput = v.strictObject({ data: v.array(event), pagination })

const DAY_SEC = 86_400

/** An event with everything that an answer shows. */
export interface PricedEvent extends LendingEvent {
  readonly timestampSec: number
  readonly token: TokenFacts
  /** Price at the event's block. */
  readonly price: UsdPrice
}

/**
 * An event as answers show it: its amount is that of the log ÷ 10^decimals of the token, its value that amount × the
 * price of its market's oracle at its block.
 *
 * @figure aave-v3/amount, amountUSD, priceUSD
 * @source the event log; the price of `AaveOracle` at its block
 * @proof test/contract/family/aave_v3/event/route_test.ts
 */
export function presentEvent(event: PricedEvent) {
  const { kind, block, logIndex, timestampSec, transactionHash, asset, amount, counterparty, token, price } = event
  const { symbol, name, decimals } = token
  return {
    type: kind,
    blockNumber: block,
    logIndex,
    timestamp: timestampSec,
    transactionHash,
    asset: { address: getAddress(asset), symbol, name, decimals, logoURI: null },
    amount: formatExact(amount, decimals),
    amountUSD: formatUsd(toRational(usdValue(amount, { decimals, price }))),
    priceUSD: formatUsd(toRational(price)),
    counterparty: getAddress(counterparty ?? zeroAddress),
  }
}

/** Presents snapshots, without those that could not be valued. */
export function presentSnapshots(
  snapshots: readonly StoredSnapshot<SnapshotFigures>[],
): v.InferOutput<typeof snapshotsOutput>['data'] {
  return snapshots.flatMap(({ day, figures }) => {
    if (figures === undefined) return []
    return {
      timestamp: day * DAY_SEC,
      collateral_usd: figures.collateralUsd,
      debt_usd: figures.debtUsd,
      net_worth_usd: figures.netWorthUsd,
      health_factor: figures.healthFactor,
    }
  })
}

/** The snapshot of a wallet without a position in its market. */
export const EMPTY_SNAPSHOT: SnapshotFigures = {
  collateralUsd: formatUsd(ZERO),
  debtUsd: formatUsd(ZERO),
  netWorthUsd: formatUsd(ZERO),
  healthFactor: formatHealthFactor('max'),
}
