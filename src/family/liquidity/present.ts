import { checksumAddress } from 'viem'
import { formatPercentage, formatUsd, formatUsdE6 } from '../../finance/figure.ts'
import {
  isInRange,
  type RangePrices,
  rangePrices,
  sqrtPriceAtTickX96,
  type TickRange,
  type TokenAmounts,
} from '../../finance/math/liquidity.ts'
import type { Pair } from '../../finance/math/pnl/flow.ts'
import { worth } from '../../finance/math/pnl/replay.ts'
import { computeRewardApr } from '../../finance/math/reward.ts'
import { getConfidence, sumE6, usdValue } from '../../finance/price/price.ts'
import { createUsdValuer, type PricedToken } from '../../finance/token/priced_token.ts'
import { type Decimal, formatExact, formatFixed } from '../../lib/number/decimal.ts'
import type { CustodyMark } from './position_history/custody_mark.ts'
import { type FlowPrice, type PnlToken, rawPrices } from './position_history/flow_price.ts'
import type { Pnl, PnlOutcome } from './position_history/pnl.ts'
import { getAmounts, type ValuedFlow } from './position_history/valued_flows.ts'
import type {
  Custodian,
  FigureContext,
  FullPosition,
  LiquidityDeployment,
  LiquidityPosition,
  LiquidityProtocol,
  Reward,
} from './protocol.ts'

/** Fields of a position that are computed from the logs of its flows. */
const PNL_FIELDS = ['pnl', 'pnl_status'] as const

/** Presents profit and loss. */
export function presentPnl(
  { figures, isClosed, rewards }: Pnl,
  { tokenId, chainId }: { readonly tokenId: bigint; readonly chainId: number },
) {
  return {
    token_id: tokenId.toString(),
    chain_id: chainId,
    pnl_usd_value: formatUsdE6(figures.pnlE6),
    pnl_percentage: formatPercentage(figures.pnlRatio),
    time_weighted_average_capital: formatUsdE6(figures.averageCapitalE6),
    fee_apr: figures.feeApr === undefined ? null : formatPercentage(figures.feeApr),
    hodl_gross_benchmark_usd_value: formatUsdE6(figures.hodlGrossE6),
    alpha_vs_hodl_gross_usd_value: formatUsdE6(figures.alphaE6),
    alpha_vs_hodl_gross_percentage: formatPercentage(figures.alphaRatio),
    net_impermanent_loss: formatUsdE6(figures.netImpermanentLossE6),
    net_impermanent_loss_percentage: formatPercentage(figures.netImpermanentLossRatio),
    pure_impermanent_loss: formatUsdE6(figures.pureImpermanentLossE6),
    pure_impermanent_loss_percentage: formatPercentage(figures.pureImpermanentLossRatio),
    market_pnl_usd_value: formatUsdE6(figures.marketE6),
    lp_divergence_pnl_usd_value: formatUsdE6(figures.divergenceE6),
    realized_usd_value: formatUsdE6(figures.realizedE6),
    unrealized_usd_value: formatUsdE6(figures.unrealizedE6),
    is_closed: isClosed,
    pnl_with_rewards: 'because' in rewards ? null : formatUsdE6(figures.pnlE6 + rewards.usdE6),
    pnl_with_rewards_missing: 'because' in rewards ? rewards.because : null,
  }
}

/** Presents profit and loss of a listed position, or the status that explains its absence. */
function presentOutcome(outcome: PnlOutcome, position: Parameters<typeof presentPnl>[1]) {
  const pnl = outcome.status === 'ready' ? presentPnl(outcome.pnl, position) : null
  return { pnl, pnl_status: outcome.status }
}

/** Fields of a position that an answer has. */
interface PresentOptions<Position, Withdrawal> {
  /** What its figures need, with `full=true`; absent for the state alone. */
  readonly full?: (FullPosition<Position, Withdrawal> & { readonly pnl: PnlOutcome }) | undefined
  /** True in the answer about one position, to include the pool's square-root price. */
  readonly hasSqrtPrice: boolean
}

/** What presentation asks of a protocol. */
type PresentedProtocol<
  Deployment extends LiquidityDeployment,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
> = Pick<
  LiquidityProtocol<Deployment, Position, Position, Withdrawal>,
  | 'getManager'
  | 'getCode'
  | 'getCustodian'
  | 'isOwnerKnown'
  | 'computeHeldAmounts'
  | 'splitOwed'
  | 'computeRewards'
  | 'presentPool'
  | 'presentWithdrawal'
