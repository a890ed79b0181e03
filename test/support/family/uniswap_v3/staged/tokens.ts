import { type Address, type Hex, zeroAddress } from 'viem'
import type { PinnedBlock } from '../../../../../src/chain/block.ts'
import { decodeAddress, decodeWord, encodeCall } from '../../../../../src/chain/call/words.ts'
import type { Endpoint } from '../../../../../src/chain/rpc/client.ts'
import type { LensContracts } from '../../../../../src/family/uniswap_v3/read/abi.ts'
import type { UsdAnswers } from '../../../../../src/finance/price/price.ts'
import type { RawToken } from '../../../../../src/finance/token/token.ts'
import {
  type Ask,
  type Call,
  type CallResult,
  hasAnswer,
  multicallEach,
  textAnswer,
} from '../../../staged/multicall.ts'
import { SELECTOR, smallNumber } from './words.ts'

/** Tokens to read, and the endpoint and block to read them at. */
interface TokensRequest {
  readonly endpoint: Endpoint
  readonly multicall3: Address
  readonly block: Pick<PinnedBlock, 'hash'>
  readonly addresses: readonly Address[]
}

/** Reads the texts and decimals of tokens, each alone: a hostile token spoils no other. */
export async function readTokens(options: TokensRequest, signal: AbortSignal): Promise<RawToken[]> {
  const { endpoint, multicall3, block, addresses } = options
  const questions = [SELECTOR.decimals, SELECTOR.symbol, SELECTOR.name]
  const calls = addresses.flatMap((to) => questions.map((data) => ({ to, data })))
  const answers = await multicallEach(endpoint, { calls, block, multicall3 }, signal)
  return addresses.map((address, at) => {
    const [decimals, symbol, name] = answers.slice(at * 3, at * 3 + 3)
    const isUint8 = decimals !== undefined && hasAnswer(decimals, 1) && decodeWord(decimals.data, 0) < 256n
    return {
      address,
      decimals: isUint8 ? smallNumber(decimals.data) : undefined,
      symbol: textAnswer(symbol),
      name: textAnswer(name),
    }
  })
}

/** Answers for a token without sources. */
export const NOTHING_SAID: UsdAnswers = { rates: [], round: undefined, aave: undefined }

/**
 * Reads the latest round of every token with a feed, and the price of Aave's oracle for other tokens that it has a
 * source for, in the order of the addresses. Tokens of a pool are not wrappers here. The sources are untrusted
 * contracts, so prices are read last, and failed ones once more, each alone.
 */
export async function readPrices(
  options: TokensRequest & { readonly subject: LensContracts; readonly ask: Ask },
  signal: AbortSignal,
): Promise<UsdAnswers[]> {
  const { ask, addresses, endpoint, multicall3, block } = options
  const { prices } = options.subject
  const fed = addresses.flatMap((address, token) =>
    prices.feeds.filter((each) => each.token === address).map(({ feed }) => ({ token, feed })),
  )
  const ofFeeds = fed.flatMap(({ feed }) =>
    [SELECTOR.latestRoundData, SELECTOR.decimals].map((data) => ({ to: feed, data })),
  )
  const ofSources = oracleCalls(prices.aaveOracle, { selector: SELECTOR.getSourceOfAsset, addresses })
  const ofPrices = oracleCalls(prices.aaveOracle, { selector: SELECTOR.getAssetPrice, addresses })
  const answers = await ask([...ofFeeds, ...ofSources, ...ofPrices])
  const rounds = answers.slice(0, ofFeeds.length)
  const sources = answers.slice(ofFeeds.length, ofFeeds.length + ofSources.length)
  const told = answers.slice(ofFeeds.length + ofSources.length)

  const known = ofPrices.flatMap((call, token) => {
    const answer = sources[token]
    if (answer === undefined || fed.some((each) => each.token === token)) return []
    // An oracle that does not answer is a source that failed.
    const hasNoSource = hasAnswer(answer, 1) && decodeAddress(answer.data, 0) === zeroAddress
    return hasNoSource ? [] : [{ token, call }]
  })
  const failed = known.filter(({ token }) => told[token]?.ok !== true)
  const calls = failed.map(({ call }) => call)
  const again = await multicallEach(endpoint, { calls, block, multicall3 }, signal)
  for (const [at, { token }] of failed.entries()) told[token] = again[at] ?? FAILED
  const latest = new Map(fed.map(({ token }, at) => [token, toRound(rounds[at * 2], rounds[at * 2 + 1])]))
  const asked = new Set(known.map(({ token }) => token))
  return addresses.map((_, token) => ({
    rates: [],
    round: latest.get(token),
    aave: asked.has(token) ? { price: toNumber(told[token]) } : undefined,
  }))
}

const FAILED: CallResult = { ok: false, data: '0x' }

function oracleCalls(
  oracle: Address | undefined,
  { selector, addresses }: { readonly selector: Hex; readonly addresses: readonly Address[] },
): Call[] {
  return oracle === undefined ? [] : addresses.map((address) => ({ to: oracle, data: encodeCall(selector, address) }))
}

function toNumber(answer: CallResult | undefined): bigint | undefined {
  return answer !== undefined && hasAnswer(answer, 1) ? decodeWord(answer.data, 0) : undefined
}

function toRound(round: CallResult | undefined, decimals: CallResult | undefined): UsdAnswers['round'] {
  if (round === undefined || decimals === undefined || !hasAnswer(round, 5) || !hasAnswer(decimals, 1)) return undefined
  const updatedAtSec = decodeWord(round.data, 3)
  const places = decodeWord(decimals.data, 0)
  if (places > 255n || updatedAtSec >= 1n << 64n) return undefined
  return { answer: BigInt.asIntN(256, decodeWord(round.data, 1)), updatedAtSec, decimals: Number(places) }
}
