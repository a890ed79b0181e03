import * as v from 'valibot'
import { base58Address, chainId, evmAddress, usdFigure, withFull } from '../../finance/figure.ts'
import { PRICE_CONFIDENCES, USD_PRICE_SOURCES } from '../../finance/price/price.ts'
import {
  DECIMAL,
  fixedDecimal,
  INTEGER,
  named,
  nonNegativeInteger,
  pagination,
  text,
  UNSIGNED_INTEGER,
  withWords,
} from '../../lib/text/text_format.ts'
import { FLOW_PRICE_SOURCES } from './position_history/flow_price.ts'
import { PNL_STATUSES } from './position_history/pnl.ts'

/** A number that is never negative, in digits. */
export const unsignedText = text(UNSIGNED_INTEGER)
/** A decimal, all digits. */
const decimalText = text(DECIMAL)
/** Raw units of a token, and whole tokens. */
export const amount = named(
  'TokenAmount',
  'An amount of a token',
  v.strictObject({
    raw: withWords('Smallest units of the token', unsignedText),
    amount: withWords('Whole tokens, all digits', decimalText),
  }),
)
/** Amounts of both tokens, in raw units and whole tokens. */
export const amounts = named(
  'TokenAmounts',
  'Amounts of both tokens',
  v.strictObject({ token0: amount, token1: amount }),
)
/** A tick or another number that may be negative, in digits. */
export const integerText = text(INTEGER)
/** US dollars, null if a price is missing. */
export const usdOrNullText = v.nullable(text(fixedDecimal(6)))

function buildToken(name: string, address: v.GenericSchema) {
  return named(
    name,
    'A token, whose words are its own',
    v.strictObject({
      id: withWords('Its address', address),
      symbol: withWords('Its symbol, as the token itself tells it', v.string()),
      decimals: withWords('Digits of its smallest unit', v.pipe(v.number(), v.integer())),
      name: withWords('Its name, as the token itself tells it', v.string()),
    }),
  )
}

/** What a value of a position's amounts is. */
export const WORTH = 'US dollars of these amounts; null if a price is missing'

/** A token of a position. */
export const positionToken = buildToken('Token', evmAddress)
/** A token of a position on Solana. */
export const solanaToken = buildToken('SolanaToken', base58Address)

const custodianFields = v.strictObject({
  address: withWords('Its contract', evmAddress),
  kind: withWords('What it is', v.string()),
})

/** What holds a position for its owner. */
export const custodian = v.pipe(
  v.nullable(custodianFields),
  v.description('What holds the position for its owner, such as a farm; null if the owner does'),
)

/** A reward's yearly rate. */
export const rewardApr = v.pipe(
  v.nullable(text(fixedDecimal(4))),
  v.description(
    'What it brings in a year at the present rate, percent of usd.amounts, not compounded; 0 out of range, null if a price is missing or without liquidity',
  ),
)

/** A reward of a position. */
export const reward = named(
  'Reward',
  'What a position is owed beside fees',
  v.strictObject({
    token: positionToken,
    ...amount.entries,
    usd: withWords('US dollars; null without a price', usdOrNullText),
    apr: rewardApr,
    penalty: v.pipe(
      v.nullable(
        v.strictObject({
          raw: withWords('Smallest units that are forfeited', unsignedText),
          until: withWords('Unix seconds at which nothing is forfeited any more', nonNegativeInteger),
        }),
      ),
      v.description('What claiming it now forfeits besides, and until when, Unix seconds; null if nothing'),
    ),
  }),
)
/** Words for the rewards of a position. */
export const REWARDS = 'what claiming each reward pays now; not in usd, and of pnl in pnl_with_rewards alone'

function tokenPrices<Source extends v.GenericSchema, Confidence extends v.GenericSchema>(
  source: Source,
  confidence: Confidence,
) {
  const price = withWords('US dollars per whole token; null without a price', usdOrNullText)
  const priceSource = withWords('What told that price; null without one', v.nullable(source))
  const priceConfidence = withWords('How far it can be believed; null without a price', v.nullable(confidence))
  return {
    token0_price: price,
    token0_price_source: priceSource,
    token0_price_confidence: priceConfidence,
    token1_price: price,
    token1_price_source: priceSource,
    token1_price_confidence: priceConfidence,
  }
}

