import { type Address, type Hex, toFunctionSelector, zeroAddress } from 'viem'
import { addressOf, encodeCall, wordOf } from '../../../chain/call/words.ts'
import { SilentError } from '../../../chain/rpc/client.ts'
import type { FeedRound } from '../../../finance/price/price.ts'
import { encodePriceSources, PRICE_SOURCES_ARGUMENT, type PriceSources } from '../../../finance/price/price_sources.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { MarketState, RawMarket, RawRead, StoredPosition } from './state.ts'

const READ = toFunctionSelector(`read(address morpho, bytes32 id, address wallet, ${PRICE_SOURCES_ARGUMENT})`)
/** Length of the lens' `Reading` in words: every field is static and takes one word. */
const READING_WORDS = 45

/** Which market and wallet a reading is about. */
export interface PositionKey {
  readonly morpho: Address
  readonly marketId: Hex
  readonly wallet: Address
}

/** Call data of the lens. */
export function encodeRead({ morpho, marketId, wallet }: PositionKey, sources: PriceSources): Hex {
  return encodeCall(READ, morpho, marketId, wallet, encodePriceSources(sources))
}

/**
 * Decodes the lens' answer, the words of `Reading` in `lens.sol` by index. Throws `UpstreamError` for any other
 * answer, and if Morpho is not at its address.
 */
export function decodeLens(answer: Hex): RawRead {
  if (answer.length !== 2 + READING_WORDS * 64) {
    throw new UpstreamError('Cannot decode the lens: it is not a reading of a market')
  }
  const word = (index: number): bigint => wordOf(answer, index)
  const known = (index: number): bigint | undefined => (word(index) === 1n ? word(index + 1) : undefined)
  const position = (index: number): StoredPosition => ({
    supplyShares: word(index),
    borrowShares: word(index + 1),
    collateral: word(index + 2),
  })
  if (word(4) !== 1n) throw noMorpho()
  const block = {
    chainId: Number(word(0)),
    number: word(1),
    timestampSec: word(2),
    parentHash: `0x${answer.slice(2 + 3 * 64, 2 + 4 * 64)}` as const,
  }
  const market = marketAt(word, 10)
  if (market.lastUpdateSec === 0n) return { block, found: undefined }
  const aaveSource = addressOf(answer, 42)
  const found: RawMarket = {
    params: {
      loanToken: addressOf(answer, 5),
      collateralToken: addressOf(answer, 6),
      oracle: addressOf(answer, 7),
      irm: addressOf(answer, 8),
      lltv: word(9),
    },
    market,
    position: position(16),
    feeRecipient: addressOf(answer, 19),
    averageRateWad: known(20),
    accrued:
      word(22) === 1n ? { market: marketAt(word, 23), position: position(29), endRateWad: known(32) } : undefined,
    oraclePrice: known(34),
    loanDecimals: known(36),
    usd: {
      round:
        word(38) === 1n
          ? roundOf({ answer: BigInt.asIntN(256, word(39)), updatedAt: word(40), decimals: word(41) })
          : undefined,
      aave: aaveSource === zeroAddress ? undefined : { source: aaveSource, price: known(43) },
    },
  }
  return { block, found }
}

function marketAt(word: (index: number) => bigint, at: number): MarketState {
  return {
    totalSupplyAssets: word(at),
    totalSupplyShares: word(at + 1),
    totalBorrowAssets: word(at + 2),
    totalBorrowShares: word(at + 3),
    lastUpdateSec: word(at + 4),
    feeWad: word(at + 5),
  }
}

/** A feed's round. Decimals too large for a number become a value that no price can have. */
export function roundOf(round: {
  readonly answer: bigint
  readonly updatedAt: bigint
  readonly decimals: bigint
}): FeedRound {
  const { answer, updatedAt, decimals } = round
  return { answer, updatedAtSec: updatedAt, decimals: decimals > 255n ? 255 : Number(decimals) }
}

/** The error if the contract at a deployment's address does not answer as Morpho does. */
export function noMorpho(): SilentError {
  return new SilentError('its Morpho contract does not answer')
}
