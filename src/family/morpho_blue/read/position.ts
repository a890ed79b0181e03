import { type Address, type Hex, isAddressEqual, keccak256, zeroAddress } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { encodeCall } from '../../../chain/call/words.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import type { LendingPosition } from '../../../finance/math/lending.ts'
import { computeUsdPrice, type UsdAnswers, type UsdPrice, type UsdPriceOutcome } from '../../../finance/price/price.ts'
import { type RawToken, type Token, toToken } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import { pow10 } from '../../../lib/number/fixed_point.ts'
import { type Rational, rational } from '../../../lib/number/rational.ts'
import { accrue, borrowApyRay, RATE_WAD_MAX, supplyApyRay, toAssets, valuePosition } from '../math/market.ts'
import type { MarketParams, MarketState, RawEntry, RawMarket, RawRead } from '../math/state.ts'
import type { MarketsQuery } from './abi.ts'

/** A token of a market with its price by the chain's sources, or the reason why there is none. */
export interface MarketToken extends Token {
  readonly price: UsdPriceOutcome
}

/** A wallet's position in a market, accrued to the block of the reading; it needs no price. */
export interface HeldMarket {
  readonly marketId: Hex
  readonly params: MarketParams
  /** The market with interest up to the block, unless interest cannot be accrued. */
  readonly market: MarketState
  /** False if the contract cannot accrue interest: then supplying, borrowing, repaying and withdrawing fail. */
  readonly isAccrued: boolean
  /** Raw units of the loan token, rounded down. */
  readonly supplied: bigint
  /** Raw units of the loan token, rounded up. */
  readonly owed: bigint
  readonly borrowShares: bigint
  /** Raw units of the collateral token. */
  readonly collateral: bigint
  readonly loan: MarketToken
  /** Undefined in an idle market. */
  readonly collateralToken: MarketToken | undefined
  /** Raw units of the loan token per raw unit of the collateral, 36 decimals; undefined if the oracle is silent. */
  readonly oraclePrice: bigint | undefined
}

/** A market position with its value. */
export interface Position extends HeldMarket, LendingPosition {
  readonly supplyApyRay: bigint
  readonly borrowApyRay: bigint
  /** The price of a whole loan token and its source. */
  readonly loanPrice: UsdPrice
  /** US dollars per raw unit of the loan token. */
  readonly loanUsd: Rational
}

/** A wallet's position in a market, valued if possible. */
export type HeldRead =
  | { readonly kind: 'position'; readonly position: Position }
  /** The position exists, but an input of its figures is missing. `message` is a whole sentence. */
  | { readonly kind: 'unanswerable'; readonly held: HeldMarket; readonly message: string }

/** The interpreted reading of one market. */
export type MarketRead = HeldRead | { readonly kind: 'absent'; readonly reason: 'no_market' | 'no_position' }

/** Chain, wallet and block of a reading. */
interface Context {
  readonly chain: FinanceChain
  readonly wallet: Address
  readonly block: Block
  readonly feeRecipient: Address
}

/**
 * Interprets a reading, market by market: accrues, prices and values. Throws `UpstreamError` if the answer contradicts
 * itself: a market is not the requested one, or the contract's accrual differs from the computed one.
 */
export function interpret(
  { block, feeRecipient, entries }: Omit<RawRead, 'taken'>,
  { chain, query }: { readonly chain: FinanceChain; readonly query: Omit<MarketsQuery, 'morpho'> },
): MarketRead[] {
  const context = { chain, wallet: query.wallet, block, feeRecipient }
  return query.marketIds.map((marketId, index) => {
    const entry = entries[index]
    if (entry === undefined) throw new UpstreamError('Cannot read Morpho markets: an entry is missing')
    return interpretEntry(entry, marketId, context)
  })
}

function interpretEntry(entry: RawEntry, marketId: Hex, context: Context): MarketRead {
  if (typeof entry === 'string') return { kind: 'absent', reason: entry }
  const { params } = entry
  if (computeMarketId(params) !== marketId)
    throw new UpstreamError('Cannot read a Morpho market: its parameters do not hash to the requested id')
  const state = computeState(entry, context)
  const { supplyShares, borrowShares, collateral } = state.position
  if (supplyShares + borrowShares + collateral === 0n) return { kind: 'absent', reason: 'no_position' }
  const toMarketToken = (raw: RawToken, answers: UsdAnswers): MarketToken => ({
    ...toToken(raw),
    price: computeUsdPrice(raw.address, {
      chain: context.chain,
      answers,
      blockTimestampSec: context.block.timestampSec,
    }),
  })
  const isIdle = isAddressEqual(params.collateralToken, zeroAddress)
  const held: HeldMarket = {
    marketId,
    params,
    market: state.market,
    isAccrued: state.isAccrued,
    ...toAssets(state.position, state.market),
    borrowShares: state.position.borrowShares,
    collateral,
    loan: toMarketToken(entry.loan, entry.loanUsd),
    collateralToken: isIdle ? undefined : toMarketToken(entry.collateralToken, entry.collateralUsd),
    oraclePrice: entry.oraclePrice,
  }
  const outcome = valueHeld(held, state)
  if ('position' in outcome) return { kind: 'position', position: outcome.position }
  const { chain } = context
  const marketText = `Morpho market ${marketId} on chain ${chain.id} (${chain.name})`
  return { kind: 'unanswerable', held, message: `Cannot ${outcome.what} of ${marketText} because ${outcome.reason}` }
}