const rangePrices = {
  current: withWords('The price of the pool now', decimalText),
  lower: withWords('The price at the lower end of the range', decimalText),
  upper: withWords('The price at the upper end of the range', decimalText),
}
const prices = named(
  'RangePrices',
  'Whole token1 per whole token0, 18 significant digits',
  v.strictObject({
    ...rangePrices,
    inverse: named('InverseRangePrices', 'Whole token0 per whole token1', v.strictObject(rangePrices)),
  }),
)

/** Fields about a range that `full=true` adds. */
export const rangeFigures = {
  in_range: withFull(v.boolean(), "whether the pool's tick is within the range"),
  prices: withFull(prices, 'whole token1 per whole token0, and the inverse; 18 significant digits'),
}

const percentage = text(fixedDecimal(4, { signed: true }))

function usd(words: string) {
  return v.pipe(usdFigure, v.description(words))
}

function percent(words: string) {
  return v.pipe(percentage, v.description(words))
}

/** Profit and loss of a position. US dollars, percent; negative is worse for the owner. Gas is not counted. */
const pnl = named(
  'ProfitAndLoss',
  'What a position has brought since it was made; gas is not counted',
  v.strictObject({
    token_id: withWords('Id of the position within its manager', unsignedText),
    chain_id: chainId,
    pnl_usd_value: usd(
      'Realized and unrealized: all that was received and is held, less all deposits at their own time',
    ),
    pnl_percentage: percent('pnl_usd_value of time_weighted_average_capital'),
    time_weighted_average_capital: usd(
      'Cost of what was in the position, averaged over the time that something was; all deposits if that took no time',
    ),
    fee_apr: v.nullable(
      percent(
        'All fees, collected or not, of time_weighted_average_capital in a year of the time that something was in it, not compounded; null if that was less than a day',
      ),
    ),
    hodl_gross_benchmark_usd_value: usd('What all deposited tokens are worth now, as if nothing had been withdrawn'),
    alpha_vs_hodl_gross_usd_value: usd('All that was received and is held, less hodl_gross_benchmark_usd_value'),
    alpha_vs_hodl_gross_percentage: percent('alpha_vs_hodl_gross_usd_value of hodl_gross_benchmark_usd_value'),
    net_impermanent_loss: usd('pure_impermanent_loss and all fees; equal to lp_divergence_pnl_usd_value'),
    net_impermanent_loss_percentage: percent(
      'net_impermanent_loss of what the twin of market_pnl_usd_value got and has',
    ),
    pure_impermanent_loss: usd(
      'Without fees, the difference to holding the same tokens and selling the same shares of them',
    ),
    pure_impermanent_loss_percentage: percent('pure_impermanent_loss of the same'),
    market_pnl_usd_value: usd(
      'Profit of a twin that holds the deposited tokens and sells the same share of them whenever liquidity is withdrawn',
    ),
    lp_divergence_pnl_usd_value: usd('pnl_usd_value less market_pnl_usd_value'),
    realized_usd_value: usd('Principal and fees that were collected, less the cost of that principal'),
    unrealized_usd_value: usd('What is in the position and what can be collected, less its cost'),
    is_closed: v.pipe(v.boolean(), v.description('No liquidity is left')),
    pnl_with_rewards: v.pipe(
      v.nullable(usdFigure),
      v.description(
        'pnl_usd_value and rewards: each that was claimed at the price of its block, and what can be claimed now; null if that cannot be told',
      ),
    ),
    pnl_with_rewards_missing: withWords('Why pnl_with_rewards is null; null if it is not', v.nullable(v.string())),
  }),
)

const price = named(
  'FlowPrice',
  'The price of a token at a block',
  v.strictObject({
    usd: withWords('US dollars per whole token, all digits', decimalText),
    source: withWords('What told it', v.picklist(FLOW_PRICE_SOURCES)),
  }),
)

