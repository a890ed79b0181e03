import { type Hex, numberToHex } from 'viem'
import { untilAborted } from '../../../lib/async/abort.ts'
import { createWork, type Work } from '../../../lib/async/work.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import { type CallBlock, type Endpoint, type EthCall, RevertError, RpcRefusedError } from '../../rpc/client.ts'
import { hasFault } from '../../rpc/error.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

/** Code that is executed without being deployed, and its call data. */
export interface LensCall {
  readonly runtime: Hex
  readonly data: Hex
  readonly block: CallBlock
  /** @default what the endpoint grants */
  readonly gas?: number
  /** Code at additional addresses, which the other calls of a bundle see too. Only in mode `override`. */
  readonly additionalCodes?: Readonly<Record<Hex, Hex>>
  /** As `EthCall.storage`; such calls are not bundled. */
  readonly storage?: NonNullable<EthCall['storage']>
  /** As `EthCall.mustWait` and `EthCall.isEarlier`; such calls are not bundled. */
  readonly mustWait?: boolean
  readonly isEarlier?: boolean
}

/**
 * No contract and no key has this address, or one of the next hundred. It is the ASCII of the service's name, so that
 * logs of nodes identify the caller.
 */
export const LENS_ADDRESS: Hex = '0x77616c6c657473636f70652d2d2d2d2d2d6c656e'
/** No contract and no key has this address either. */
export const BUNDLE_ADDRESS: Hex = '0x77616c6c657473636f70652d2d2d2d62756e646c'
/** Calls running at an endpoint before additional ones are bundled: few callers gain nothing from sharing. */
const ALONE_MAX = 8
/** Calls in one bundle; a node runs them one after the other. */
const CALLS_MAX = 8
/** Calls that are sent alone after a bundle that the endpoint did not run. */
const ALONE_AFTER_FAILURE = 10_000
/** Remembered calls of bundles that timed out. */
const SLOW_MAX = 1_000

/** A call that waits for its answer. */
interface PendingCall {
  readonly endpoint: Endpoint
  readonly call: LensCall
  readonly work: Work
  readonly resolve: (answer: Hex) => void
  readonly reject: (error: unknown) => void
}

/** State of the calls to one endpoint. */
interface CallQueue {
  /** Running `eth_call`s. */
  running: number
  /** Calls to send alone before the next bundle is tried. */
  aloneLeft: number
  waiting: PendingCall[]
}

/** Queues by the endpoint's `learned` map, which all clients of the endpoint share. */
const queuesByEndpoint = new WeakMap<Endpoint['learned'], CallQueue>()
/**
 * Calls of bundles that timed out: one of them is slow, perhaps on every endpoint. Each is sent alone until answered.
 */
const slowCalls = createLru<true>({ entriesMax: SLOW_MAX })

/**
 * Calls a lens with `runtime` as the code of an address (state override). Only the node limits the size of code,
 * arguments and answer. Throws `RpcRefusedError` if the endpoint ignores overrides, `RevertError` if the lens reverts.
 */
export async function callByOverride(endpoint: Endpoint, call: LensCall, work: Work): Promise<Hex> {
  return requireAnswer(await endpoint.call(toRequest(call), work))
}

function toRequest({ runtime, ...otherFields }: LensCall): EthCall {
  return { to: LENS_ADDRESS, code: runtime, ...otherFields }
}

/** Throws `RpcRefusedError` for an empty answer, which an address without code gives: a lens always returns bytes. */
function requireAnswer(answer: Hex): Hex {
  if (answer === '0x') throw new RpcRefusedError(0, 'The endpoint ignored the state override')
  return answer
}

/**
 * Calls a lens like `callByOverride`, but may send several calls in one `eth_call`, as `Endpoint.bundling` says.
 * Bundles calls made in the same event-loop turn, at the same block, for the same requesters, so that a slow call
 * delays no other requester. Each call gets the answer, revert or refusal that it would have got alone, if it uses no
 * more gas than `lens.sol` grants; calls that a bundle could not run, or whose bundle timed out, are sent alone.
 */
