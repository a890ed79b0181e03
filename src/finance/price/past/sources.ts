import { type Address, encodeFunctionData, parseAbi } from 'viem'
import type { ContractCall, ReturnData } from '../../../chain/call/many/multicall.ts'
import { tryDecodeAddress, tryDecodeUint } from '../../../chain/call/words.ts'
import type { FinanceClient } from '../../chain.ts'
import { AAVE_DECIMALS, computeDirectPrice, type DirectAnswers, type DirectPrice } from '../price.ts'
import type { ClaimedRound } from './round_check.ts'
import { createRangeQuestion, decodeSequencer, findRoundFault, readRanges } from './round_faults.ts'
import { type CallContracts, createLatestRoundCall, createLatestRoundCalls, decodeLatestRound } from './rounds.ts'

/**
 * Where prices are read: the configured sources of the chain's tokens, the oracle of one Aave market, or what the oracle
 * of a spoke of Aave V4 says of one reserve.
 */
export type PriceSource = { readonly kind: 'chain' } | MarketSource | ReserveSource

interface MarketSource {
  readonly kind: 'aave_market'
  readonly provider: Address
  /** The market's current oracle: if it was the same at the block, one request is enough. */
  readonly oracle: Address
}

interface ReserveSource {
  readonly kind: 'aave_reserve'
  readonly spoke: Address
  readonly reserveId: number
  /** The spoke's current oracle: if it was the same at the block, one request is enough. */
  readonly oracle: Address
}

/** Origin of a past price: the state of the block, or the rounds that a feed keeps. */
type PriceEvidence = 'state' | 'round'

/**
 * A price at a block, or why it is missing; `because` completes a sentence after "because". Wrappers and pools price
 * nothing here: the value of a flow comes from a source of the token itself, or from the position's own pool.
 */
export type PriceResult =
  | { readonly kind: 'price'; readonly price: DirectPrice; readonly evidence: PriceEvidence }
  | { readonly kind: 'missing'; readonly because: string }

/** One endpoint's result for a token. */
export interface EndpointPriceClaim {
  readonly outcome: PriceResult
  /** The round of the token's own feed, if it answered. */
  readonly claim?: ClaimedRound | undefined
  /** True if the endpoint's data cannot decide the price. */
  readonly isUnknown?: boolean
}

const ABI = parseAbi([
  'function getPriceOracle() view returns (address)',
  'function BASE_CURRENCY() view returns (address)',
  'function BASE_CURRENCY_UNIT() view returns (uint256)',
  'function getAssetPrice(address asset) view returns (uint256)',
  'function getSourceOfAsset(address asset) view returns (address)',
  'function ORACLE() view returns (address)',
  'function getReservePrice(uint256 reserveId) view returns (uint256)',
  'function getReserveSource(uint256 reserveId) view returns (address)',
])

/** Reads prices from a market's oracle, as the market itself uses them. */
export async function readMarketPrices(
  { provider, oracle }: MarketSource,
  tokens: readonly Address[],
  callContracts: CallContracts,
): Promise<[Address, EndpointPriceClaim][]> {
  const [oracleAnswer, ...answers] = await callContracts([
    createOracleCall(provider),
    ...createMarketCalls(oracle, tokens),
  ])
  const marketOracle = tryDecodeAddress(oracleAnswer)
  const toMissing = (because: string) =>
    tokens.map((token): [Address, EndpointPriceClaim] => [token, { outcome: noResultBecause(because) }])
  if (marketOracle === undefined) return toMissing('its market had no oracle')
  const [base, unit, ...prices] =
    marketOracle === oracle ? answers : await callContracts(createMarketCalls(marketOracle, tokens))
  const scale = toBaseScale([base, unit])
  if (scale === undefined) return toMissing("its market's oracle did not count in US dollars")
  return tokens.map((token, index) => {
    const units = tryDecodeUint(prices[index]) ?? 0n
    if (units === 0n) return [token, { outcome: noResultBecause("its market's oracle had no price for it") }]
    const price: DirectPrice = { units, scale, source: 'aave_oracle' }
    return [token, { outcome: { kind: 'price', price, evidence: 'state' } }]
  })
}

/** Reads the price of the token of a reserve from the oracle of its spoke, which answers in US dollars alone. */
export async function readReservePrice(
  { spoke, reserveId, oracle }: ReserveSource,
  tokens: readonly Address[],
  callContracts: CallContracts,
): Promise<[Address, EndpointPriceClaim][]> {
  const data = encodeFunctionData({ abi: ABI, functionName: 'getReservePrice', args: [BigInt(reserveId)] })
  const getOracle = { to: spoke, data: encodeFunctionData({ abi: ABI, functionName: 'ORACLE' }) }
  const [oracleAnswer, answer] = await callContracts([getOracle, { to: oracle, data }])
  const spokeOracle = tryDecodeAddress(oracleAnswer)
  const toAll = (outcome: PriceResult) => tokens.map((token): [Address, EndpointPriceClaim] => [token, { outcome }])
  if (spokeOracle === undefined) return toAll(noResultBecause('its spoke had no oracle'))
  const [price] = spokeOracle === oracle ? [answer] : await callContracts([{ to: spokeOracle, data }])
  const units = tryDecodeUint(price) ?? 0n
  if (units === 0n) return toAll(noResultBecause("its spoke's oracle had no price for it"))
  return toAll({ kind: 'price', price: { units, scale: AAVE_DECIMALS, source: 'aave_oracle' }, evidence: 'state' })
}

