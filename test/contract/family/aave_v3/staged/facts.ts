import { type Address, type Hex, zeroAddress } from 'viem'
import { decodeAddress, decodeWord, encodeCall } from '../../../../../src/chain/call/words.ts'
import type { RawCategory } from '../../../../../src/family/aave_v3/math/state.ts'
import type { RawReserve } from '../../../../../src/family/aave_v3/read/abi.ts'
import { UINT128_MAX } from '../../../../../src/lib/number/fixed_point.ts'
import { type CallResult, hasAnswer, textAnswer } from '../../../../support/staged/multicall.ts'
import type { StagedMarket, StagedReserve } from './markets.ts'
import type { Answer, Round } from './round.ts'
import { SELECTOR } from './words.ts'

/** Asks for what a reserve is worth and can pay; the answer is complete after the round. */
export function askReserve(
  round: Round,
  { market, at, reserve }: { readonly market: StagedMarket; readonly at: number; readonly reserve: StagedReserve },
): () => RawReserve {
  const { asset, data, id, supplyToken } = reserve
  const price = askPrice(round, market, asset)
  const virtual = round.call(market.pool, encodeCall(SELECTOR.getVirtualUnderlyingBalance, asset))
  const real = round.call(asset, encodeCall(SELECTOR.balanceOf, supplyToken))
  const symbol = round.call(asset, SELECTOR.symbol)
  const grace = round.call(market.pool, encodeCall(SELECTOR.getLiquidationGracePeriod, asset))
  const owed = [reserve.variableDebtToken, reserve.stableDebtToken]
    .filter((token) => token !== zeroAddress)
    .map((token) => round.call(token, SELECTOR.totalSupply))
  return () => ({
    market: at,
    id,
    asset,
    configuration: decodeWord(data, 0),
    liquidityRateRay: decodeWord(data, 2) & UINT128_MAX,
    variableBorrowRateRay: decodeWord(data, 4) & UINT128_MAX,
    isolationDebt: decodeWord(data, 14) & UINT128_MAX,
    price: price(),
    withdrawable: withdrawable(virtual(), real()),
    underBorrowCap: underBorrowCap(decodeWord(data, 0), owed),
    graceUntilSec: hasAnswer(grace(), 1) ? decodeWord(grace().data, 0) : 0n,
    symbol: textAnswer(symbol()),
  })
}

/** Asks for an eMode category; before 3.2 its price takes a second round, which `priceOf` asks for. */
export function askCategory(
  round: Round,
  { market, at, id }: { readonly market: StagedMarket; readonly at: number; readonly id: number },
): { readonly category: () => RawCategory; readonly priceOf: (round: Round) => () => bigint } {
  const ask = (selector: Hex): Answer => round.call(market.pool, encodeCall(selector, BigInt(id)))
  const bitmaps = { collateralBitmap: 0n, zeroLtvBitmap: 0n, borrowableBitmap: 0n }
  const none = { market: at, id, ...bitmaps, isolated: false, price: 0n }
  if (!market.features.liquidEModes) {
    const answer = ask(SELECTOR.getEModeCategoryData)
    return {
      category: () => ({ ...none, ...readLimits(answer(), { words: 5, first: 1 }) }),
      priceOf: (next) => {
        const source = hasAnswer(answer(), 5) ? decodeAddress(answer().data, 4) : zeroAddress
        if (source === zeroAddress) return () => 0n
        const price = askPrice(next, market, source)
        return () => price() ?? 0n
      },
    }
  }
  const config = ask(SELECTOR.getEModeCategoryCollateralConfig)
  const bitmap = ask(SELECTOR.getEModeCategoryCollateralBitmap)
  const zeroLtv = ask(SELECTOR.getEModeCategoryLtvzeroBitmap)
  const borrowable = ask(SELECTOR.getEModeCategoryBorrowableBitmap)
  const isolated = ask(SELECTOR.getIsEModeCategoryIsolated)
  return {
    category: () => {
      const limits = readLimits(config(), { words: 3, first: 0 })
      const answered = limits.answered && hasAnswer(bitmap(), 1)
      return {
        ...none,
        answered,
        ltvBps: answered ? limits.ltvBps : 0n,
        liquidationThresholdBps: answered ? limits.liquidationThresholdBps : 0n,
        collateralBitmap: answered ? decodeWord(bitmap().data, 0) & UINT128_MAX : 0n,
        zeroLtvBitmap: hasAnswer(zeroLtv(), 1) ? decodeWord(zeroLtv().data, 0) & UINT128_MAX : 0n,
        borrowableBitmap: hasAnswer(borrowable(), 1) ? decodeWord(borrowable().data, 0) & UINT128_MAX : 0n,
        isolated: hasAnswer(isolated(), 1) && decodeWord(isolated().data, 0) === 1n,
      }
    },
    priceOf: () => () => 0n,
  }
}

function askPrice(round: Round, { oracle }: StagedMarket, asset: Address): () => bigint | undefined {
  const answer = round.call(oracle, encodeCall(SELECTOR.getAssetPrice, asset))
  return () => (hasAnswer(answer(), 1) ? decodeWord(answer().data, 0) : undefined)
}

function readLimits(answer: CallResult, { words, first }: { readonly words: number; readonly first: number }) {
  const answered = hasAnswer(answer, words)
  const word = (index: number): bigint => (answered ? decodeWord(answer.data, index) & 0xffffn : 0n)
  return { answered, ltvBps: word(first), liquidationThresholdBps: word(first + 1) }
}

/** What the borrow cap of a siloed reserve leaves to lend. */
function underBorrowCap(configuration: bigint, owed: readonly Answer[]): bigint {
  const cap = ((configuration >> 80n) & 0xfffffffffn) * 10n ** ((configuration >> 48n) & 0xffn)
  if (cap === 0n || ((configuration >> 62n) & 1n) === 0n) return UINT128_MAX
  const total = owed.reduce(
    (sum, answer) => sum + (hasAnswer(answer(), 1) ? decodeWord(answer().data, 0) : UINT128_MAX),
    0n,
  )
  return total >= cap ? 0n : cap - total
}

/** What the pool can pay out of a reserve: its virtual balance since 3.1, before that all that it holds. */
function withdrawable(virtual: CallResult, real: CallResult): bigint {
  const answer = hasAnswer(virtual, 1) ? virtual : real
  const amount = hasAnswer(answer, 1) ? decodeWord(answer.data, 0) : 0n
  return amount > UINT128_MAX ? UINT128_MAX : amount
}
