import { concatHex, type Hex, numberToHex, padHex, size } from 'viem'
import { UpstreamError } from '../lib/error.ts'
import { type BlockAt, type Endpoint, RevertError, RpcRefusedError } from './client.ts'
import { deploylessDataBytesMax } from './deployless.ts'
import { callDeployless } from './lens.ts'

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

/** Makes many calls at one block, so that none of them spoils the others; answers come in their order. */
export type Ask = (calls: readonly Call[]) => Promise<CallResult[]>

/** Most calls in one `eth_call`: at 50,000 gas each, half of what nodes allow by default. */
const CALLS_MAX = 500
/** Most call data in one `eth_call`, bytes. */
const DATA_BYTES_MAX = 100_000
const AGGREGATE3 = '0x82ad56cb'
/** Calls that failed in a batch and are repeated alone, at the same time. */
const ALONE_MAX = 8

/**
 * Makes many calls in few `eth_call`s, none of which spoils the others. Over Multicall3 where the chain has one, else
 * by init code of our own. Give a block other than the latest when there may be more than one request: 500 calls go in one, and a
 * request that is too much for the endpoint is halved. Answers come in the order of `calls`. Throws as `Endpoint.call`.
 */
export async function multicall(
  endpoint: Endpoint,
  options: {
    readonly calls: readonly Call[]
    readonly block: BlockAt
    readonly multicall3?: Hex | undefined
  },
  signal: AbortSignal,
): Promise<CallResult[]> {
  const { calls, block, multicall3 } = options
  const bytesMax = multicall3 === undefined ? deploylessDataBytesMax(BATCH_RUNTIME) : DATA_BYTES_MAX

  async function run(chunk: readonly Call[]): Promise<CallResult[]> {
    try {
      if (multicall3 === undefined) return await callBatch(endpoint, { calls: chunk, block }, signal)
      const answer = await endpoint.call({ to: multicall3, data: encodeAggregate3(chunk), block }, signal)
      // No code at the address: the block is older than the contract.
      if (answer === '0x') return await callBatch(endpoint, { calls: chunk, block }, signal)
      return decodeAggregate3(answer, chunk.length)
    } catch (error) {
      if (!(error instanceof RpcRefusedError) || error.reason !== 'size' || chunk.length === 1) throw error
      const middle = chunk.length >> 1
      return [...(await run(chunk.slice(0, middle))), ...(await run(chunk.slice(middle)))]
    }
  }

  const answers = await Promise.all(chunksOf(calls, bytesMax).map(run))
  return answers.flat()
}

/**
 * Like `multicall`, for calls to contracts of others: one that burns all gas takes others of its batch down with it, so
 * each call that failed is repeated alone before it counts as failed.
 */
export async function multicallEach(
  endpoint: Endpoint,
  options: { readonly calls: readonly Call[]; readonly block: BlockAt; readonly multicall3?: Hex | undefined },
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
 * One call of its own, for a contract that anybody may have made: not ok where it reverts or burns all that a call may
 * burn. Throws as `Endpoint.call` for everything else.
 */
export async function callAlone(
  endpoint: Endpoint,
  { call, block }: { readonly call: Call; readonly block: BlockAt },
  signal: AbortSignal,
): Promise<CallResult> {
  try {
    return { ok: true, data: await endpoint.call({ ...call, block }, signal) }
  } catch (error) {
    if (error instanceof RevertError || error instanceof RpcRefusedError) return { ok: false, data: '0x' }
    throw error
  }
}

/** Cuts a list of calls so that each part has at most `CALLS_MAX` calls and about `bytesMax` bytes; one call is never cut. */
function chunksOf(calls: readonly Call[], bytesMax: number): Call[][] {
  const chunks: Call[][] = []
  let bytes = 0
  for (const call of calls) {
    const callBytes = RECORD_BYTES + size(call.data) + 31
    const last = chunks.at(-1)
    if (last === undefined || last.length === CALLS_MAX || bytes + callBytes > bytesMax) {
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

/** `(bool success, bytes returnData)[]`. Throws `UpstreamError` where it is not exactly that, with `count` entries. */
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

/** Bytes of a record in `BATCH_RUNTIME`'s format, before its data. */
const RECORD_BYTES = 64

/**
 * A contract that makes calls one after the other. Its call data is a row of records: a word with the address, a word
 * with the length of the data, the data unpadded. Its answer is the same with a word that is 1 or 0 for the address.
 * Two numbers stay on the stack: `m`, the end of the answer in memory, and `c`, the place in the call data.
 */
const BATCH_RUNTIME: Hex = concatHex([
  '0x6000', // m = 0
  '0x6000', // c = 0
  '0x5b', // 0x04: next record
  ...(['0x80', '0x36', '0x11', '0x15', '0x6048', '0x57'] as const), // to 0x48 where c is not below CALLDATASIZE
  ...(['0x80', '0x6020', '0x01', '0x35'] as const), // m c length = CALLDATALOAD(c + 32)
  ...(['0x80', '0x82', '0x6040', '0x01', '0x84', '0x6040', '0x01', '0x37'] as const), // CALLDATACOPY(m + 64, c + 64, length)
  ...(['0x6000', '0x6000', '0x82', '0x85', '0x6040', '0x01', '0x6000'] as const), // m c length 0 0 length m+64 0
  ...(['0x86', '0x35', '0x5a', '0xf1'] as const), // ok = CALL(GAS, CALLDATALOAD(c), 0, m + 64, length, 0, 0)
  ...(['0x83', '0x52'] as const), // MSTORE(m, ok)
  ...(['0x3d', '0x83', '0x6020', '0x01', '0x52'] as const), // MSTORE(m + 32, RETURNDATASIZE)
  ...(['0x3d', '0x6000', '0x84', '0x6040', '0x01', '0x3e'] as const), // RETURNDATACOPY(m + 64, 0, RETURNDATASIZE)
  ...(['0x01', '0x6040', '0x01'] as const), // c = c + length + 64
  ...(['0x90', '0x3d', '0x01', '0x6040', '0x01', '0x90'] as const), // m = m + RETURNDATASIZE + 64
  ...(['0x6004', '0x56'] as const),
  ...(['0x5b', '0x50', '0x6000', '0xf3'] as const), // 0x48: RETURN(0, m)
])

async function callBatch(
  endpoint: Endpoint,
  { calls, block }: { readonly calls: readonly Call[]; readonly block: BlockAt },
  signal: AbortSignal,
): Promise<CallResult[]> {
  const records = calls.map(({ to, data }) => `${padHex(to, { size: 32 }).slice(2)}${word(size(data))}${data.slice(2)}`)
  const answer = await callDeployless(
    endpoint,
    { runtime: BATCH_RUNTIME, data: `0x${records.join('')}`, block },
    signal,
  )
  const read = reader(answer)
  let at = 0
  return calls.map(() => {
    const [start, length] = [at, read.number(at + 32)]
    at = start + RECORD_BYTES + length
    return { ok: read.number(start) === 1, data: read.bytes(start + RECORD_BYTES, length) }
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