/** Reads prices from the configured sources. */
export async function readSourcePrices(
  client: FinanceClient,
  { tokens, block }: { readonly tokens: readonly Address[]; readonly block: ClaimedRound['block'] },
  callContracts: CallContracts,
): Promise<[Address, EndpointPriceClaim][]> {
  const { prices } = client.chain
  const { aaveOracle, sequencerFeed } = prices
  const questions = tokens.map((token) => {
    const feed = prices.usdFeeds[token]?.feed
    if (feed !== undefined) {
      const question = createRangeQuestion(feed)
      return { question, calls: [...question.calls, ...createLatestRoundCalls(feed)] }
    }
    return {
      question: undefined,
      calls: aaveOracle === undefined ? [] : [createSourceCall(aaveOracle, token), createPriceCall(aaveOracle, token)],
    }
  })
  const isOracleAsked = aaveOracle !== undefined && questions.some(({ question }) => question === undefined)
  const baseCalls = isOracleAsked ? createBaseCalls(aaveOracle) : []
  const isFeedAsked = questions.some(({ question }) => question !== undefined)
  const sequencerCalls = sequencerFeed === undefined || !isFeedAsked ? [] : [createLatestRoundCall(sequencerFeed)]
  const answers = [
    ...(await callContracts([...baseCalls, ...sequencerCalls, ...questions.flatMap(({ calls }) => calls)])),
  ]
  const isDollars = toBaseScale(answers.splice(0, baseCalls.length)) === AAVE_DECIMALS
  const [sequencer] = answers.splice(0, sequencerCalls.length).map(decodeSequencer)
  const asked = questions.map(({ question, calls }) => {
    const rangeAnswers = answers.splice(0, question?.calls.length ?? 0)
    return { question, rangeAnswers, own: answers.splice(0, calls.length - rangeAnswers.length) }
  })
  const ranges = await readRanges(
    asked.flatMap(({ question, rangeAnswers }) => (question === undefined ? [] : { question, answers: rangeAnswers })),
    callContracts,
  )
  return tokens.map((token, index) => {
    const ownAnswers = asked[index]?.own ?? []
    const feed = prices.usdFeeds[token]?.feed
    const round = feed === undefined ? undefined : decodeLatestRound(ownAnswers[0], ownAnswers[1])
    const surroundings = { range: feed && ranges.get(feed), sequencer, blockTimestampSec: block.timestampSec }
    const roundFault = round && findRoundFault(round, surroundings)
    const aave =
      feed !== undefined || ownAnswers.length === 0
        ? undefined
        : toAaveAnswer(ownAnswers[0], isDollars ? ownAnswers[1] : undefined)
    const claim = feed === undefined || round === undefined ? undefined : { feed, round, block, fault: roundFault }
    const input = { answers: { round, roundFault, aave }, blockTimestampSec: block.timestampSec }
    return [token, { outcome: toPriceResult(client, token, input, 'state'), claim }]
  })
}

/** Converts the answers of a token's configured sources to a result. */
export function toPriceResult(
  { chain: { prices } }: FinanceClient,
  token: Address,
  input: Pick<Parameters<typeof computeDirectPrice>[1], 'answers' | 'blockTimestampSec'>,
  evidence: PriceEvidence,
): PriceResult {
  const outcome = computeDirectPrice(token, { prices, ...input })
  return outcome.kind === 'missing' ? noResultBecause(outcome.because) : { ...outcome, evidence }
}

/** Returns a missing price; `because` completes a sentence after "because". */
export function noResultBecause(because: string): PriceResult {
  return { kind: 'missing', because }
}

function toAaveAnswer(source: ReturnData, price: ReturnData): DirectAnswers['aave'] {
  // A silent oracle may have a source: then no other one takes its place.
  const hasNoSource = tryDecodeUint(source) === 0n
  return hasNoSource ? undefined : { price: tryDecodeUint(price) }
}

function createOracleCall(provider: Address): ContractCall {
  return { to: provider, data: encodeFunctionData({ abi: ABI, functionName: 'getPriceOracle' }) }
}

function createMarketCalls(oracle: Address, tokens: readonly Address[]): ContractCall[] {
  return [...createBaseCalls(oracle), ...tokens.map((token) => createPriceCall(oracle, token))]
}

/** Creates the calls that return the currency in which an Aave oracle counts. */
export function createBaseCalls(oracle: Address): ContractCall[] {
  return [
    { to: oracle, data: encodeFunctionData({ abi: ABI, functionName: 'BASE_CURRENCY' }) },
    { to: oracle, data: encodeFunctionData({ abi: ABI, functionName: 'BASE_CURRENCY_UNIT' }) },
  ]
}

/** Creates the call that returns the contract from which the oracle of a spoke prices a reserve. */
export function createReserveSourceCall({ oracle, reserveId }: ReserveSource): ContractCall {
  const data = encodeFunctionData({ abi: ABI, functionName: 'getReserveSource', args: [BigInt(reserveId)] })
  return { to: oracle, data }
}

/** Returns the decimals of an oracle's prices by the results of those calls; undefined if it does not count in dollars. */
export function toBaseScale([base, unit]: readonly ReturnData[]): number | undefined {
  return tryDecodeUint(base) === 0n ? toScale(tryDecodeUint(unit)) : undefined
}

/** Creates the call that returns the contract from which an Aave oracle prices a token. */
export function createSourceCall(to: Address, token: Address): ContractCall {
  return { to, data: encodeFunctionData({ abi: ABI, functionName: 'getSourceOfAsset', args: [token] }) }
}

function createPriceCall(to: Address, token: Address): ContractCall {
  return { to, data: encodeFunctionData({ abi: ABI, functionName: 'getAssetPrice', args: [token] }) }
}

/** Decimals of a unit that is a power of ten; undefined for other units. */
function toScale(unit: bigint | undefined): number | undefined {
  return unit !== undefined && /^10*$/.test(String(unit)) ? String(unit).length - 1 : undefined
}
