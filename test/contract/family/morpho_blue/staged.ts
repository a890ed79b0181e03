import {
  type Address,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  decodeFunctionResult,
  encodeFunctionData,
  isAddressEqual,
  parseAbi,
  zeroAddress,
} from 'viem'
import { readLatestBlock } from '../../../../src/chain/evm/read_block.ts'
import { type Endpoint, RpcRefusedError } from '../../../../src/chain/rpc/client.ts'
import type {
  AccruedByContract,
  MarketParams,
  MarketState,
  RawEntry,
  RawMarket,
  RawRead,
} from '../../../../src/family/morpho_blue/math/state.ts'
import { morphoUnresponsiveError } from '../../../../src/family/morpho_blue/read/abi.ts'
import { interpret } from '../../../../src/family/morpho_blue/read/position.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import { getPriceSources, type PriceSources } from '../../../../src/finance/price/price_sources.ts'
import type { RawToken } from '../../../../src/finance/token/token.ts'
import { MULTICALL3 } from '../../../devnet/addresses.ts'
import {
  type Ask,
  type Call,
  type CallResult,
  callAlone,
  multicall,
  textAnswer,
} from '../../../support/staged/multicall.ts'
import type { PositionKey, PositionRead } from './support.ts'

const STRUCTS = [
  'struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }',
  'struct Market { uint128 totalSupplyAssets; uint128 totalSupplyShares; uint128 totalBorrowAssets; uint128 totalBorrowShares; uint128 lastUpdate; uint128 fee; }',
  'struct Position { uint256 supplyShares; uint128 borrowShares; uint128 collateral; }',
] as const

/** The calls that the staged reading makes. */
const CONTRACTS_ABI = parseAbi([
  ...STRUCTS,
  'function idToMarketParams(bytes32 id) view returns (MarketParams)',
  'function market(bytes32 id) view returns (Market)',
  'function position(bytes32 id, address user) view returns (Position)',
  'function feeRecipient() view returns (address)',
  'function accrueInterest(MarketParams params)',
  'function borrowRateView(MarketParams params, Market market) view returns (uint256)',
  'function price() view returns (uint256)',
  'function decimals() view returns (uint256)',
  'function symbol() view returns (string)',
  'function name() view returns (string)',
  'function latestRoundData() view returns (uint256 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint256 answeredInRound)',
  'function getSourceOfAsset(address asset) view returns (address)',
  'function getAssetPrice(address asset) view returns (uint256)',
])

/** Where the staged reading asks. */
interface StagedSource {
  readonly endpoint: Endpoint
  readonly chainId: number
  readonly multicall3: Address
  readonly prices: PriceSources
}

type Abi = typeof CONTRACTS_ABI
type Name = ContractFunctionName<Abi>
type Answer<N extends Name> = ContractFunctionReturnType<Abi, 'view' | 'nonpayable', N>

/** Calls at the block of the reading, together or each call alone. */
interface Asker {
  readonly together: Ask
  /** For permissionless contracts: if one burns all gas, the others still answer. */
  alone(call: Call): Promise<CallResult>
}

/** One wallet in one market, read in stages and interpreted as the real reader does. */
export async function readPositionStaged(
  client: FinanceClient,
  question: PositionKey,
  signal: AbortSignal,
): Promise<PositionRead> {
  const { chain } = client
  const source = { chainId: chain.id, multicall3: MULTICALL3, prices: getPriceSources(chain) }
  const attempt = (endpoint: Endpoint, within: AbortSignal) => readStaged({ endpoint, ...source }, question, within)
  const raw = await client.read(attempt, { signal })
  const { wallet, marketId } = question
  const [read] = interpret(raw, { chain, query: { wallet, marketIds: [marketId] } })
  if (read === undefined) throw new Error('Every market is interpreted')
  return { block: raw.block, ...read }
}

/**
 * One wallet in one market in stages of calls at the latest block, equal to what the lens answers. Accruing is a call
 * like any other: later calls in the same request see its result.
 */
async function readStaged(source: StagedSource, question: PositionKey, signal: AbortSignal): Promise<RawRead> {
  const { endpoint, chainId, multicall3, prices } = source
  const { morpho, marketId, wallet } = question
  // The lens does not answer a block hash.
  const { hash, ...block } = await readLatestBlock(endpoint, chainId, signal)
  const asker: Asker = {
    together: (calls) =>
      calls.length === 0 ? Promise.resolve([]) : multicall(endpoint, { calls, block: { hash }, multicall3 }, signal),
    alone: (call) => callAlone(endpoint, { call, block: { hash } }, signal),
  }
  const [params, market, position, feeRecipient] = await asker.together([
    to(morpho, 'idToMarketParams', [marketId]),
    to(morpho, 'market', [marketId]),
    to(morpho, 'position', [marketId, wallet]),
    to(morpho, 'feeRecipient', []),
  ])
  const stored = {
    params: decodeAnswer('idToMarketParams', params),
    market: decodeAnswer('market', market),
    position: decodeAnswer('position', position),
    feeRecipient: decodeAnswer('feeRecipient', feeRecipient),
  }
  if (stored.params === undefined || stored.market === undefined) throw morphoUnresponsiveError()
  if (stored.position === undefined || stored.feeRecipient === undefined) throw morphoUnresponsiveError()
  const { feeRecipient: recipient } = stored
  const only = (entry: RawEntry): RawRead => ({ block, feeRecipient: recipient, taken: 1, entries: [entry] })
  if (stored.market.lastUpdate === 0n) return only('no_market')
  const { oracle, loanToken, collateralToken } = stored.params
  const [rates, oraclePrice, loan, collateral, loanUsd, collateralUsd] = await Promise.all([
    readRates(asker, question, { params: stored.params, market: stored.market }),
    asker.alone(to(oracle, 'price', [])),
    readToken(asker, loanToken),
    readToken(asker, collateralToken),
    readUsd(asker, loanToken, prices),
    readUsd(asker, collateralToken, prices),
  ])
  const found: RawMarket = {
    params: stored.params,
    market: marketState(stored.market),
    position: stored.position,
    ...rates,
    oraclePrice: decodeAnswer('price', oraclePrice),
    loan,
    collateralToken: collateral,
    loanUsd,
    collateralUsd,
  }
  return only(found)
}