const paidReward = named(
  'PaidReward',
  'What was paid for a position beside fees',
  v.strictObject({
    token: withWords('Address of its token', evmAddress),
    ...amount.entries,
    price: withWords('The price of the token at the block; null if none is known', v.nullable(price)),
    usd: withWords('US dollars at that price; null without one', usdOrNullText),
  }),
)

/** One flow of a position. */
const event = named(
  'PositionEvent',
  'What went into a position or came out',
  v.strictObject({
    type: withWords(
      'What happened; stake, unstake and reward are of what holds it, and move neither of its tokens',
      v.picklist(['increase', 'decrease', 'collect', 'stake', 'unstake', 'reward']),
    ),
    block_number: withWords('Its block', nonNegativeInteger),
    log_index: withWords('Place of its log in the block', nonNegativeInteger),
    timestamp: v.pipe(nonNegativeInteger, v.description('Unix seconds')),
    transaction_hash: withWords('Its transaction', v.pipe(v.string(), v.regex(/^0x[0-9a-f]{64}$/))),
    liquidity: v.pipe(unsignedText, v.description('Put in or withdrawn; 0 for others')),
    amounts,
    principal: v.optional(v.pipe(amounts, v.description('collect: the part that was withdrawn before'))),
    fees: v.optional(v.pipe(amounts, v.description('collect: the rest'))),
    prices: v.pipe(
      v.nullable(v.strictObject({ token0: price, token1: price })),
      v.description('US dollars per whole token, all digits; null where profit and loss needs none or none is known'),
    ),
    usd_value: v.pipe(v.nullable(usdFigure), v.description('Worth of the amounts at these prices')),
    custodian: v.optional(v.pipe(custodianFields, v.description('stake, unstake, reward: what holds the position'))),
    reward: v.optional(v.pipe(paidReward, v.description('reward: what was paid'))),
  }),
)

/** Success body of a position's profit and loss, without `request_id`. */
export const pnlOutput = v.strictObject({ data: pnl })

/** Success body of a position's flows, without `request_id`. */
export const eventsOutput = v.strictObject({ data: v.array(event), pagination })

/** The two routes that answer positions: a list waits for histories, the answer about one does not come without. */
export type PositionAnswer = 'list' | 'position'

/** Words for `pnl_status` of listed positions. */
export const LISTED_PNL_STATUS =
  'pending: its history was not read within 2 seconds, ask again; unpriced: a price is missing; failed: …/pnl says why'

/** Builds the fields of profit and loss that `full=true` adds; `words` describe the status. */
export function pnlFigures(words: string) {
  return {
    pnl: withFull(v.nullable(pnl), 'as …/pnl; null unless pnl_status is ready'),
    pnl_status: withFull(v.picklist(PNL_STATUSES), words),
  }
}

/** Builds the field of values in US dollars that `full=true` adds; `values` are those between prices and the total. */
export function usdFigures<const Values extends v.ObjectEntries>(
  values: Values,
  words: string,
  { priceSource, priceConfidence }: Pick<PositionNetwork, 'priceSource' | 'priceConfidence'> = EVM,
) {
  return withFull(
    v.strictObject({
      ...tokenPrices(priceSource, priceConfidence),
      ...values,
      total: withWords('All of it together; null if a price is missing', usdOrNullText),
    }),
    words,
  )
}

/** How a network names positions and wallets, and where its prices are from. */
interface PositionNetwork {
  /** Begins the names of its schemas. */
  readonly name: string
  /** The id of a position within its manager. */
  readonly id: v.GenericSchema
  readonly address: v.GenericSchema
  readonly priceSource: v.GenericSchema
  readonly priceConfidence: v.GenericSchema
  /** Fields of a position that is read at a slot of its own. */
  readonly slot: v.ObjectEntries
}

/** Networks whose positions are tokens of a contract, read at one block. */
const EVM: PositionNetwork = {
  name: '',
  id: unsignedText,
  address: evmAddress,
  priceSource: v.picklist(USD_PRICE_SOURCES),
  priceConfidence: v.picklist(PRICE_CONFIDENCES),
  slot: {},
}