export async function callBundled(endpoint: Endpoint, call: LensCall, work: Work): Promise<Hex> {
  const queue = getQueue(endpoint)
  const { bundling, priority } = endpoint
  // The key is long, so it is not computed while no call is slow.
  const isSlow = slowCalls.size > 0 && slowCalls.get(getCallKey(call)) === true
  const isCrowded = priority === 'caller' && queue.running >= ALONE_MAX
  const mayWait = bundling === 'always' || (bundling === 'crowded' && isCrowded)
  if (!mayWait || queue.aloneLeft > 0 || isSlow) {
    if (queue.aloneLeft > 0) queue.aloneLeft--
    const answer = await countWhileRunning(queue, () => callByOverride(endpoint, call, work))
    if (slowCalls.size > 0) slowCalls.delete(getCallKey(call))
    return answer
  }
  const answer = new Promise<Hex>((resolve, reject) => {
    queue.waiting.push({ endpoint, call, work, resolve, reject })
    if (queue.waiting.length === 1) setImmediate(() => sendAll(queue))
  })
  return await untilAborted(answer, work.signal)
}

function getQueue({ learned }: Endpoint): CallQueue {
  const existing = queuesByEndpoint.get(learned)
  if (existing !== undefined) return existing
  const queue: CallQueue = { running: 0, aloneLeft: 0, waiting: [] }
  queuesByEndpoint.set(learned, queue)
  return queue
}

async function countWhileRunning<T>(queue: CallQueue, run: () => Promise<T>): Promise<T> {
  queue.running++
  try {
    return await run()
  } finally {
    queue.running--
  }
}

function getCallKey({ runtime, data }: LensCall): string {
  return `${runtime.length}:${data}`
}

/** Sends the waiting calls, grouped by block and requester. */
function sendAll(queue: CallQueue): void {
  const activeCalls = queue.waiting.filter(({ work }) => !work.signal.aborted)
  queue.waiting = []
  const groups: [PendingCall, ...PendingCall[]][] = []
  for (const waiting of activeCalls) {
    const group = groups.find((members) => canBundle(members[0], waiting) && isCompatible(members, waiting))
    if (group === undefined) groups.push([waiting])
    else group.push(waiting)
  }
  for (const group of groups) {
    for (let from = 0; from < group.length; from += CALLS_MAX) void send(queue, group.slice(from, from + CALLS_MAX))
  }
}

/** True if two calls may share a bundle. A shared read counts for its first requester. */
function canBundle({ endpoint, call, work }: PendingCall, other: PendingCall): boolean {
  const [first] = work.requesters
  const [otherFirst] = other.work.requesters
  return (
    endpoint.priority === other.endpoint.priority &&
    getBlockKey(call.block) === getBlockKey(other.call.block) &&
    first === otherFirst
  )
}

/** True if no call would see another call's code at an address where it needs its own. */
function isCompatible(members: readonly PendingCall[], { call: { additionalCodes } }: PendingCall): boolean {
  if (additionalCodes === undefined) return true
  return members.every((each) =>
    Object.entries(each.call.additionalCodes ?? {}).every(
      ([address, code]) => (additionalCodes[address as Hex] ?? code) === code,
    ),
  )
}

function getBlockKey(block: CallBlock): Hex | bigint | 'latest' {
  return typeof block === 'object' ? block.hash : block
}