>

/** Presents a position: its state, and with `full` its figures too. */
export function presentPosition<
  Deployment extends LiquidityDeployment,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  protocol: PresentedProtocol<Deployment, Position, Withdrawal>,
  position: Position,
  { full, hasSqrtPrice }: PresentOptions<Position, Withdrawal>,
) {
  const { tokenId, chainId, token0, token1, deployment, pool } = position
  const { getCustodian } = protocol
  return presentFields({
    id: tokenId.toString(),
    chainId,
    manager: checksumAddress(protocol.getManager(deployment)),
    wallet: protocol.isOwnerKnown?.(position) === false ? null : checksumAddress(position.owner),
    code: protocol.getCode(deployment),
    state: position,
    tokens: [presentToken(token0), presentToken(token1)],
    pool: protocol.presentPool(position),
    sqrtPrice: hasSqrtPrice ? pool.sqrtPriceX96 : undefined,
    ...(getCustodian && { others: { custodian: presentCustodian(getCustodian(position)) } }),
    figures: full && presentFigures(protocol, full),
  })
}

function presentFigures<
  Deployment extends LiquidityDeployment,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  protocol: PresentedProtocol<Deployment, Position, Withdrawal>,
  full: FullPosition<Position, Withdrawal> & { readonly pnl: PnlOutcome },
) {
  const { position, withdrawal, pnl } = full
  const { token0, token1 } = position
  const figures = computeFigures(protocol, position, { withdrawal, withdrawn: pnl.withdrawn })
  const { amounts, fees, withdrawn, inRange, prices, inverse, usd } = figures
  const present = (parts: TokenAmounts | undefined) =>
    parts === undefined ? null : presentAmounts([parts.amount0, parts.amount1], [token0, token1])
  const keepsWithdrawn = withdrawn !== undefined
  return {
    ...presentShownFigures({
      amounts: present(amounts),
      fees: present(fees),
      others: {
        ...(keepsWithdrawn && { withdrawn_principal: present(withdrawn.amounts) }),
        ...protocol.presentWithdrawal?.(full),
        ...(protocol.computeRewards && {
          rewards: protocol.computeRewards(position).map((each) => presentReward(each, usd?.amountsE6)),
        }),
      },
      inRange,
      prices,
      inverse,
      tokenPrices: [toShownPrice(token0), toShownPrice(token1)],
      usd: {
        amountsE6: usd?.amountsE6,
        feesE6: usd?.feesE6,
        others: keepsWithdrawn ? { withdrawn_principal: formatUsdE6OrNull(usd?.withdrawnE6) } : {},
        totalE6: usd?.totalE6,
      },
    }),
    ...presentOutcome(pnl, position),
  }
}

/** Presents a position of any network, in the order of answers. */
export function presentFields(options: {
  readonly id: string
  readonly chainId: number
  readonly manager: string
  /** Fields that name it besides, which only its protocol has. @default none */
  readonly names?: object
  /** Null if the state does not tell it. */
  readonly wallet: string | null
  /** Slot of its read, where positions of an answer are of different ones. */
  readonly slot?: bigint | undefined
  readonly code: string
  readonly state: TickRange & { readonly liquidity: bigint }
  /** As answers have them. */
  readonly tokens: Pair<object>
  readonly pool: object
  /** In the answer about one position. */
  readonly sqrtPrice: bigint | undefined
  /** Fields of the state that only its protocol has. @default none */
  readonly others?: object
  /** With `full=true`. */
  readonly figures: object | undefined
}) {
  const { id, chainId, manager, names, wallet, slot, code, state, tokens, pool, sqrtPrice, others, figures } = options
  return {
    token_id: id,
    chain_id: chainId,
    manager_address: manager,
    ...names,
    wallet,
    is_active: state.liquidity > 0n,
    ...(slot === undefined ? {} : { slot: slot.toString() }),
    position_state: {
      id,
      owner: wallet,
      liquidity: state.liquidity.toString(),
      tickLower: state.tickLower.toString(),
      tickUpper: state.tickUpper.toString(),
      token0: tokens[0],
      token1: tokens[1],
      pool: { ...pool, ...(sqrtPrice === undefined ? {} : { sqrtPrice: sqrtPrice.toString() }) },
      chain: { id: chainId },
      protocol: { code },
      ...others,
    },
    ...figures,
  }
}

