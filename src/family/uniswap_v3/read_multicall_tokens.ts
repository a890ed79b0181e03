import type { Address, Hex } from 'viem'
import type { Endpoint } from '../../chain/client.ts'
import { type Ask, type CallResult, multicallEach } from '../../chain/multicall.ts'
import type { ReadBlock } from '../../chain/read_block.ts'
import { TEXT_ANSWER_BYTES_MAX, TEXT_BYTES_MAX } from '../../chain/token_text.ts'
import { hasAnswer, wordOf } from '../../chain/words.ts'
import type { LensSubject } from './abi.ts'
import type { RawFeed, RawToken } from './state.ts'
import { SELECTOR, smallNumber } from './words.ts'

/** What tokens say about themselves, each on its own terms: a hostile one spoils no other. */
export async function readTokens(
  options: {
    readonly endpoint: Endpoint
    readonly multicall3: Address | undefined
    readonly block: ReadBlock
    readonly addresses: readonly Address[]
  },
  signal: AbortSignal,
): Promise<RawToken[]> {
  const { endpoint, multicall3, block, addresses } = options
  const questions = [SELECTOR.decimals, SELECTOR.symbol, SELECTOR.name]
  const calls = addresses.flatMap((to) => questions.map((data) => ({ to, data })))
  const answers = await multicallEach(endpoint, { calls, block: block.number, multicall3 }, signal)
  return addresses.map((address, at) => {
    const [decimals, symbol, name] = answers.slice(at * 3, at * 3 + 3)
    const isUint8 = decimals !== undefined && hasAnswer(decimals, 1) && wordOf(decimals.data, 0) < 256n
    return {
      address,
      decimals: isUint8 ? smallNumber(decimals.data) : undefined,
      symbol: textOf(symbol),
      name: textOf(name),
    }
  })
}

function textOf(answer: CallResult | undefined): Hex | undefined {
  if (answer?.ok !== true || answer.data.length > 2 + TEXT_ANSWER_BYTES_MAX * 2) return undefined
  return answer.data.slice(0, 2 + TEXT_BYTES_MAX * 2) as Hex
}

/** The latest round of the feed of every token that has one, in the order of the subject. */
export async function readFeeds(options: {
  readonly subject: LensSubject
  readonly ask: Ask
  readonly tokens: readonly Address[]
}): Promise<RawFeed[]> {
  const { subject, ask, tokens } = options
  const wanted = subject.feeds.filter(({ token }) => tokens.includes(token))
  const answers = await ask(
    wanted.flatMap(({ feed }) => [SELECTOR.latestRoundData, SELECTOR.decimals].map((data) => ({ to: feed, data }))),
  )
  return wanted.map(({ token }, at) => {
    const [round, decimals] = answers.slice(at * 2, at * 2 + 2)
    return { token: tokens.indexOf(token), round: roundOf(round, decimals) }
  })
}

function roundOf(round: CallResult | undefined, decimals: CallResult | undefined): RawFeed['round'] {
  if (round === undefined || decimals === undefined || !hasAnswer(round, 5) || !hasAnswer(decimals, 1)) return undefined
  const updatedAtSec = wordOf(round.data, 3)
  const places = wordOf(decimals.data, 0)
  if (places > 255n || updatedAtSec >= 1n << 64n) return undefined
  return { answer: BigInt.asIntN(256, wordOf(round.data, 1)), updatedAtSec, decimals: Number(places) }
}
