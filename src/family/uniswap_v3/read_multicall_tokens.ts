import type { Address, Hex } from 'viem'
import { type Endpoint, RevertError, RpcRefusedError } from '../../chain/client.ts'
import type { Call, CallResult } from '../../chain/multicall.ts'
import type { ReadBlock } from '../../chain/read_block.ts'
import { TEXT_ANSWER_BYTES_MAX, TEXT_BYTES_MAX } from '../../chain/token_text.ts'
import { hasAnswer, wordOf } from '../../chain/words.ts'
import type { LensSubject } from './abi.ts'
import type { Ask } from './read_multicall_entries.ts'
import type { RawFeed, RawToken } from './state.ts'
import { SELECTOR, smallNumber } from './words.ts'

/** Calls of a suspicious token that are repeated alone, at the same time. */
const ALONE_MAX = 8

/**
 * What tokens say about themselves. One that burns all gas takes others of its batch down with it, so each call that
 * failed is repeated alone before it counts as failed.
 */
export async function readTokens(
  options: {
    readonly ask: Ask
    readonly endpoint: Endpoint
    readonly block: ReadBlock
    readonly addresses: readonly Address[]
  },
  signal: AbortSignal,
): Promise<RawToken[]> {
  const { ask, endpoint, block, addresses } = options
  const questions = [SELECTOR.decimals, SELECTOR.symbol, SELECTOR.name]
  const calls = addresses.flatMap((to) => questions.map((data) => ({ to, data })))
  const answers = await ask(calls)
  const failed = calls.flatMap((call, at) => (answers[at]?.ok === true ? [] : [{ call, at }]))
  const repeated = await eachOf(failed, async ({ call, at }) => ({
    at,
    answer: await askAlone(endpoint, { call, block: block.number }, signal),
  }))
  for (const { at, answer } of repeated) answers[at] = answer
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

async function askAlone(
  endpoint: Endpoint,
  { call, block }: { readonly call: Call; readonly block: bigint },
  signal: AbortSignal,
): Promise<CallResult> {
  try {
    return { ok: true, data: await endpoint.call({ ...call, block }, signal) }
  } catch (error) {
    // The token said no, or burned all that a call may burn.
    if (error instanceof RevertError || error instanceof RpcRefusedError) return { ok: false, data: '0x' }
    throw error
  }
}

/** Runs `work` on all items, `ALONE_MAX` at a time. */
async function eachOf<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (let from = 0; from < items.length; from += ALONE_MAX) {
    results.push(...(await Promise.all(items.slice(from, from + ALONE_MAX).map(work))))
  }
  return results
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