async function send(queue: CallQueue, bundle: readonly PendingCall[]): Promise<void> {
  const [first] = bundle
  if (first === undefined) return
  if (bundle.length === 1) return await sendAlone(queue, first)
  try {
    const answers = await countWhileRunning(queue, () => ask(first, bundle))
    for (const [index, waiting] of bundle.entries()) {
      const answer = answers[index]
      if (answer === undefined) void sendAlone(queue, waiting)
      else if (answer.ok) {
        waiting.endpoint.onBundledAnswer?.(toRequest(waiting.call), answer.data)
        waiting.resolve(answer.data)
      } else waiting.reject(new RevertError(answer.data))
    }
  } catch (error) {
    if (error instanceof RpcRefusedError || error instanceof RevertError) {
      queue.aloneLeft = ALONE_AFTER_FAILURE
      for (const waiting of bundle) void sendAlone(queue, waiting)
    } else {
      if (hasFault(error, 'late')) for (const { call } of bundle) slowCalls.set(getCallKey(call), true)
      for (const waiting of bundle) waiting.reject(error)
    }
  }
}

async function sendAlone(queue: CallQueue, { endpoint, call, work, resolve, reject }: PendingCall): Promise<void> {
  await countWhileRunning(queue, () => callByOverride(endpoint, call, work)).then(resolve, reject)
}

/** Answer of a lens to one call of a bundle. */
interface CallResult {
  /** False if the lens reverted with `data`. */
  readonly ok: boolean
  readonly data: Hex
}

/**
 * Sends all calls in one `eth_call`, aborted once every caller has aborted. `undefined`: may have run out of gas; retry
 * alone.
 */
async function ask(
  { endpoint, call, work: { requesters } }: PendingCall,
  bundle: readonly PendingCall[],
): Promise<readonly (CallResult | undefined)[]> {
  const allAborted = new AbortController()
  const onAbort = () => {
    if (bundle.every(({ work }) => work.signal.aborted)) allAborted.abort()
  }
  for (const { work } of bundle) work.signal.addEventListener('abort', onAbort)
  try {
    const lenses = [...new Set(bundle.map(({ call: { runtime } }) => runtime))]
    const questions = bundle.map(({ call: { runtime, data } }) => encodeQuestion(lenses.indexOf(runtime), data))
    const request: EthCall = {
      to: BUNDLE_ADDRESS,
      code: LENS_RUNTIME,
      additionalCodes: Object.assign(
        Object.fromEntries(lenses.map((runtime, index) => [getLensAddress(index), runtime])),
        ...bundle.map((each) => each.call.additionalCodes),
      ),
      data: `0x${encodeUint(bundle.length, 1)}${questions.join('')}`,
      block: call.block,
    }
    return decodeBundle(
      requireAnswer(await endpoint.call(request, createWork(allAborted.signal, { requesters }))),
      bundle.length,
    )
  } finally {
    for (const { work } of bundle) work.signal.removeEventListener('abort', onAbort)
  }
}

/** Returns the address of a bundle's lens by its number. */
function getLensAddress(lens: number): Hex {
  return numberToHex(BigInt(LENS_ADDRESS) + BigInt(lens), { size: 20 })
}

/** Encodes a call as `lens.sol` reads it, without `0x`. */
function encodeQuestion(lens: number, data: Hex): string {
  return encodeUint(data.length / 2, 4) + encodeUint(lens, 1) + data.slice(2)
}

function encodeUint(value: number, bytes: number): string {
  return value.toString(16).padStart(2 * bytes, '0')
}

/** Decodes the answers of a bundle. Throws `UpstreamError` for malformed data. */
function decodeBundle(text: Hex, questions: number): readonly (CallResult | undefined)[] {
  const answers: (CallResult | undefined)[] = []
  for (let at = 2; at < text.length; ) {
    const end = at + 10 + 2 * Number.parseInt(text.slice(at + 2, at + 10), 16)
    if (!(end <= text.length) || answers.length === questions) {
      throw new UpstreamError('Cannot decode a bundle: it is not a row of answers')
    }
    const outcome = text.slice(at, at + 2)
    answers.push(outcome === '02' ? undefined : { ok: outcome === '01', data: `0x${text.slice(at + 10, end)}` })
    at = end
  }
  return answers
}
