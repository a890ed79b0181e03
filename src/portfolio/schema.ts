import * as v from 'valibot'
import { dueFields } from '../family/lending/due.ts'
import { limitedBy, withdrawable } from '../family/lending/withdrawal.ts'
import { CURRENCIES } from '../finance/currency/table.ts'
import { base58Address, chainId, evmAddress, healthFactorFigure, incompleteList, usdFigure } from '../finance/figure.ts'
import { PRICE_CONFIDENCES, PRICE_MARKS, USD_PRICE_SOURCES } from '../finance/price/price.ts'
import {
  DECIMAL,
  named,
  nonNegativeInteger,
  pagination,
  text,
  UNSIGNED_INTEGER,
  withWords,
} from '../lib/text/text_format.ts'
import { ROW_KINDS, UNCOUNTED_REASONS } from './sum/row.ts'

const reason = v.picklist(UNCOUNTED_REASONS)

const incomplete = incompleteList('What is lacking, debts first: a price, or one that may mislead; empty if nothing is')

function usd(words: string) {
  return v.pipe(usdFigure, v.description(words))
}

const net = {
  net_worth_usd: v.pipe(
    v.nullable(usdFigure),
    v.description(
      'assets_usd less debt_usd: the sum of value_usd of all rows; null if a debt has no price, or if nothing could have one',
    ),
  ),
  assets_usd: usd('Everything counted but debts'),
  debt_usd: usd('All debts that have a price; not negative'),
  incomplete,
}

const kinds = {
  wallet_usd: usd('Native and other tokens in the wallet itself'),
  liquidity_usd: usd('Principal, uncollected fees and rewards of liquidity positions'),
  supplied_usd: usd('What is lent, and collateral'),
  borrowed_usd: usd('What is owed; not negative'),
}

const address = v.union([evmAddress, base58Address])
const wholeTokens = withWords('Whole tokens, all digits; null without decimals', v.nullable(text(DECIMAL)))

/** Fields of an amount of a token. */
export const amountFields = {
  raw: withWords('Smallest units of the token', text(UNSIGNED_INTEGER)),
  amount: wholeTokens,
}
/** An amount of a token. */
export const amount = named('Amount', 'An amount of a token', v.strictObject(amountFields))

const fxFields = {
  currency: withWords('The currency, ISO 4217', v.picklist(CURRENCIES)),
  market: withWords(
    "Whose hours the feed keeps: forex rests from Friday evening to Sunday evening in New York, forex_brl and such with their country's market; a rate is old by then",
    v.string(),
  ),
}

/** Field of an answer whose figures are told in a currency too. */
export const fxField = {
  fx: v.optional(
    named(
      'ExchangeRate',
      'Only with currency: the rate by which figures were converted',
      v.strictObject({
        currency: fxFields.currency,
        rate: withWords('US dollars per unit of the currency, all digits', text(DECIMAL)),
        as_of: withWords('When its feed last answered, Unix seconds', nonNegativeInteger),
        market: fxFields.market,
        stale: withWords("True if it is older than the feed's heartbeat allows; it is used all the same", v.boolean()),
        chain_id: chainId,
      }),
    ),
  ),
}