/** Presents the figures of a position of any network, in the order of answers. */
export function presentShownFigures(figures: {
  /** As answers have them, like `fees`. */
  readonly amounts: object | null
  readonly fees: object | null
  /** Fields that only its protocol has. */
  readonly others: object
  readonly inRange: boolean
  readonly prices: RangePrices
  readonly inverse: RangePrices
  readonly tokenPrices: Pair<ShownPrice>
  /** Millionths of a US dollar; undefined if a price is missing. */
  readonly usd: {
    readonly amountsE6: bigint | undefined
    readonly feesE6: bigint | undefined
    /** Values that only its protocol has, as answers have them. */
    readonly others: object
    readonly totalE6: bigint | undefined
  }
}) {
  const { amounts, fees, others, inRange, prices, inverse, tokenPrices, usd } = figures
  return {
    amounts,
    uncollected_fees: fees,
    ...others,
    in_range: inRange,
    prices: { ...prices, inverse },
    usd: {
      ...presentPrices(tokenPrices),
      amounts: formatUsdE6OrNull(usd.amountsE6),
      uncollected_fees: formatUsdE6OrNull(usd.feesE6),
      ...usd.others,
      total: formatUsdE6OrNull(usd.totalE6),
    },
  }
}

function presentReward({ token, amount, penalty, perYear }: Reward, capitalE6: bigint | undefined) {
  const { price } = token
  return {
    token: presentToken(token),
    ...presentAmount(amount, token),
    usd: price === undefined ? null : formatUsdE6(sumE6([usdValue(amount, { decimals: token.decimals, price })])),
    apr: formatRewardApr(perYear, { ...token, capitalE6 }),
    penalty: penalty === undefined ? null : { raw: penalty.amount.toString(), until: Number(penalty.untilSec) },
  }
}

/** Formats a reward's yearly rate in percent; null if it cannot be told. */
export function formatRewardApr(...asked: Parameters<typeof computeRewardApr>): string | null {
  const apr = computeRewardApr(...asked)
  return apr === undefined ? null : formatPercentage(apr)
}

function presentCustodian(custodian: Custodian | undefined) {
  return custodian === undefined ? null : { address: checksumAddress(custodian.address), kind: custodian.kind }
}

function presentToken({ address, symbol, decimals, name }: PricedToken) {
  return { id: checksumAddress(address), symbol, decimals, name }
}

/** A price in answers, and where it is from; null without a price. */
interface ShownPrice {
  readonly price: Decimal | undefined
  readonly source: string | null
  readonly confidence: string | null
}

function presentPrices([price0, price1]: Pair<ShownPrice>) {
  return {
    token0_price: formatUsdOrNull(price0.price),
    token0_price_source: price0.source,
    token0_price_confidence: price0.confidence,
    token1_price: formatUsdOrNull(price1.price),
    token1_price_source: price1.source,
    token1_price_confidence: price1.confidence,
  }
}

function toShownPrice({ price }: PricedToken): ShownPrice {
  return { price, source: price?.source ?? null, confidence: price === undefined ? null : getConfidence(price) }
}

/** Presents amounts of both tokens, in raw units and whole tokens. */
export function presentAmounts([amount0, amount1]: Pair<bigint>, [token0, token1]: Pair<PnlToken>) {
  return { token0: presentAmount(amount0, token0), token1: presentAmount(amount1, token1) }
}

/** Presents a flow. */
export function presentFlow({ row, timestampSec, prices, paid }: ValuedFlow, tokens: Pair<PnlToken>) {
  const pricePair = prices === undefined || 'because' in prices ? undefined : prices
  const amounts = getAmounts(row)
  return {
    type: row.kind,
    block_number: row.block,
    log_index: row.logIndex,
    timestamp: Number(timestampSec),
    transaction_hash: row.transactionHash,
    liquidity: row.liquidity.toString(),
    amounts: presentAmounts(amounts, tokens),
    ...(paid === undefined
      ? {}
      : { principal: presentAmounts(paid.principal, tokens), fees: presentAmounts(paid.fees, tokens) }),
    prices: pricePair === undefined ? null : { token0: presentPrice(pricePair[0]), token1: presentPrice(pricePair[1]) },
    usd_value: pricePair === undefined ? null : formatUsd(worth(amounts, rawPrices(tokens, pricePair))),
  }
}

