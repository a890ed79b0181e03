import { type Hex, numberToHex, padHex, size } from 'viem'
import { type CallBlock, type Endpoint, RevertError, RpcRefusedError } from '../../../src/chain/rpc/client.ts'
import { TEXT_BYTES_MAX } from '../../../src/finance/token/text.ts'
import { UpstreamError } from '../../../src/lib/error.ts'

/** A longer answer to `symbol` or `name` counts as none. */
const TEXT_ANSWER_BYTES_MAX = 16_384

/** One call among many. */
export interface Call {
  readonly to: Hex
  readonly data: Hex
}

/** What one of many calls came to; `data` is the answer, or what it reverted with. */
export interface CallResult {
  readonly ok: boolean
  readonly data: Hex
}

/** Whether a call succeeded with at least so many words. */
export function hasAnswer(answer: CallResult, words: number): boolean {
  return answer.ok && answer.data.length >= 2 + words * 64
}

/** What a lens would copy of a `symbol` or `name` answer; undefined if it failed or answered far too much. */
export function textAnswer(answer: CallResult | undefined): Hex | undefined {
  if (answer?.ok !== true || answer.data.length > 2 + TEXT_ANSWER_BYTES_MAX * 2) return undefined
  return answer.data.slice(0, 2 + TEXT_BYTES_MAX * 2) as Hex
}

/** Makes many calls at one block, so that none of them spoils the others; answers come in their order. */
export type Ask = (calls: readonly Call[]) => Promise<CallResult[]>

/** Most calls in one `eth_call`: at 50,000 gas each, half of what nodes allow by default. */
const CALLS_MAX = 500
/** Most call data in one `eth_call`, bytes. */
const DATA_BYTES_MAX = 100_000
/** What a call takes beside its data, roughly. */
const CALL_BYTES = 95
const AGGREGATE3 = '0x82ad56cb'
/** Calls that failed in a batch and are repeated alone, at the same time. */
const ALONE_MAX = 8

/** Which calls to make at which block. */
export interface CallsRequest {
  readonly calls: readonly Call[]
  readonly block: CallBlock
  readonly multicall3: Hex
}

/**
 * Makes many calls over Multicall3 in few `eth_call`s, none of which spoils the others: 500 calls go in one, and a
 * request that is too much for the endpoint is halved. Answers come in the order of `calls`. Throws as `Endpoint.call`.
 */
export async function multicall(
  endpoint: Endpoint,
  { calls, block, multicall3 }: CallsRequest,
  signal: AbortSignal,
): Promise<CallResult[]> {
  async function run(chunk: readonly Call[]): Promise<CallResult[]> {
    try {
      const answer = await endpoint.call({ to: multicall3, data: encodeAggregate3(chunk), block }, signal)
      return decodeAggregate3(answer, chunk.length)
    } catch (error) {
      if (!(error instanceof RpcRefusedError) || error.reason !== 'size' || chunk.length === 1) throw error
      const middle = chunk.length >> 1
      return [...(await run(chunk.slice(0, middle))), ...(await run(chunk.slice(middle)))]
    }
  }

  const answers = await Promise.all(splitCalls(calls).map(run))
  return answers.flat()
}

/**
 * Like `multicall`, for calls to contracts of others: one that burns all gas takes others of its batch down with it, so
 * each call that failed is repeated alone before it counts as failed.
 */
export async function multicallEach(
  endpoint: Endpoint,
  options: CallsRequest,
  signal: AbortSignal,
): Promise<CallResult[]> {
  const { calls, block } = options
  const answers = calls.length === 0 ? [] : await multicall(endpoint, options, signal)
  const failed = calls.flatMap((call, at) => (answers[at]?.ok === true ? [] : [{ call, at }]))
  for (let from = 0; from < failed.length; from += ALONE_MAX) {
    const repeated = failed.slice(from, from + ALONE_MAX).map(async ({ call, at }) => {
      answers[at] = await callAlone(endpoint, { call, block }, signal)
    })
    await Promise.all(repeated)
  }
  return answers
}

/**
 * One call of its own, for a contract of unknown origin: not ok if it reverts or burns all that a call may
 * burn. Throws as `Endpoint.call` for everything else.
 */
export async function callAlone(
  endpoint: Endpoint,
  { call, block }: { readonly call: Call; readonly block: CallBlock },
  signal: AbortSignal,
): Promise<CallResult> {
  try {
    return { ok: true, data: await endpoint.call({ ...call, block }, signal) }
  } catch (error) {
    if (error instanceof RevertError || error instanceof RpcRefusedError) return { ok: false, data: '0x' }
    throw error
  }
}

/** Cuts a list of calls so that each part has at most `CALLS_MAX` calls and about `DATA_BYTES_MAX` bytes. */
function splitCalls(calls: readonly Call[]): Call[][] {
  const chunks: Call[][] = []
  let bytes = 0
  for (const call of calls) {
    const callBytes = CALL_BYTES + size(call.data)
    const last = chunks.at(-1)
    if (last === undefined || last.length === CALLS_MAX || bytes + callBytes > DATA_BYTES_MAX) {
      chunks.push([call])
      bytes = callBytes
    } else {
      last.push(call)
      bytes += callBytes
    }
  }
  return chunks
}

/** `aggregate3((address target, bool allowFailure, bytes callData)[])`, every call allowed to fail. */
function encodeAggregate3(calls: readonly Call[]): Hex {
  const offsets: string[] = []
  const tuples: string[] = []
  let offset = calls.length * 32
  for (const { to, data } of calls) {
    const padded = Math.ceil(size(data) / 32) * 32
    offsets.push(word(offset))
    tuples.push(padHex(to, { size: 32 }).slice(2), word(1), word(96), word(size(data)))
    tuples.push(data.slice(2).padEnd(padded * 2, '0'))
    offset += 128 + padded
  }
  return `${AGGREGATE3}${word(32)}${word(calls.length)}${offsets.join('')}${tuples.join('')}`
}

/** `(bool success, bytes returnData)[]`. Throws `UpstreamError` if it is not exactly that, with `count` entries. */
function decodeAggregate3(answer: Hex, count: number): CallResult[] {
  const read = reader(answer)
  const list = read.number(0) + 32
  if (read.number(list - 32) !== count) throw new UpstreamError('The answer of a multicall has the wrong length')
  return Array.from({ length: count }, (_, index) => {
    const tuple = list + read.number(list + index * 32)
    const bytes = tuple + read.number(tuple + 32)
    return { ok: read.number(tuple) === 1, data: read.bytes(bytes + 32, read.number(bytes)) }
  })
}

/** Reads words and bytes at byte offsets of an answer; throws `UpstreamError` beyond its end. */
function reader(answer: Hex): { number(at: number): number; bytes(at: number, length: number): Hex } {
  function cut(at: number, length: number): string {
    const end = 2 + (at + length) * 2
    if (!Number.isSafeInteger(end) || end > answer.length)
      throw new UpstreamError('The answer of a multicall is too short')
    return answer.slice(2 + at * 2, end)
  }
  return {
    number: (at) => Number(`0x${cut(at, 32)}`),
    bytes: (at, length) => `0x${cut(at, length)}`,
  }
}

function word(value: number): string {
  return numberToHex(value, { size: 32 }).slice(2)
}
