import * as v from 'valibot'
import { base58Address, chainId, evmAddress, usdFigure, withFull } from '../../finance/figure.ts'
import { PRICE_CONFIDENCES, USD_PRICE_SOURCES } from '../../finance/price/price.ts'
import {
  DECIMAL,
  fixedDecimal,
  INTEGER,
  nonNegativeInteger,
  pagination,
  text,
  UNSIGNED_INTEGER,
} from '../../lib/text/text_format.ts'
import { FLOW_PRICE_SOURCES } from './position_history/flow_price.ts'
import { PNL_STATUSES } from './position_history/pnl.ts'

/** A number that is never negative, in digits. */
export const unsignedText = text(UNSIGNED_INTEGER)
/** A decimal, all digits. */
const decimalText = text(DECIMAL)
/** Raw units of a token, and whole tokens. */
export const amount = v.strictObject({ raw: unsignedText, amount: decimalText })
/** Amounts of both tokens, in raw units and whole tokens. */
export const amounts = v.strictObject({ token0: amount, token1: amount })
/** A tick or another number that may be negative, in digits. */
export const integerText = text(INTEGER)
/** US dollars, null if a price is missing. */
export const usdOrNullText = v.nullable(text(fixedDecimal(6)))
/** A token of a position. */
export const positionToken = v.strictObject({
  id: evmAddress,
  symbol: v.string(),
  decimals: v.pipe(v.number(), v.integer()),
  name: v.string(),
})

/** What holds a position for its owner. */
export const custodian = v.pipe(
  v.nullable(v.strictObject({ address: evmAddress, kind: v.string() })),
  v.description('What holds the position for its owner, such as a farm; null if the owner does'),
)

/** A reward of a position. */
export const reward = v.strictObject({
  token: positionToken,
  raw: unsignedText,
  amount: decimalText,
  usd: usdOrNullText,
  penalty: v.pipe(
    v.nullable(v.strictObject({ raw: unsignedText, until: nonNegativeInteger })),
    v.description('What claiming it now forfeits besides, and until when, Unix seconds; null if nothing'),
  ),
})
/** Words for the rewards of a position. */
export const REWARDS = 'what claiming each reward pays now; neither in usd nor in pnl'

function tokenPrices<Source extends v.GenericSchema, Confidence extends v.GenericSchema>(
  source: Source,
  confidence: Confidence,
) {
  const [priceSource, priceConfidence] = [v.nullable(source), v.nullable(confidence)]
  return {
    token0_price: usdOrNullText,
    token0_price_source: priceSource,
    token0_price_confidence: priceConfidence,
    token1_price: usdOrNullText,
    token1_price_source: priceSource,
    token1_price_confidence: priceConfidence,
  }
}

const rangePrices = { current: decimalText, lower: decimalText, upper: decimalText }

/** Fields about a range that `full=true` adds. */
export const rangeFigures = {
  in_range: withFull(v.boolean(), "whether the pool's tick is within the range"),
  prices: withFull(
    v.strictObject({ ...rangePrices, inverse: v.strictObject(rangePrices) }),
    'whole token1 per whole token0, and the inverse; 18 significant digits',
  ),
}

const percentage = text(fixedDecimal(4, { signed: true }))

function usd(words: string) {
  return v.pipe(usdFigure, v.description(words))
}

function percent(words: string) {
  return v.pipe(percentage, v.description(words))
}

/** Profit and loss of a position. US dollars, percent; negative is worse for the owner. Gas is not counted. */
const pnl = v.strictObject({
  token_id: unsignedText,
  chain_id: chainId,
  pnl_usd_value: usd('Realized and unrealized: all that was received and is held, less all deposits at their own time'),
  pnl_percentage: percent('pnl_usd_value of time_weighted_average_capital'),
  time_weighted_average_capital: usd(
    'Cost of what was in the position, averaged over the time that something was; all deposits if that took no time',
  ),
  hodl_gross_benchmark_usd_value: usd('What all deposited tokens are worth now, as if nothing had been withdrawn'),
  alpha_vs_hodl_gross_usd_value: usd('All that was received and is held, less hodl_gross_benchmark_usd_value'),
  alpha_vs_hodl_gross_percentage: percent('alpha_vs_hodl_gross_usd_value of hodl_gross_benchmark_usd_value'),
  net_impermanent_loss: usd('pure_impermanent_loss and all fees; equal to lp_divergence_pnl_usd_value'),
  net_impermanent_loss_percentage: percent('net_impermanent_loss of what the twin of market_pnl_usd_value got and has'),
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
})

