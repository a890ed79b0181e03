import {
  type Address,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  isAddressEqual,
  parseAbi,
  zeroAddress,
} from 'viem'
import type { FeedRound, PriceSources } from '../../chain/price.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { MarketState, RawMarket, RawRead } from './state.ts'

const STRUCTS = [
  'struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }',
  'struct Market { uint128 totalSupplyAssets; uint128 totalSupplyShares; uint128 totalBorrowAssets; uint128 totalBorrowShares; uint128 lastUpdate; uint128 fee; }',
  'struct Position { uint256 supplyShares; uint128 borrowShares; uint128 collateral; }',
] as const

const LENS_ABI = parseAbi([
  ...STRUCTS,
  'struct Optional { bool known; uint256 value; }',
  'struct Round { bool known; int256 answer; uint256 updatedAt; uint256 decimals; }',
  'struct Feeds { address[] tokens; address[] feeds; }',
  'struct Reading { uint256 chainId; uint256 blockNumber; uint256 timestamp; bytes32 parentHash; bool answers; MarketParams params; Market market; Position position; address feeRecipient; Optional averageRate; bool accrued; Market accruedMarket; Position accruedPosition; Optional endRate; Optional oraclePrice; Optional loanDecimals; Round round; address aaveSource; Optional aavePrice; }',
  'function read(address morpho, bytes32 id, address wallet, Feeds feeds, address aaveOracle) returns (Reading)',
])

/** What is asked without the lens. */
export const CONTRACTS_ABI = parseAbi([
  ...STRUCTS,
  'function idToMarketParams(bytes32 id) view returns (MarketParams)',
  'function market(bytes32 id) view returns (Market)',
  'function position(bytes32 id, address user) view returns (Position)',
  'function feeRecipient() view returns (address)',
  'function accrueInterest(MarketParams params)',
  'function borrowRateView(MarketParams params, Market market) view returns (uint256)',
  'function price() view returns (uint256)',
  'function decimals() view returns (uint256)',
  'function latestRoundData() view returns (uint256 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint256 answeredInRound)',
  'function getSourceOfAsset(address asset) view returns (address)',
  'function getAssetPrice(address asset) view returns (uint256)',
])

/** Whom a reading is about. */
export interface Question {
  readonly morpho: Address
  readonly marketId: Hex
  readonly wallet: Address
}

/** Call data of the lens. */
export function encodeRead({ morpho, marketId, wallet }: Question, { feeds, aaveOracle }: PriceSources): Hex {
  const lists = { tokens: feeds.map(({ token }) => token), feeds: feeds.map(({ feed }) => feed) }
  const args = [morpho, marketId, wallet, lists, aaveOracle ?? zeroAddress] as const
  return encodeFunctionData({ abi: LENS_ABI, functionName: 'read', args })
}

/** Decodes the lens' answer. Throws `UpstreamError` for anything else, and where there is no Morpho. */
export function decodeLens(answer: Hex): RawRead {
  const reading = decodeReading(answer)
  if (!reading.answers) throw noMorpho()
  const block = {
    chainId: Number(reading.chainId),
    number: reading.blockNumber,
    timestampSec: reading.timestamp,
    parentHash: reading.parentHash,
  }
  if (reading.market.lastUpdate === 0n) return { block, found: undefined }
  const { params, position, feeRecipient, accruedPosition, round, aaveSource } = reading
  const accrued = {
    market: marketState(reading.accruedMarket),
    position: accruedPosition,
    endRateWad: known(reading.endRate),
  }
  const found: RawMarket = {
    ...{ params, market: marketState(reading.market), position, feeRecipient },
    averageRateWad: known(reading.averageRate),
    accrued: reading.accrued ? accrued : undefined,
    oraclePrice: known(reading.oraclePrice),
    loanDecimals: known(reading.loanDecimals),
    usd: {
      round: round.known ? roundOf(round) : undefined,
      aave: isAddressEqual(aaveSource, zeroAddress)
        ? undefined
        : { source: aaveSource, price: known(reading.aavePrice) },
    },
  }
  return { block, found }
}

/** A market's books by the names that we give them. */
export function marketState(market: {
  readonly totalSupplyAssets: bigint
  readonly totalSupplyShares: bigint
  readonly totalBorrowAssets: bigint
  readonly totalBorrowShares: bigint
  readonly lastUpdate: bigint
  readonly fee: bigint
}): MarketState {
  const { lastUpdate, fee, ...totals } = market
  return { ...totals, lastUpdateSec: lastUpdate, feeWad: fee }
}

/** A feed's round; decimals beyond what a number holds become one that no price has. */
export function roundOf(round: {
  readonly answer: bigint
  readonly updatedAt: bigint
  readonly decimals: bigint
}): FeedRound {
  const { answer, updatedAt, decimals } = round
  return { answer, updatedAtSec: updatedAt, decimals: decimals > 255n ? 255 : Number(decimals) }
}

/** The address of a deployment does not answer as Morpho does. */
export function noMorpho(): UpstreamError {
  return new UpstreamError('Cannot read Morpho: the contract does not answer')
}

function decodeReading(answer: Hex) {
  try {
    return decodeFunctionResult({ abi: LENS_ABI, functionName: 'read', data: answer })
  } catch (error) {
    throw new UpstreamError('Cannot decode the lens: it is not a reading of a market', { cause: error })
  }
}

function known({ known, value }: { readonly known: boolean; readonly value: bigint }): bigint | undefined {
  return known ? value : undefined
}