/** The position with its figures, or the step that failed and the reason. */
function valueHeld(
  held: HeldMarket,
  state: State,
): { readonly position: Position } | { readonly what: string; readonly reason: string } {
  const { params, market, supplied, owed, collateral, loan, oraclePrice = 0n } = held
  const { supplyShares, borrowShares } = state.position
  const { endRateWad = 0n, failure } = state
  if (failure !== undefined && supplyShares + borrowShares > 0n) return { what: 'accrue interest', reason: failure }
  if (endRateWad > RATE_WAD_MAX) {
    return { what: 'tell the yield', reason: 'its interest-rate model asks an absurd rate' }
  }
  if (collateral > 0n && oraclePrice === 0n) {
    const reason = held.oraclePrice === 0n ? 'its oracle answers zero' : 'its oracle does not answer'
    return { what: 'price the collateral', reason }
  }
  const what = `price the loan token ${params.loanToken}`
  if (loan.decimals === undefined) return { what, reason: 'it has no usable decimals' }
  if (loan.price.kind === 'missing') return { what, reason: loan.price.because }
  const { price: loanPrice } = loan.price
  const loanUsd = rational(loanPrice.units, pow10(loanPrice.scale + loan.decimals))
  const yields = { supplyApyRay: supplyApyRay(endRateWad, market), borrowApyRay: borrowApyRay(endRateWad) }
  const valued = valuePosition({ supplied, owed, collateral, oraclePrice, lltvWad: params.lltv, loanUsd, ...yields })
  return { position: { ...held, ...yields, loanPrice, loanUsd, ...valued } }
}

/** A market and the wallet's position at the block. */
interface State extends Pick<RawMarket, 'market' | 'position'> {
  /** False if interest cannot be accrued: then market and position are as stored. */
  readonly isAccrued: boolean
  /** The borrow rate from now on, per second, 18 decimals. */
  readonly endRateWad?: bigint
  /** Why the rate or the interest is unknown, in words that follow "because". */
  readonly failure?: string
}

const NO_RATE = 'its interest-rate model does not answer'

/** The market and the position at the block, computed here; as stored if the model or the contract fails. */
function computeState(
  { params, market, position, averageRateWad, accrued }: RawMarket,
  { block: { timestampSec }, wallet, feeRecipient }: Context,
): State {
  if (timestampSec < market.lastUpdateSec)
    throw new UpstreamError('Cannot read a Morpho market: its last accrual is after its block')
  if (isAddressEqual(params.irm, zeroAddress)) return { market, position, isAccrued: true, endRateWad: 0n }
  if (averageRateWad === undefined) return { market, position, isAccrued: false, failure: NO_RATE }
  if (accrued === undefined) return { market, position, isAccrued: false, failure: 'the contract cannot' }
  const { market: after, feeShares } = accrue(market, { averageRateWad, timestampSec })
  const supplyShares = position.supplyShares + (isAddressEqual(wallet, feeRecipient) ? feeShares : 0n)
  const ours = { market: after, position: { ...position, supplyShares } }
  if (!isSame(ours.market, accrued.market) || !isSame(ours.position, accrued.position)) {
    throw new UpstreamError('Cannot read a Morpho market: its accrual does not follow from its totals and rate')
  }
  const { endRateWad } = accrued
  return { ...ours, isAccrued: true, ...(endRateWad === undefined ? { failure: NO_RATE } : { endRateWad }) }
}

const IDS_MAX = 10_000
/** Ids by parameters, because hashing takes a tenth of an answer's time. */
const ids = createLru<Hex>({ entriesMax: IDS_MAX })

/** Source: `MarketParamsLib.id`, the hash of the parameters, a word each. */
function computeMarketId({ loanToken, collateralToken, oracle, irm, lltv }: MarketParams): Hex {
  const key = `${loanToken}${collateralToken}${oracle}${irm}${lltv}`
  const cached = ids.get(key)
  if (cached !== undefined) return cached
  const id = keccak256(encodeCall('0x', loanToken, collateralToken, oracle, irm, lltv))
  ids.set(key, id)
  return id
}

function isSame<T extends object>(a: T, b: T): boolean {
  return (Object.keys(a) as (keyof T)[]).every((name) => a[name] === b[name])
}