async function readToken({ alone }: Asker, address: Address): Promise<RawToken> {
  const asked = [to(address, 'decimals', []), to(address, 'symbol', []), to(address, 'name', [])]
  const [decimals, symbol, name] = await Promise.all(asked.map(alone))
  const known = decodeAnswer('decimals', decimals)
  return {
    address,
    decimals: known === undefined || known > 255n ? undefined : Number(known),
    symbol: textAnswer(symbol),
    name: textAnswer(name),
  }
}

async function readRates(
  { together }: Asker,
  { morpho, marketId, wallet }: PositionKey,
  { params, market }: { readonly params: MarketParams; readonly market: Answer<'market'> },
): Promise<Pick<RawMarket, 'averageRateWad' | 'accrued'>> {
  if (isAddressEqual(params.irm, zeroAddress)) return { averageRateWad: undefined, accrued: undefined }
  const accrue = to(morpho, 'accrueInterest', [params])
  const [average, done, after, position] = await together([
    to(params.irm, 'borrowRateView', [params, market]),
    accrue,
    to(morpho, 'market', [marketId]),
    to(morpho, 'position', [marketId, wallet]),
  ])
  const averageRateWad = decodeAnswer('borrowRateView', average)
  if (done?.ok !== true) return { averageRateWad, accrued: undefined }
  const [accruedMarket, accruedPosition] = [decodeAnswer('market', after), decodeAnswer('position', position)]
  if (accruedMarket === undefined || accruedPosition === undefined) throw morphoUnresponsiveError()
  const [, again, end] = await together([
    accrue,
    to(morpho, 'market', [marketId]),
    to(params.irm, 'borrowRateView', [params, accruedMarket]),
  ])
  // A model that stores state answers the rate after accrual only in a request that has accrued.
  if (again === undefined || again.data !== after?.data) {
    throw new RpcRefusedError(0, 'The endpoint does not make the calls of a request one after the other')
  }
  const accrued: AccruedByContract = {
    market: marketState(accruedMarket),
    position: accruedPosition,
    endRateWad: decodeAnswer('borrowRateView', end),
  }
  return { averageRateWad, accrued }
}

async function readUsd(
  { together }: Asker,
  token: Address,
  { feeds, aaveOracle }: PriceSources,
): Promise<RawMarket['loanUsd']> {
  const feed = feeds.find((each) => isAddressEqual(each.token, token))?.feed
  const ofFeed = feed === undefined ? [] : [to(feed, 'latestRoundData', []), to(feed, 'decimals', [])]
  const ofAave =
    aaveOracle === undefined
      ? []
      : [to(aaveOracle, 'getSourceOfAsset', [token]), to(aaveOracle, 'getAssetPrice', [token])]
  const answers = await together([...ofFeed, ...ofAave])
  const round = decodeAnswer('latestRoundData', answers.at(0))
  const decimals = decodeAnswer('decimals', answers.at(1))
  const [source, price] = answers.slice(ofFeed.length)
  const aaveSource = decodeAnswer('getSourceOfAsset', source)
  const hasFeed = feed !== undefined && round !== undefined && decimals !== undefined
  // An oracle that does not answer is a source that failed.
  const hasAave = ofAave.length > 0 && (aaveSource === undefined || !isAddressEqual(aaveSource, zeroAddress))
  return {
    // Markets lend no wrappers here.
    rates: [],
    round: hasFeed ? { answer: round[1], updatedAtSec: round[3], decimals: Number(decimals) } : undefined,
    aave: feed === undefined && hasAave ? { price: decodeAnswer('getAssetPrice', price) } : undefined,
  }
}

function to<N extends Name>(
  target: Address,
  functionName: N,
  args: ContractFunctionArgs<Abi, 'view' | 'nonpayable', N>,
): Call {
  const call = { abi: CONTRACTS_ABI, functionName, args } as unknown as Parameters<typeof encodeFunctionData>[0]
  return { to: target, data: encodeFunctionData(call) }
}

/** What a call answered; undefined if it failed, or answered less than it must. */
function decodeAnswer<N extends Name>(functionName: N, result: CallResult | undefined): Answer<N> | undefined {
  if (result?.ok !== true || result.data === '0x') return undefined
  try {
    const call = { abi: CONTRACTS_ABI, functionName, data: result.data }
    return decodeFunctionResult(call as unknown as Parameters<typeof decodeFunctionResult>[0]) as Answer<N>
  } catch {
    // An answer that is too short counts as missing.
    return undefined
  }
}

/** The contract's market under the reader's names. */
function marketState({
  lastUpdate,
  fee,
  ...totals
}: Omit<MarketState, 'lastUpdateSec' | 'feeWad'> & { readonly lastUpdate: bigint; readonly fee: bigint }): MarketState {
  return { ...totals, lastUpdateSec: lastUpdate, feeWad: fee }
}
