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

/** A token of a market with its price by the chain's sources, or why there is none. */
export interface MarketToken extends Token {
  readonly price: UsdPriceOutcome
}

/** What a wallet has in a market, accrued to the block of the reading; no price is needed to tell. */
export interface HeldMarket {
  readonly marketId: Hex
  readonly params: MarketParams
  /** With its interest up to the block, unless that cannot be accrued. */
  readonly market: MarketState
  /** False if the contract cannot accrue its interest: then nobody can supply, borrow, repay or withdraw. */
  readonly isAccrued: boolean
  /** Raw units of the loan token, rounded down. */
  readonly supplied: bigint
  /** Raw units of the loan token, rounded up. */
  readonly owed: bigint
  /** Raw units of the collateral token. */
  readonly collateral: bigint
  readonly loan: MarketToken
  /** Undefined in an idle market. */
  readonly collateralToken: MarketToken | undefined
  /** Raw units of the loan token per raw unit of the collateral, 36 decimals; undefined if the oracle is silent. */
  readonly oraclePrice: bigint | undefined
}

/** The same with what it is worth, in money. */
export interface Position extends HeldMarket, LendingPosition {
  readonly supplyApyRay: bigint
  readonly borrowApyRay: bigint
  /** The price of a whole loan token and its source. */
  readonly loanPrice: UsdPrice
  /** US dollars per raw unit of the loan token. */
  readonly loanUsd: Rational
}

/** What a wallet has in a market, and whether its figures can be told. */
export type HeldRead =
  | { readonly kind: 'position'; readonly position: Position }
  /** The position exists, but something that its figures need is missing. `message` is a whole sentence. */
  | { readonly kind: 'unanswerable'; readonly held: HeldMarket; readonly message: string }

/** What a reading of one market means. */
export type MarketRead = HeldRead | { readonly kind: 'absent'; readonly reason: 'no_market' | 'no_position' }

/** Where and about whom a reading is. */
interface Context {
  readonly chain: FinanceChain
  readonly wallet: Address
  readonly block: Block
  readonly feeRecipient: Address
}

/**
 * Interprets a reading, market by market: accrues, values, prices. Throws `UpstreamError` if the answer contradicts
 * itself: a market that is not the one asked for, or one whose own accrual differs from ours.
 */
export function interpret(
  { block, feeRecipient, entries }: Omit<RawRead, 'taken'>,
  { chain, question }: { readonly chain: FinanceChain; readonly question: Omit<MarketsQuery, 'morpho'> },
): MarketRead[] {
  const context = { chain, wallet: question.wallet, block, feeRecipient }
  return question.marketIds.map((marketId, index) => {
    const entry = entries[index]
    if (entry === undefined) throw new UpstreamError('Cannot read Morpho markets: one of them is not answered')
    return interpretEntry(entry, marketId, context)
  })
}

