import { type Address, type Hex, zeroAddress } from 'viem'
import { decodeWord, encodeCall } from '../../../../../src/chain/call/words.ts'
import type { AccountData, RawHolding } from '../../../../../src/family/aave_v3/math/state.ts'
import type { BrokenAccount, BrokenPart, RawAccount } from '../../../../../src/family/aave_v3/read/abi.ts'
import { UINT128_MAX } from '../../../../../src/lib/number/fixed_point.ts'
import { hasAnswer } from '../../../../support/staged/multicall.ts'
import type { StagedMarket, StagedReserve } from './markets.ts'
import type { Answer, Round } from './round.ts'
import { SELECTOR } from './words.ts'

/** A wallet in a market. */
export interface WalletPlace {
  readonly wallet: number
  readonly address: Address
  readonly market: StagedMarket
  /** Number of the market. */
  readonly at: number
}

/** What a wallet has in a market: nothing, an account, or something that cannot be read. */
export type Outcome =
  | { readonly kind: 'none' }
  | { readonly kind: 'account'; readonly account: RawAccount }
  | { readonly kind: 'broken'; readonly broken: BrokenAccount }

/** A wallet in a market whose first round has run. */
export interface StagedWallet {
  readonly place: WalletPlace
  /** Reserves that it may hold. */
  reserves(): StagedReserve[]
  /** Its eMode; 0 outside eMode, undefined if that cannot be read. */
  category(): number | undefined
  /** Asks on, in two rounds more; the outcome is complete after both. */
  follow(details: Round): (last: Round) => () => Outcome
}

/** Asks for a wallet's switches and scaled balances; what follows may be asked once that round has run. */
export function askWallet(round: Round, place: WalletPlace): StagedWallet {
  const { address, market } = place
  const configuration = round.call(market.pool, encodeCall(SELECTOR.getUserConfiguration, address))
  const eMode = round.call(market.pool, encodeCall(SELECTOR.getUserEMode, address))
  const asked = market.reserves.map((reserve) => ({
    reserve,
    scaled: round.call(reserve.supplyToken, encodeCall(SELECTOR.scaledBalanceOf, address)),
  }))

  function getPair({ id }: StagedReserve): bigint {
    return hasAnswer(configuration(), 1) ? (decodeWord(configuration().data, 0) >> BigInt(2 * id)) & 3n : 0n
  }

  function mayHold(reserve: StagedReserve, scaled: Answer): boolean {
    return getPair(reserve) !== 0n || !hasAnswer(scaled(), 1) || decodeWord(scaled().data, 0) !== 0n
  }

  function category(): number | undefined {
    const value = hasAnswer(eMode(), 1) ? decodeWord(eMode().data, 0) : 256n
    return value > 255n ? undefined : Number(value)
  }

  return {
    place,
    category,
    reserves: () => asked.filter(({ reserve, scaled }) => mayHold(reserve, scaled)).map(({ reserve }) => reserve),
    follow(details) {
      if (!hasAnswer(configuration(), 1)) return () => () => brokenOutcome(place, 'configuration')
      const holdings = asked
        .filter(({ reserve, scaled }) => mayHold(reserve, scaled))
        .map(({ reserve, scaled }) =>
          askHolding(details, { address, reserve, scaled: scaled(), pair: getPair(reserve) }),
        )
      if (holdings.length === 0) return () => () => ({ kind: 'none' })
      const data = details.call(market.pool, encodeCall(SELECTOR.getUserAccountData, address))
      return (last) => {
        const finished = holdings.map((holding) => holding(last))
        return () => toOutcome(place, { holdings: finished.map((finish) => finish()), category: category(), data })
      }
    },
  }
}

interface HoldingPlace {
  readonly address: Address
  readonly reserve: StagedReserve
  readonly scaled: { readonly ok: boolean; readonly data: Hex }
  /** Bit 0 the wallet owes some, bit 1 it backs debt. */
  readonly pair: bigint
}

function askHolding(
  details: Round,
  { address, reserve, scaled, pair }: HoldingPlace,
): (last: Round) => () => RawHolding | BrokenPart {
  const callBalance = (token: Address): Answer => details.call(token, encodeCall(SELECTOR.balanceOf, address))
  if (!hasAnswer(scaled, 1)) return () => () => 'supplied'
  const borrows = (pair & 1n) === 1n
  const supplied = decodeWord(scaled.data, 0) === 0n ? undefined : callBalance(reserve.supplyToken)
  const variable = borrows ? callBalance(reserve.variableDebtToken) : undefined
  const stable = borrows && reserve.stableDebtToken !== zeroAddress ? callBalance(reserve.stableDebtToken) : undefined
  return (last) => {
    const stableDebt = decodeAmount(stable)
    const rate =
      stableDebt === undefined || stableDebt === 0n
        ? undefined
        : last.call(reserve.stableDebtToken, encodeCall(SELECTOR.getUserStableRate, address))
    return () => {
      const [suppliedAmount, variableDebt, stableRateRay] = [
        decodeAmount(supplied),
        decodeAmount(variable),
        decodeAmount(rate),
      ]
      if (suppliedAmount === undefined) return 'supplied'
      if (variableDebt === undefined || stableDebt === undefined || stableRateRay === undefined) return 'debt'
      return {
        reserve: reserve.id,
        isCollateral: pair >> 1n === 1n,
        supplied: suppliedAmount,
        variableDebt,
        stableDebt,
        stableRateRay: stableRateRay & UINT128_MAX,
      }
    }
  }
}

/** The answer to a call; 0 if nothing was asked, undefined if the call failed. */
function decodeAmount(answer: Answer | undefined): bigint | undefined {
  if (answer === undefined) return 0n
  return hasAnswer(answer(), 1) ? decodeWord(answer().data, 0) : undefined
}

function toOutcome(
  place: WalletPlace,
  options: {
    readonly holdings: readonly (RawHolding | BrokenPart)[]
    readonly category: number | undefined
    readonly data: Answer
  },
): Outcome {
  const { holdings, category, data } = options
  const failed = holdings.find((holding) => typeof holding === 'string')
  if (failed !== undefined) return brokenOutcome(place, failed)
  const held = holdings.filter((holding) => typeof holding !== 'string')
  if (held.every(({ supplied, variableDebt, stableDebt }) => supplied + variableDebt + stableDebt === 0n)) {
    return { kind: 'none' }
  }
  if (category === undefined) return brokenOutcome(place, 'category')
  const { wallet, at } = place
  return { kind: 'account', account: { wallet, market: at, category, data: accountData(data), holdings: held } }
}

function accountData(answer: Answer): AccountData | undefined {
  const { data } = answer()
  if (!hasAnswer(answer(), 6)) return undefined
  return {
    totalCollateral: decodeWord(data, 0),
    totalDebt: decodeWord(data, 1),
    availableBorrows: decodeWord(data, 2),
    liquidationThresholdBps: decodeWord(data, 3),
    ltvBps: decodeWord(data, 4),
    healthFactorWad: decodeWord(data, 5),
  }
}

function brokenOutcome({ wallet, at }: WalletPlace, part: BrokenPart): Outcome {
  return { kind: 'broken', broken: { wallet, market: at, part } }
}
