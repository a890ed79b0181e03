import { type Address, concatHex, type Hex, keccak256, zeroHash } from 'viem'
import { decodeAddress, decodeWord } from '../../../chain/call/words.ts'
import type { FinanceChain } from '../../../finance/chain.ts'
import { computeUsdPrice, type UsdPriceOutcome } from '../../../finance/price/price.ts'
import { type Token, toToken } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import { type Collateral, computeCredit, type Debt } from '../math/account.ts'
import type { MarketState, MarketTerms, RawEntry, RawMarket, RawPricedToken, RawRead } from '../math/state.ts'
import type { MarketsQuery } from './abi.ts'

/** A token of a market with its price by the chain's sources, or the reason why there is none. */
export interface MarketToken extends Token {
  readonly price: UsdPriceOutcome
}

/** A wallet's position in a market at the block of the reading. */
export interface HeldMarket extends Debt, Pick<MarketState, 'withdrawable'> {
  readonly marketId: Hex
  readonly terms: MarketTerms
  /** Raw units of the loan token at par, losses and fees up to the block taken off. */
  readonly credit: bigint
  readonly loan: MarketToken
  readonly collaterals: readonly (Collateral & { readonly token: MarketToken })[]
  /** Time of the block, Unix seconds. */
  readonly nowSec: bigint
}

/** The interpreted reading of one market. */
export type MarketRead = 'no_market' | 'no_position' | HeldMarket

/**
 * Interprets a reading, market by market. Throws `UpstreamError` if the answer contradicts itself: the terms of a market
 * do not hash to its id.
 */
export function interpret(
  { block, entries }: Omit<RawRead, 'taken'>,
  { chain, query }: { readonly chain: FinanceChain; readonly query: MarketsQuery },
): MarketRead[] {
  const nowSec = block.timestampSec
  const toMarketToken = ({ token, usd }: RawPricedToken): MarketToken => ({
    ...toToken(token),
    price: computeUsdPrice(token.address, { chain, answers: usd, blockTimestampSec: nowSec }),
  })
  return query.marketIds.map((marketId, index) => {
    const entry: RawEntry | undefined = entries[index]
    if (entry === undefined) throw new UpstreamError('Cannot read Midnight markets: an entry is missing')
    if (typeof entry === 'string') return entry
    const terms = readTerms(entry, { marketId, midnight: query.midnight })
    const { maturitySec } = terms
    const { lossFactor, withdrawable, position } = entry
    return {
      marketId,
      terms,
      maturitySec,
      withdrawable,
      nowSec,
      credit: computeCredit(position, { lossFactor, maturitySec, nowSec }).credit,
      debt: position.debt,
      loan: toMarketToken(entry.loan),
      collaterals: entry.collaterals.map(({ token, ...held }) => ({
        ...held,
        lltvWad: terms.collaterals[held.index]?.lltvWad ?? 0n,
        token: toMarketToken(token),
      })),
    }
  })
}

const TERMS_MAX = 2_000
const TERMS_CHARACTERS_MAX = 8 * 1024 * 1024
/** Terms by id and contract, because hashing takes longer than anything else. */
const knownTerms = createLru<MarketTerms>({
  entriesMax: TERMS_MAX,
  weightMax: TERMS_CHARACTERS_MAX,
  getWeight: ({ encoded }) => encoded.length,
})

/** Creation code before the terms: it returns what follows. Source: Midnight `IdLib`. */
const PREFIX = '0x600b380380600b5f395ff3'
/** Words before the collaterals, and of each. */
const [HEAD_WORDS, COLLATERAL_WORDS] = [10, 4]

function readTerms(
  { terms: encoded }: Pick<RawMarket, 'terms'>,
  { marketId, midnight }: { readonly marketId: Hex; readonly midnight: Address },
): MarketTerms {
  const key = `${midnight}:${marketId}`
  const known = knownTerms.get(key)
  if (known?.encoded === encoded) return known
  if (computeMarketId(encoded, midnight) !== marketId) {
    throw new UpstreamError('Cannot read a Midnight market: its terms do not hash to the requested id')
  }
  const count = Number(decodeWord(encoded, HEAD_WORDS - 1))
  const collaterals = Array.from({ length: count }, (_, index) => {
    const first = HEAD_WORDS + index * COLLATERAL_WORDS
    return {
      token: decodeAddress(encoded, first),
      lltvWad: decodeWord(encoded, first + 1),
      oracle: decodeAddress(encoded, first + 3),
    }
  })
  const terms = {
    loanToken: decodeAddress(encoded, 3),
    maturitySec: decodeWord(encoded, 5),
    collaterals,
    encoded,
  }
  knownTerms.set(key, terms)
  return terms
}

/** Source: Midnight `IdLib.toId`, the hash by which `create2` places the terms. */
function computeMarketId(encoded: Hex, midnight: Address): Hex {
  return keccak256(concatHex(['0xff', midnight, zeroHash, keccak256(concatHex([PREFIX, encoded]))]))
}