/** Solana, whose positions are accounts, each read at a slot. */
export const SOLANA: PositionNetwork = {
  name: 'Solana',
  id: base58Address,
  address: base58Address,
  priceSource: v.literal('scope'),
  priceConfidence: v.literal('oracle'),
  slot: {
    slot: v.optional(v.pipe(unsignedText, v.description('If positions of one answer were read at different slots'))),
  },
}

/** Builds the schemas of success bodies, without `request_id`; `getFigures` returns the fields that `full=true` adds. */
export function buildOutputs(options: {
  /** Name of the protocol in those of schemas, `UniswapV4`. */
  readonly name: string
  /** @default EVM networks */
  readonly network?: PositionNetwork
  /** Fields that name a position besides, which only this protocol has. @default none */
  readonly names?: v.ObjectEntries
  /** Fields of the pool, without its square-root price. */
  readonly pool: v.ObjectEntries
  readonly sqrtPrice?: v.GenericSchema
  /** The wallet that owns a position; null where a custodian does not tell it by the id alone. @default an address */
  readonly owner?: v.GenericSchema
  readonly tokens: readonly [v.GenericSchema, v.GenericSchema]
  readonly code: v.GenericSchema
  /** Fields of the state that only this protocol has. @default none */
  readonly state?: v.ObjectEntries
  readonly getFigures: (answer: PositionAnswer) => v.ObjectEntries
}) {
  const {
    name,
    network = EVM,
    names = {},
    pool,
    sqrtPrice = unsignedText,
    tokens,
    code,
    state = {},
    getFigures,
  } = options
  const { id, address, slot } = network
  const { owner = address } = options
  const location = {
    token_id: withWords('Id of the position within its manager', id),
    chain_id: chainId,
    manager_address: withWords('Contract or program that keeps positions', address),
  }
  const buildPosition = (fields: v.ObjectEntries, answer: PositionAnswer) =>
    v.strictObject({
      ...location,
      ...names,
      wallet: withWords('The wallet that has it, as position_state.owner', owner),
      is_active: withWords('Whether it has liquidity', v.boolean()),
      ...slot,
      position_state: withWords(
        'The position and its pool as the chain has them',
        v.strictObject({
          id: withWords('The same as token_id', id),
          owner: withWords('Who can withdraw it', owner),
          liquidity: withWords("Its liquidity, in the pool's own unit", unsignedText),
          tickLower: withWords('Lower end of its range', integerText),
          tickUpper: withWords('Upper end of its range', integerText),
          token0: tokens[0],
          token1: tokens[1],
          pool: withWords('The pool that it is in', v.strictObject(fields)),
          chain: withWords('The chain', v.strictObject({ id: chainId })),
          protocol: withWords('The protocol', v.strictObject({ code: withWords('Its name for programs', code) })),
          ...state,
        }),
      ),
      ...getFigures(answer),
    })
  const spam = v.strictObject({ ...location, reason: withWords('What makes it look like spam', v.string()) })
  const counts = named(
    `${network.name}PositionCounts`,
    'How many positions of the wallet there are, by kind',
    v.strictObject({
      totalActive: withWords('With liquidity', nonNegativeInteger),
      totalInactive: withWords('Without liquidity', nonNegativeInteger),
      total: withWords('All that are no spam', nonNegativeInteger),
      filtered: withWords('Those that match the request, as pagination.total', nonNegativeInteger),
      errors: withWords('Those that could not be read', nonNegativeInteger),
      spams: v.pipe(v.array(spam), v.description('Positions left out as spam, the first 1,000 of them')),
    }),
  )
  const listed = named(`Listed${name}Position`, 'A position of a list', buildPosition(pool, 'list'))
  const single = buildPosition(
    { ...pool, sqrtPrice: withWords('Square root of base units of token1 per token0', sqrtPrice) },
    'position',
  )
  return {
    list: v.strictObject({ data: v.array(listed), pagination, counts }),
    position: v.strictObject({ data: named(`${name}Position`, 'A position', single) }),
  }
}