/** Success body of the balance, without `request_id`. */
export const balanceOutput = v.strictObject({
  data: v.strictObject({
    wallet: withWords('The wallet that was asked about', address),
    ...net,
    by_kind: named('ValuesByKind', 'The same by kind of what is held, US dollars', v.strictObject(kinds)),
    by_chain: withWords(
      'The same of each chain',
      v.array(
        named(
          'ChainBalance',
          'What a wallet has on one chain',
          v.strictObject({ chain_id: chainId, ...net, ...kinds }),
        ),
      ),
    ),
    by_confidence: v.pipe(
      v.strictObject({
        oracle_usd: usd("Priced by a feed, by Aave's oracle or, on Solana, by Scope"),
        derived_usd: usd('Priced by the rate of a known wrapper, or by the feed of what a bridged token stands for'),
        assumed_usd: usd('Stablecoins without a feed, taken as one dollar'),
        market_usd: usd('Priced by pools of Uniswap V3'),
      }),
      v.description(
        'net_worth_usd by price confidence; debts are negative, so that a part near zero may be large assets and debts',
      ),
    ),
    rows: v.pipe(
      v.strictObject({
        counted: withWords('Rows of which any is counted', nonNegativeInteger),
        unpriced: withWords('Rows without a price', nonNegativeInteger),
        spam: withWords('Rows of tokens on no list that look like spam', nonNegativeInteger),
        other_reasons: withWords('Rows that are not counted for another reason', nonNegativeInteger),
      }),
      v.description('How many rows are counted, and how many are not, by reason'),
    ),
    complete: v.pipe(
      v.boolean(),
      v.description(
        'False if a chain could not be read, or if a family may have positions that were not found; `coverage` says what ' +
          'was not read',
      ),
    ),
    unread: withWords(
      'Chains that could not be read: nothing of them is counted',
      v.array(v.strictObject({ chain_id: chainId, because: withWords('The reason in a sentence', v.string()) })),
    ),
    coverage: named(
      'Coverage',
      'What was read of the wallet, and what was not',
      v.strictObject({
        tokens_asked: v.pipe(
          nonNegativeInteger,
          v.description('Tokens whose balances were asked for, over all chains'),
        ),
        token_lists: withWords('Lists whose tokens were asked for', v.array(v.string())),
        families: withWords('Protocols that were read', v.array(v.string())),
        not_read: v.pipe(
          v.array(v.string()),
          v.description('Holdings that were not read, debts first: each of those begins `debts in`'),
        ),
        nfts: v.optional(
          v.pipe(
            nonNegativeInteger,
            v.description('On Solana: tokens of one unit without decimals, those of positions apart; they have no row'),
          ),
        ),
        found_by: v.optional(
          v.pipe(
            v.array(
              v.strictObject({
                family: withWords('The protocol', v.string()),
                complete: withWords('True if none of its positions can be missing', v.boolean()),
                by: withWords('How they were found', v.string()),
                markets: v.optional(withWords('Markets in which they were looked for', nonNegativeInteger)),
              }),
            ),
            v.description("On Solana: how a family's positions were found; if not complete there may be others"),
          ),
        ),
      }),
    ),
  }),
  ...fxField,
})

/** Success body of the snapshots, without `request_id`. */
export const snapshotsOutput = v.strictObject({
  data: v.array(
    v.strictObject({
      timestamp: v.pipe(nonNegativeInteger, v.description('The midnight, Unix seconds')),
      block_number: v.pipe(nonNegativeInteger, v.description('The last block at or before it')),
      ...net,
      ...kinds,
      unpriced: v.pipe(
        nonNegativeInteger,
        v.description('Rows that are not counted because they have no price, for whatever reason'),
      ),
      fx_rate: v.optional(
        withWords(
          'Only with currency: US dollars per unit of it at the midnight, all digits; null where its feed told none yet',
          v.nullable(text(DECIMAL)),
        ),
      ),
    }),
  ),
  fx: v.optional(
    named(
      'MidnightExchange',
      'Only with currency: by which feed figures were converted',
      v.strictObject({ currency: fxFields.currency, market: fxFields.market, chain_id: chainId }),
    ),
  ),
})

/** A token as rows show it. */
export const token = named(
  'RowToken',
  'A token, whose words are its own',
  v.strictObject({
    id: v.pipe(
      address,
      v.description("The zero address for the native token, on Solana 32 ones: the system program's"),
    ),
    symbol: withWords('Its symbol, as the token itself tells it', v.string()),
    decimals: v.pipe(
      v.nullable(nonNegativeInteger),
      v.description('Digits of its smallest unit; null if it has none that can be used'),
    ),
    name: withWords('Its name, as the token itself tells it', v.string()),
  }),
)

/** Where a row is. */
export const rowPosition = v.pipe(
  v.nullable(v.objectWithRest({ family: withWords('The protocol', v.string()) }, v.string())),
  v.description(
    'Where it is; null for what is in the wallet itself. `part` says what of a liquidity position: `principal`, `fees` ' +
      'or, in Uniswap V3, `withdrawn`: principal that was withdrawn and not collected; `owed` is fees and such ' +
      'principal that its history does not tell apart yet; `queued` is collateral of Kamino in a withdraw ticket; in ' +
      'Aave V4 it is the hub and the id of the reserve',
  ),
)