function interpretEntry(entry: RawEntry, marketId: Hex, context: Context): MarketRead {
  if (typeof entry === 'string') return { kind: 'absent', reason: entry }
  const { params } = entry
  if (idOf(params) !== marketId) throw new UpstreamError('Cannot read a Morpho market: it is another one')
  const state = stateOf(entry, context)
  const { supplyShares, borrowShares, collateral } = state.position
  if (supplyShares + borrowShares + collateral === 0n) return { kind: 'absent', reason: 'no_position' }
  const tokenOf = (raw: RawToken, answers: UsdAnswers): MarketToken => ({
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
    collateral,
    loan: tokenOf(entry.loan, entry.loanUsd),
    collateralToken: isIdle ? undefined : tokenOf(entry.collateralToken, entry.collateralUsd),
    oraclePrice: entry.oraclePrice,
  }
  const valued = valuedFrom(held, state)
  if ('position' in valued) return { kind: 'position', position: valued.position }
  const { chain } = context
  const place = `Morpho market ${marketId} on chain ${chain.id} (${chain.name})`
  return { kind: 'unanswerable', held, message: `Cannot ${valued.what} of ${place} because ${valued.because}` }
}

/** The position with its figures, or what cannot be told and why. */
function valuedFrom(
  held: HeldMarket,
  state: State,
): { readonly position: Position } | { readonly what: string; readonly because: string } {
  const { params, market, supplied, owed, collateral, loan, oraclePrice = 0n } = held
  const { supplyShares, borrowShares } = state.position
  const { endRateWad = 0n, failure } = state
  if (failure !== undefined && supplyShares + borrowShares > 0n) return { what: 'accrue interest', because: failure }
  if (endRateWad > RATE_WAD_MAX) {
    return { what: 'tell the yield', because: 'its interest-rate model asks an absurd rate' }
  }
  if (collateral > 0n && oraclePrice === 0n) {
    const because = held.oraclePrice === 0n ? 'its oracle answers zero' : 'its oracle does not answer'
    return { what: 'price the collateral', because }
  }
  const what = `price the loan token ${params.loanToken}`
  if (loan.decimals === undefined) return { what, because: 'it has no usable decimals' }
  if (loan.price.kind === 'missing') return { what, because: loan.price.because }
  const { price: loanPrice } = loan.price
  const loanUsd = rational(loanPrice.units, pow10(loanPrice.scale + loan.decimals))
  const yields = { supplyApyRay: supplyApyRay(endRateWad, market), borrowApyRay: borrowApyRay(endRateWad) }
  const valued = valuePosition({ supplied, owed, collateral, oraclePrice, lltvWad: params.lltv, loanUsd, ...yields })
  return { position: { ...held, ...yields, loanPrice, loanUsd, ...valued } }
}

/** A market and the wallet in it at the block. */
interface State extends Pick<RawMarket, 'market' | 'position'> {
  /** False if its interest cannot be accrued: then these are its books as they stand. */
  readonly isAccrued: boolean
  /** The borrow rate from now on, per second, 18 decimals. */
  readonly endRateWad?: bigint
  /** Why that or the interest is not known, in words that follow "because". */
  readonly failure?: string
}

const NO_RATE = 'its interest-rate model does not answer'

/** The market and the position at the block, as we calculate them; as they stand if the model or the contract fails. */
function stateOf(
  { params, market, position, averageRateWad, accrued }: RawMarket,
  { block: { timestampSec }, wallet, feeRecipient }: Context,
): State {
  if (timestampSec < market.lastUpdateSec)
    throw new UpstreamError('Cannot read a Morpho market: it is ahead of its block')
  if (isAddressEqual(params.irm, zeroAddress)) return { market, position, isAccrued: true, endRateWad: 0n }
  if (averageRateWad === undefined) return { market, position, isAccrued: false, failure: NO_RATE }
  if (accrued === undefined) return { market, position, isAccrued: false, failure: 'the contract cannot' }
  const { market: after, feeShares } = accrue(market, { averageRateWad, timestampSec })
  const supplyShares = position.supplyShares + (isAddressEqual(wallet, feeRecipient) ? feeShares : 0n)
  const ours = { market: after, position: { ...position, supplyShares } }
  if (!isSame(ours.market, accrued.market) || !isSame(ours.position, accrued.position)) {
    throw new UpstreamError('Cannot read a Morpho market: its accrual is not what its books and rate come to')
  }
  const { endRateWad } = accrued
  return { ...ours, isAccrued: true, ...(endRateWad === undefined ? { failure: NO_RATE } : { endRateWad }) }
}

const IDS_MAX = 10_000
/** Ids by parameters, for a hash takes a tenth of an answer's time. */
const ids = createLru<Hex>({ entriesMax: IDS_MAX })

/** `MarketParamsLib.id`: the hash of the parameters, a word each. */
function idOf({ loanToken, collateralToken, oracle, irm, lltv }: MarketParams): Hex {
  const key = `${loanToken}${collateralToken}${oracle}${irm}${lltv}`
  const known = ids.get(key)
  if (known !== undefined) return known
  const id = keccak256(encodeCall('0x', loanToken, collateralToken, oracle, irm, lltv))
  ids.set(key, id)
  return id
}

function isSame<T extends object>(a: T, b: T): boolean {
  return (Object.keys(a) as (keyof T)[]).every((name) => a[name] === b[name])
}
