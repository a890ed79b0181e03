import { type Address, type Hex, toFunctionSelector, zeroAddress } from 'viem'
import type { Block } from '../../../chain/block.ts'
import { decodeLensPage, type LensCursor, readOptional } from '../../../chain/call/cursor.ts'
import { encodeArray, encodeCall } from '../../../chain/call/words.ts'
import {
  encodePriceSources,
  PRICE_SOURCES_ARGUMENT,
  type PriceSources,
  readUsdAnswers,
} from '../../../finance/price/price_sources.ts'
import { readToken } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { MarketTerms, MarketTotals, RawAccount, RawCollateral, RawMarket } from '../math/state.ts'
import type { CompoundV3Market } from '../table.ts'

const READ = toFunctionSelector(
  `read(address[] at, address[] rewards, address[] wallets, uint256 bytesMax, ${PRICE_SOURCES_ARGUMENT})`,
)

/** Records of the lens, by their first byte. */
const RECORD = { market: 1, collateral: 2, account: 3, silent: 4 } as const
/** Whether a market gives rewards. */
const REWARD = { none: 0, given: 1 } as const

/** Call data to read `wallets` in `markets`. `bytesMax` limits the answer, bytes. */
export function encodeRead(
  query: {
    readonly markets: readonly CompoundV3Market[]
    readonly wallets: readonly Address[]
    readonly bytesMax: number
  },
  sources: PriceSources,
): Hex {
  const { markets, wallets, bytesMax } = query
  return encodeCall(
    READ,
    encodeArray(markets.map(({ comet }) => comet)),
    encodeArray(markets.map(({ rewards = zeroAddress }) => rewards)),
    encodeArray(wallets),
    BigInt(bytesMax),
    encodePriceSources(sources),
  )
}

/** The result of one reading of a chain; the same for every mode of reading. */
export interface RawRead {
  readonly block: Block
  /** Number of wallets that this page covers, including those without an account. */
  readonly taken: number
  readonly markets: readonly RawMarket[]
  readonly collaterals: readonly RawCollateral[]
  readonly accounts: readonly RawAccount[]
  /** Indexes of the markets that do not answer. */
  readonly silent: readonly number[]
}

/** Decodes the lens' answer. The head of `lens.sol` describes its layout. Throws `UpstreamError` for another layout. */
export function decodeLens(answer: Hex): RawRead {
  const { from, block, taken } = decodeLensPage(answer)
  const markets: RawMarket[] = []
  const collaterals: RawCollateral[] = []
  const accounts: RawAccount[] = []
  const silent: number[] = []
  while (!from.isAtEnd()) {
    const record = from.number(1)
    if (record === RECORD.market) markets.push(readMarket(from))
    else if (record === RECORD.collateral) collaterals.push(readCollateral(from))
    else if (record === RECORD.account) accounts.push(readAccount(from))
    else if (record === RECORD.silent) silent.push(from.number(1))
    else throw new UpstreamError(`Cannot decode the lens: unknown record ${record}`)
  }
  if (accounts.some(({ wallet }) => wallet >= taken)) {
    throw new UpstreamError('Cannot decode the lens: a record names a wallet beyond the page')
  }
  return { block, taken, markets, collaterals, accounts, silent }
}

function readMarket(from: LensCursor): RawMarket {
  return {
    market: from.number(1),
    totals: readTotals(from),
    terms: readTerms(from),
    price: readOptional(from, () => from.uint(32)),
    idle: from.uint(32),
    ...readPriced(from),
    reward: readReward(from),
  }
}

function readTotals(from: LensCursor): MarketTotals {
  return {
    baseSupplyIndex: from.uint(8),
    baseBorrowIndex: from.uint(8),
    trackingSupplyIndex: from.uint(8),
    trackingBorrowIndex: from.uint(8),
    totalSupplyBase: from.uint(16),
    totalBorrowBase: from.uint(16),
    lastAccrualSec: from.uint(8),
    pauseFlags: from.number(1),
  }
}

function readTerms(from: LensCursor): MarketTerms {
  return {
    baseScale: from.uint(16),
    supplyRateWad: from.uint(8),
    borrowRateWad: from.uint(8),
    supplySpeed: from.uint(16),
    borrowSpeed: from.uint(16),
    trackingIndexScale: from.uint(16),
    minForRewards: from.uint(16),
  }
}

function readReward(from: LensCursor): RawMarket['reward'] {
  const kind = from.number(1)
  if (kind !== REWARD.given) return kind === REWARD.none ? undefined : 'unknown'
  return {
    rescaleFactor: from.uint(8),
    isUpscaled: from.number(1) === 1,
    multiplierWad: from.uint(32),
    funds: from.uint(32),
    ...readPriced(from),
  }
}

function readCollateral(from: LensCursor): RawCollateral {
  return {
    market: from.number(1),
    index: from.number(1),
    price: readOptional(from, () => from.uint(32)),
    scale: from.uint(8),
    borrowFactorWad: from.uint(8),
    liquidateFactorWad: from.uint(8),
    ...readPriced(from),
  }
}

function readPriced(from: LensCursor): Pick<RawCollateral, 'token' | 'usd'> {
  return { token: readToken(from), usd: readUsdAnswers(from) }
}

function readAccount(from: LensCursor): RawAccount {
  return {
    wallet: from.number(4),
    market: from.number(1),
    principal: BigInt.asIntN(256, from.uint(32)),
    trackingIndex: from.uint(8),
    trackingAccrued: from.uint(8),
    claimed: readOptional(from, () => from.uint(32)),
    collaterals: Array.from({ length: from.number(1) }, () => ({ index: from.number(1), amount: from.uint(16) })),
  }
}