const price = v.strictObject({ usd: decimalText, source: v.picklist(FLOW_PRICE_SOURCES) })

/** One flow of a position. */
const event = v.strictObject({
  type: v.picklist(['increase', 'decrease', 'collect']),
  block_number: nonNegativeInteger,
  log_index: nonNegativeInteger,
  timestamp: v.pipe(nonNegativeInteger, v.description('Unix seconds')),
  transaction_hash: v.pipe(v.string(), v.regex(/^0x[0-9a-f]{64}$/)),
  liquidity: v.pipe(unsignedText, v.description('Put in or withdrawn; 0 for a collect')),
  amounts,
  principal: v.optional(v.pipe(amounts, v.description('collect: the part that was withdrawn before'))),
  fees: v.optional(v.pipe(amounts, v.description('collect: the rest'))),
  prices: v.pipe(
    v.nullable(v.strictObject({ token0: price, token1: price })),
    v.description('US dollars per whole token, all digits; null where profit and loss needs none or none is known'),
  ),
  usd_value: v.pipe(v.nullable(usdFigure), v.description('Worth of the amounts at these prices')),
})

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
    v.strictObject({ ...tokenPrices(priceSource, priceConfidence), ...values, total: usdOrNullText }),
    words,
  )
}

/** How a network names positions and wallets, and where its prices are from. */
interface PositionNetwork {
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
  id: unsignedText,
  address: evmAddress,
  priceSource: v.picklist(USD_PRICE_SOURCES),
  priceConfidence: v.picklist(PRICE_CONFIDENCES),
  slot: {},
}

/** Solana, whose positions are accounts, each read at a slot. */
export const SOLANA: PositionNetwork = {
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
  /** @default EVM networks */
  readonly network?: PositionNetwork
  /** Fields that name a position besides, which only this protocol has. @default none */
  readonly names?: v.ObjectEntries
  /** Fields of the pool, without its square-root price. */
  readonly pool: v.ObjectEntries
  readonly sqrtPrice?: v.GenericSchema
  readonly tokens: readonly [v.GenericSchema, v.GenericSchema]
  readonly code: v.GenericSchema
  /** Fields of the state that only this protocol has. @default none */
  readonly state?: v.ObjectEntries
  readonly getFigures: (answer: PositionAnswer) => v.ObjectEntries
}) {
  const { network = EVM, names = {}, pool, sqrtPrice = unsignedText, tokens, code, state = {}, getFigures } = options
  const { id, address, slot } = network
  const location = { token_id: id, chain_id: chainId, manager_address: address }
  const buildPosition = (fields: v.ObjectEntries, answer: PositionAnswer) =>
    v.strictObject({
      ...location,
      ...names,
      wallet: address,
      is_active: v.boolean(),
      ...slot,
      position_state: v.strictObject({
        id,
        owner: address,
        liquidity: unsignedText,
        tickLower: integerText,
        tickUpper: integerText,
        token0: tokens[0],
        token1: tokens[1],
        pool: v.strictObject(fields),
        chain: v.strictObject({ id: chainId }),
        protocol: v.strictObject({ code }),
        ...state,
      }),
      ...getFigures(answer),
    })
  const spam = v.strictObject({ ...location, reason: v.string() })
  const counts = v.strictObject({
    totalActive: nonNegativeInteger,
    totalInactive: nonNegativeInteger,
    total: nonNegativeInteger,
    filtered: nonNegativeInteger,
    errors: nonNegativeInteger,
    spams: v.pipe(v.array(spam), v.description('Positions left out as spam, the first 1,000 of them')),
  })
  return {
    list: v.strictObject({ data: v.array(buildPosition(pool, 'list')), pagination, counts }),
    position: v.strictObject({ data: buildPosition({ ...pool, sqrtPrice }, 'position') }),
  }
}
