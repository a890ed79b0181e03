import { type Address, encodeFunctionData, parseAbi } from 'viem'
import type { ContractCall, ReturnData } from '../../../chain/call/many/multicall.ts'
import { tryDecodeAddress, tryDecodeUint } from '../../../chain/call/words.ts'
import type { FinanceClient } from '../../chain.ts'
import { computeDirectPrice, type DirectAnswers, type DirectPrice } from '../price.ts'
import type { ClaimedRound } from './round_check.ts'
import { type CallContracts, createLatestRoundCalls, decodeLatestRound } from './rounds.ts'

/**
 * Who is asked for prices: the sources that configuration names for the chain's tokens, or the oracle of one market of
 * Aave.
 */
export type PriceSource = { readonly kind: 'chain' } | MarketAsker

interface MarketAsker {
  readonly kind: 'aave_market'
  readonly provider: Address
  /** The oracle that it has now: if it had the same one before, one call is enough. */
  readonly oracle: Address
}

/** Where a past price was found: in the state of the block, or among the rounds that a feed keeps. */
type PriceEvidence = 'state' | 'round'

/**
 * A price at a block, or the reason why it is missing, in words that follow "because". Wrappers and pools price nothing
 * here: what a flow cost is told by a source of the token itself, or by the position's own pool.
 */
export type PriceResult =
  | { readonly kind: 'price'; readonly price: DirectPrice; readonly evidence: PriceEvidence }
  | { readonly kind: 'missing'; readonly because: string }

/** What one endpoint says about a token. */
export interface EndpointPriceClaim {
  readonly outcome: PriceResult
  /** The round of the token's own feed, if it answered. */
  readonly claim?: ClaimedRound | undefined
  /** True if nothing that it keeps tells the price. */
  readonly isUnknown?: boolean
}

const ABI = parseAbi([
  'function getPriceOracle() view returns (address)',
  'function BASE_CURRENCY() view returns (address)',
  'function BASE_CURRENCY_UNIT() view returns (uint256)',
  'function getAssetPrice(address asset) view returns (uint256)',
  'function getSourceOfAsset(address asset) view returns (address)',
])

/** Prices by a market's oracle, as the market itself takes them. */
export async function readMarketPrices(
  { provider, oracle }: MarketAsker,
  tokens: readonly Address[],
  ask: CallContracts,
): Promise<[Address, EndpointPriceClaim][]> {
  const [found, ...answers] = await ask([oracleQuestion(provider), ...oracleQuestions(oracle, tokens)])
  const then = tryDecodeAddress(found)
  const none = (because: string) =>
    tokens.map((token): [Address, EndpointPriceClaim] => [token, { outcome: noResultBecause(because) }])
  if (then === undefined) return none('its market had no oracle')
  const [base, unit, ...prices] = then === oracle ? answers : await ask(oracleQuestions(then, tokens))
  const scale = scaleOf(tryDecodeUint(unit))
  if (tryDecodeUint(base) !== 0n || scale === undefined) return none("its market's oracle did not count in US dollars")
  return tokens.map((token, index) => {
    const units = tryDecodeUint(prices[index]) ?? 0n
    if (units === 0n) return [token, { outcome: noResultBecause("its market's oracle had no price for it") }]
    const price: DirectPrice = { units, scale, source: 'aave_oracle' }
    return [token, { outcome: { kind: 'price', price, evidence: 'state' } }]
  })
}

/** Prices by the sources that configuration names. */
export async function readSourcePrices(
  client: FinanceClient,
  { tokens, block }: { readonly tokens: readonly Address[]; readonly block: ClaimedRound['block'] },
  ask: CallContracts,
): Promise<[Address, EndpointPriceClaim][]> {
  const { prices } = client.chain
  const { aaveOracle } = prices
  const questions = tokens.map((token): readonly ContractCall[] => {
    const feed = prices.usdFeeds[token]?.feed
    if (feed !== undefined) return createLatestRoundCalls(feed)
    return aaveOracle === undefined ? [] : [createSourceCall(aaveOracle, token), priceQuestion(aaveOracle, token)]
  })
  const answers = [...(await ask(questions.flat()))]
  return tokens.map((token, index) => {
    const own = answers.splice(0, questions[index]?.length ?? 0)
    const feed = prices.usdFeeds[token]?.feed
    const round = feed === undefined ? undefined : decodeLatestRound(own[0], own[1])
    const aave = feed !== undefined || own.length === 0 ? undefined : aaveAnswer(own[0], own[1])
    const claim = feed === undefined || round === undefined ? undefined : { feed, round, block }
    const answered = { answers: { round, aave }, blockTimestampSec: block.timestampSec }
    return [token, { outcome: toPriceResult(client, token, answered, 'state'), claim }]
  })
}

/** What configured sources make of a token's answers. */
export function toPriceResult(
  { chain: { prices } }: FinanceClient,
  token: Address,
  answered: Pick<Parameters<typeof computeDirectPrice>[1], 'answers' | 'blockTimestampSec'>,
  evidence: PriceEvidence,
): PriceResult {
  const outcome = computeDirectPrice(token, { prices, ...answered })
  return outcome.kind === 'missing' ? noResultBecause(outcome.because) : { ...outcome, evidence }
}

/** No price, with the reason in words that follow "because". */
export function noResultBecause(because: string): PriceResult {
  return { kind: 'missing', because }
}

function aaveAnswer(source: ReturnData, price: ReturnData): DirectAnswers['aave'] {
  const asked = tryDecodeAddress(source)
  return asked === undefined ? undefined : { price: tryDecodeUint(price) }
}

function oracleQuestion(provider: Address): ContractCall {
  return { to: provider, data: encodeFunctionData({ abi: ABI, functionName: 'getPriceOracle' }) }
}

function oracleQuestions(oracle: Address, tokens: readonly Address[]): ContractCall[] {
  return [
    { to: oracle, data: encodeFunctionData({ abi: ABI, functionName: 'BASE_CURRENCY' }) },
    { to: oracle, data: encodeFunctionData({ abi: ABI, functionName: 'BASE_CURRENCY_UNIT' }) },
    ...tokens.map((token) => priceQuestion(oracle, token)),
  ]
}

/** Asks an oracle of Aave which contract it asks about a token. */
export function createSourceCall(to: Address, token: Address): ContractCall {
  return { to, data: encodeFunctionData({ abi: ABI, functionName: 'getSourceOfAsset', args: [token] }) }
}

function priceQuestion(to: Address, token: Address): ContractCall {
  return { to, data: encodeFunctionData({ abi: ABI, functionName: 'getAssetPrice', args: [token] }) }
}

/** Decimals of a unit that is a power of ten. */
function scaleOf(unit: bigint | undefined): number | undefined {
  return unit !== undefined && /^10*$/.test(String(unit)) ? String(unit).length - 1 : undefined
}