/** Fields of a debt that falls due at a time. */
const termFields = {
  due_at: v.optional(
    v.pipe(
      dueFields.due_at,
      v.description('Morpho Midnight, of a debt: its maturity, Unix seconds; owed at par all along'),
    ),
  ),
  is_overdue: v.optional(v.pipe(v.boolean(), v.description('Of such a debt: true after its maturity'))),
  is_healthy: v.optional(
    v.pipe(
      v.nullable(v.boolean()),
      v.description('Of such a debt: true if its collaterals back it; null while an oracle of theirs does not tell'),
    ),
  ),
  health_factor: v.optional(
    v.pipe(
      v.nullable(healthFactorFigure),
      v.description(
        "Of such a debt: what its collaterals back by the market's own oracles ÷ the debt, truncated to 4 digits; null as is_healthy",
      ),
    ),
  ),
  liquidatable_because: v.optional(
    v.pipe(
      dueFields.liquidatable_because,
      v.description(
        'Of such a debt: every reason for which wallets that its market lets may liquidate it now; [] if there is none, or while an oracle does not tell',
      ),
    ),
  ),
}

const row = named(
  'Asset',
  'What a wallet has of one token in one place, or owes',
  v.strictObject({
    chain_id: chainId,
    kind: withWords('Native token, other token, liquidity, supply or debt', v.picklist(ROW_KINDS)),
    token,
    amount,
    price_usd: v.pipe(
      v.nullable(text(DECIMAL)),
      v.description('US dollars per whole token, all digits that are known'),
    ),
    price_source: withWords(
      'What told the price; null without one',
      v.nullable(v.picklist([...USD_PRICE_SOURCES, 'market_oracle', 'scope'])),
    ),
    price_confidence: withWords(
      'How far it can be believed; null without a price',
      v.nullable(v.picklist(PRICE_CONFIDENCES)),
    ),
    price_chain_id: v.pipe(
      v.nullable(chainId),
      v.description("The chain whose feed tells the price, if it is another than the row's: ether has Ethereum's"),
    ),
    price_marks: v.pipe(
      v.array(v.picklist(PRICE_MARKS)),
      v.description('What is to be known about a price by pools; empty for every other price'),
    ),
    value_usd: v.pipe(
      v.nullable(usdFigure),
      v.description('What is counted of it, negative for a debt; null if nothing is'),
    ),
    counted: v.pipe(v.boolean(), v.description('True if any of it is counted')),
    reason: v.pipe(v.nullable(reason), v.description('Why nothing of it is counted; if several apply, the first')),
    detail: v.pipe(v.nullable(v.string()), v.description('The reason in a sentence')),
    not_counted: v.pipe(
      v.nullable(
        v.strictObject({
          ...amountFields,
          usd: withWords('US dollars; null without a price', v.nullable(usdFigure)),
          reason: withWords('Why it is not counted', reason),
        }),
      ),
      v.description('The part of the amount that is not counted; null if all of it is'),
    ),
    withdrawable: v.pipe(
      withdrawable,
      v.description(
        'What a withdrawal of this row alone would pay at this block, at price_usd: the pools’ money and the health of its ' +
          'account included. Rows taken together may bring less. Null for what is in the wallet itself, for debts, and ' +
          'where no endpoint tells',
      ),
    ),
    limited_by: v.pipe(
      limitedBy,
      v.description(
        'The first reason why withdrawable is less than amount: paused, halted, inactive, liquidity (nothing more is there), ' +
          'health (its account’s debt holds it), price (of an oracle, missing), hook (of the pool), and others; else null',
      ),
    ),
    incomplete,
    position: rowPosition,
    ...termFields,
    is_collateral: v.optional(
      v.pipe(v.boolean(), v.description('Morpho Midnight, of a supply: true if it backs debts, false for credit')),
    ),
    frozen: v.optional(v.pipe(v.literal(true), v.description('Solana: all of it is in frozen accounts'))),
    frozen_amount: v.optional(
      v.pipe(amount, v.description('Solana: what of it is in frozen accounts; it cannot be moved, and counts')),
    ),
    slot: v.optional(
      v.pipe(text(UNSIGNED_INTEGER), v.description('On Solana, if rows of one answer were read at different slots')),
    ),
  }),
)

/** Success body of the assets, without `request_id`. */
export const assetsOutput = v.strictObject({ data: v.array(row), ...fxField, pagination })
