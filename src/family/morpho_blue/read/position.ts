import { type Address, type Hex, isAddressEqual, keccak256, zeroAddress } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { encodeCall } from '../../../chain/call/words.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import type { LendingPosition } from '../../../finance/math/lending.ts'
import { type UsdPrice, usdPriceOf } from '../../../finance/price/price.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { pow10 } from '../../../lib/number/fixed_point.ts'
import { rational } from '../../../lib/number/rational.ts'
import { createRecent } from '../../../lib/recent.ts'
import { accrue, assetsOf, borrowApyRay, RATE_WAD_MAX, supplyApyRay, valuationOf } from '../math.ts'
import type { PositionKey } from './abi.ts'
import type { MarketParams, MarketState, RawMarket, RawRead } from './state.ts'

/** Decimals beyond this exceed what 256 bits can count. */
const DECIMALS_MAX = 77n

/** A wallet's position in a market, accrued to the block of the reading. */
export interface Position extends LendingPosition {
  readonly params: MarketParams
  /** With its interest up to the block. */
  readonly market: MarketState
  /** Raw units of the loan token, rounded down. */
  readonly supplied: bigint
  /** Raw units of the loan token, rounded up. */
  readonly owed: bigint
  /** Raw units of the collateral token. */
  readonly collateral: bigint
  readonly supplyApyRay: bigint
  readonly borrowApyRay: bigint
  /** The price of a whole loan token and its source. */
  readonly loanPrice: UsdPrice
}

/** What a reading means. */
export type PositionRead = { readonly block: Block } & (
  | { readonly kind: 'position'; readonly position: Position }
  | { readonly kind: 'absent'; readonly reason: 'no_market' | 'no_position' }
  /** The position exists, but something that its figures need is missing. `message` is a whole sentence. */
  | { readonly kind: 'unanswerable'; readonly message: string }
)

/**
 * Interprets a reading: accrues, values, prices. Throws `UpstreamError` if the answer contradicts itself: a market that
 * is not the one asked for, or one whose own accrual differs from ours.
 */
export function interpret(
  { block, found }: RawRead,
  { chain, question }: { readonly chain: FinanceChain; readonly question: PositionKey },
): PositionRead {
  if (found === undefined) return { block, kind: 'absent', reason: 'no_market' }
  const { params, oraclePrice } = found
  if (idOf(params) !== question.marketId) throw new UpstreamError('Cannot read a Morpho market: it is another one')
  const state = accruedState(found, { block, wallet: question.wallet })
  const { supplyShares, borrowShares, collateral } = state?.position ?? found.position
  if (supplyShares + borrowShares + collateral === 0n) return { block, kind: 'absent', reason: 'no_position' }

  const unanswerable = (what: string, because: string): PositionRead => {
    const place = `Morpho market ${question.marketId} on chain ${chain.id} (${chain.name})`
    return { block, kind: 'unanswerable', message: `Cannot ${what} of ${place} because ${because}` }
  }
  const usesRates = supplyShares + borrowShares > 0n
  if (usesRates && state === undefined)
    return unanswerable('accrue interest', 'its interest-rate model does not answer')
  const { market, endRateWad } = state ?? { market: found.market, endRateWad: 0n }
  if (endRateWad > RATE_WAD_MAX) return unanswerable('tell the yield', 'its interest-rate model asks an absurd rate')
  if (collateral > 0n && (oraclePrice ?? 0n) === 0n) {
    return unanswerable(
      'price the collateral',
      oraclePrice === 0n ? 'its oracle answers zero' : 'its oracle does not answer',
    )
  }
  const loan = `price the loan token ${params.loanToken}`
  if (found.loanDecimals === undefined || found.loanDecimals > DECIMALS_MAX) {
    return unanswerable(loan, 'it has no usable decimals')
  }
  const answers = { ...found.usd, blockTimestampSec: block.timestampSec }
  const outcome = usdPriceOf(params.loanToken, { prices: chain.prices, answers })
  if (outcome.kind === 'missing') return unanswerable(loan, outcome.because)

  const { price: loanPrice } = outcome
  const assets = assetsOf({ supplyShares, borrowShares }, market)
  const yields = { supplyApyRay: supplyApyRay(endRateWad, market), borrowApyRay: borrowApyRay(endRateWad) }
  const valued = valuationOf({
    ...assets,
    ...yields,
    collateral,
    oraclePrice: oraclePrice ?? 0n,
    lltvWad: params.lltv,
    loanUsd: rational(loanPrice.units, pow10(loanPrice.scale + Number(found.loanDecimals))),
  })
  const position: Position = { params, market, ...assets, collateral, ...yields, loanPrice, ...valued }
  return { block, kind: 'position', position }
}

/** The market and the position at the block, as we calculate them; undefined if the model or the contract fails. */
function accruedState(
  { params, market, position, feeRecipient, averageRateWad, accrued }: RawMarket,
  { block, wallet }: { readonly block: Block; readonly wallet: Address },
) {
  const { timestampSec } = block
  if (timestampSec < market.lastUpdateSec)
    throw new UpstreamError('Cannot read a Morpho market: it is ahead of its block')
  if (isAddressEqual(params.irm, zeroAddress)) return { market, position, endRateWad: 0n }
  if (averageRateWad === undefined || accrued?.endRateWad === undefined) return undefined
  const { market: after, feeShares } = accrue(market, { averageRateWad, timestampSec })
  const supplyShares = position.supplyShares + (isAddressEqual(wallet, feeRecipient) ? feeShares : 0n)
  const ours = { market: after, position: { ...position, supplyShares } }
  if (!isSame(ours.market, accrued.market) || !isSame(ours.position, accrued.position)) {
    throw new UpstreamError('Cannot read a Morpho market: its accrual is not what its books and rate come to')
  }
  return { ...ours, endRateWad: accrued.endRateWad }
}

const IDS_MAX = 10_000
/** Ids by parameters, for a hash takes a tenth of an answer's time. */
const ids = createRecent<Hex>({ entriesMax: IDS_MAX })

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
