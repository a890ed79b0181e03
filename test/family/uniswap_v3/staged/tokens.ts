import { type Address, type Hex, zeroAddress } from 'viem'
import type { PinnedBlock } from '../../../../src/chain/block.ts'
import { addressOf, encodeCall, wordOf } from '../../../../src/chain/call/words.ts'
import type { Endpoint } from '../../../../src/chain/rpc/client.ts'
import type { LensSubject } from '../../../../src/family/uniswap_v3/read/abi.ts'
import type { RawFeed, RawRead } from '../../../../src/family/uniswap_v3/read/state.ts'
import type { RawToken } from '../../../../src/finance/token/token.ts'
import {
  type Ask,
  type Call,
  type CallResult,
  hasAnswer,
  multicallEach,
  textAnswer,
} from '../../../support/staged/multicall.ts'
import { SELECTOR, smallNumber } from './words.ts'

/** Which tokens are asked about, and at which endpoint and block. */
interface TokensRequest {
  readonly endpoint: Endpoint
  readonly multicall3: Address
  readonly block: Pick<PinnedBlock, 'hash'>
  readonly addresses: readonly Address[]
}

/** What tokens say about themselves, each on its own terms: a hostile one spoils no other. */
export async function readTokens(options: TokensRequest, signal: AbortSignal): Promise<RawToken[]> {
  const { endpoint, multicall3, block, addresses } = options
  const questions = [SELECTOR.decimals, SELECTOR.symbol, SELECTOR.name]
  const calls = addresses.flatMap((to) => questions.map((data) => ({ to, data })))
  const answers = await multicallEach(endpoint, { calls, block, multicall3 }, signal)
  return addresses.map((address, at) => {
    const [decimals, symbol, name] = answers.slice(at * 3, at * 3 + 3)
    const isUint8 = decimals !== undefined && hasAnswer(decimals, 1) && wordOf(decimals.data, 0) < 256n
    return {
      address,
      decimals: isUint8 ? smallNumber(decimals.data) : undefined,
      symbol: textAnswer(symbol),
      name: textAnswer(name),
    }
  })
}

/**
 * The latest round of the feed of every token that has one, and what Aave's oracle says of those it has a source for.
 * Its sources may be anybody's contracts, so prices are asked last, and those that fail once more, each alone.
 */
export async function readPrices(
  options: TokensRequest & { readonly subject: LensSubject; readonly ask: Ask },
  signal: AbortSignal,
): Promise<Pick<RawRead, 'feeds' | 'aave'>> {
  const { subject, ask, addresses, endpoint, multicall3, block } = options
  const fed = addresses.flatMap((address, token) =>
    subject.feeds.filter((each) => each.token === address).map(({ feed }) => ({ token, feed })),
  )
  const ofFeeds = fed.flatMap(({ feed }) =>
    [SELECTOR.latestRoundData, SELECTOR.decimals].map((data) => ({ to: feed, data })),
  )
  const ofSources = oracleCalls(subject.aaveOracle, { selector: SELECTOR.getSourceOfAsset, addresses })
  const ofPrices = oracleCalls(subject.aaveOracle, { selector: SELECTOR.getAssetPrice, addresses })
  const answers = await ask([...ofFeeds, ...ofSources, ...ofPrices])
  const rounds = answers.slice(0, ofFeeds.length)
  const sources = answers.slice(ofFeeds.length, ofFeeds.length + ofSources.length)
  const prices = answers.slice(ofFeeds.length + ofSources.length)

  const known = ofPrices.flatMap((call, token) => {
    const answer = sources[token]
    if (answer === undefined || !hasAnswer(answer, 1)) return []
    const source = addressOf(answer.data, 0)
    return source === zeroAddress ? [] : [{ token, source, call }]
  })
  const failed = known.filter(({ token }) => prices[token]?.ok !== true)
  const calls = failed.map(({ call }) => call)
  const again = await multicallEach(endpoint, { calls, block, multicall3 }, signal)
  for (const [at, { token }] of failed.entries()) prices[token] = again[at] ?? FAILED
  return {
    feeds: fed.map(({ token }, at) => ({ token, round: roundOf(rounds[at * 2], rounds[at * 2 + 1]) })),
    aave: known.map(({ token, source }) => ({ token, source, price: numberOf(prices[token]) })),
  }
}

const FAILED: CallResult = { ok: false, data: '0x' }

function oracleCalls(
  oracle: Address | undefined,
  { selector, addresses }: { readonly selector: Hex; readonly addresses: readonly Address[] },
): Call[] {
  return oracle === undefined ? [] : addresses.map((address) => ({ to: oracle, data: encodeCall(selector, address) }))
}

function numberOf(answer: CallResult | undefined): bigint | undefined {
  return answer !== undefined && hasAnswer(answer, 1) ? wordOf(answer.data, 0) : undefined
}

function roundOf(round: CallResult | undefined, decimals: CallResult | undefined): RawFeed['round'] {
  if (round === undefined || decimals === undefined || !hasAnswer(round, 5) || !hasAnswer(decimals, 1)) return undefined
  const updatedAtSec = wordOf(round.data, 3)
  const places = wordOf(decimals.data, 0)
  if (places > 255n || updatedAtSec >= 1n << 64n) return undefined
  return { answer: BigInt.asIntN(256, wordOf(round.data, 1)), updatedAtSec, decimals: Number(places) }
}