/** Presents what a custodian did with a position: no flow of its tokens. */
export function presentMark({ event, timestampSec, reward }: CustodyMark, tokens: Pair<PnlToken>) {
  const { kind, block, logIndex, transactionHash, custodian, amount } = event
  const price = reward === undefined || 'because' in reward.price ? undefined : reward.price
  return {
    type: kind,
    block_number: block,
    log_index: logIndex,
    timestamp: Number(timestampSec),
    transaction_hash: transactionHash,
    liquidity: '0',
    amounts: presentAmounts([0n, 0n], tokens),
    prices: null,
    usd_value: null,
    custodian: { address: checksumAddress(custodian.address), kind: custodian.kind },
    ...(reward && {
      reward: {
        token: reward.token,
        ...presentAmount(amount, reward),
        price: price === undefined ? null : { usd: formatExact(price.units, price.scale), source: price.source },
        usd: price === undefined ? null : formatUsdE6(sumE6([usdValue(amount, { decimals: reward.decimals, price })])),
      },
    }),
  }
}

/** Presents an amount of a token, in raw units and whole tokens. */
export function presentAmount(raw: bigint, { decimals }: { readonly decimals: number }) {
  return { raw: raw.toString(), amount: formatExact(raw, decimals) }
}

function presentPrice({ units, scale, source }: FlowPrice) {
  return { usd: formatExact(units, scale), source }
}

/** Formats US dollars per whole token; null if there is no price. */
function formatUsdOrNull(price: Decimal | undefined): string | null {
  return price === undefined ? null : formatFixed(price.units, { scale: price.scale, digits: 6 })
}

/** Formats US dollars; null if they are unknown. */
export function formatUsdE6OrNull(unitsE6: bigint | undefined): string | null {
  return unitsE6 === undefined ? null : formatUsdE6(unitsE6)
}

/** How a protocol tells which figures of a position state alone does not determine. */
interface UncoveredFields<Position> {
  readonly listUncoveredFields: (position: Position) => readonly string[]
}

/** Lists the paths of a position's figures that no receipt of state covers. */
export function listUncoveredPaths<Position>(
  { listUncoveredFields }: UncoveredFields<Position>,
  position: Position,
): string[] {
  return [...PNL_FIELDS, ...listUncoveredFields(position)].map((field) => `data.${field}`)
}

/** Lists these paths for the positions of a list. */
export function listAllUncoveredPaths<Position>(
  { listUncoveredFields }: UncoveredFields<Position>,
  positions: readonly Position[],
): string[] {
  if (positions.length === 0) return []
  const own = positions.flatMap((position, index) =>
    listUncoveredFields(position).map((field) => `data[${index}].${field}`),
  )
  return [...PNL_FIELDS.map((field) => `data[*].${field}`), ...own]
}

/** Computes all figures of a position, by its protocol's fee rule. */
export function computeFigures<
  Deployment extends LiquidityDeployment,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  {
    computeHeldAmounts,
    splitOwed,
  }: Pick<LiquidityProtocol<Deployment, Position, Position, Withdrawal>, 'computeHeldAmounts' | 'splitOwed'>,
  position: Position,
  context: FigureContext<Withdrawal>,
) {
  const { pool, tickLower, tickUpper, token0, token1 } = position
  const held = computeHeldAmounts(position)
  const { principal: amounts } = held
  const { fees, total, ...others } = splitOwed(position, held, context)
  const valueInUsd = createUsdValuer(position)
  const decimals = { decimals0: token0.decimals, decimals1: token1.decimals }
  const [lower, upper] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  return {
    /** Payout of withdrawing all liquidity. */
    amounts,
    /** Undefined if fees cannot be separated from withdrawn principal. */
    fees,
    /** Principal that was withdrawn and not collected; undefined if the protocol keeps none. */
    withdrawn: 'withdrawn' in others ? { amounts: others.withdrawn } : undefined,
    /** True if the pool's tick is within the range, so that its liquidity earns fees. */
    inRange: isInRange(pool.tick, { tickLower, tickUpper }),
    ...rangePrices({ current: pool.sqrtPriceX96, lower, upper }, decimals),
    /** Millionths of a US dollar; undefined if one of the tokens has no price. */
    usd: valueInUsd && {
      amountsE6: sumE6(valueInUsd(amounts)),
      feesE6: fees && sumE6(valueInUsd(fees)),
      withdrawnE6: others.withdrawn && sumE6(valueInUsd(others.withdrawn)),
      totalE6: total && sumE6(total.flatMap(valueInUsd)),
    },
  }
}
