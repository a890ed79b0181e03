import { type Hex, numberToHex } from 'viem'
import { untilAborted } from '../../../lib/async/abort.ts'
import { getRequesters, type Requesters, withRequesters } from '../../../lib/async/requesters.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { createLru } from '../../../lib/lru.ts'
import { type CallBlock, type Endpoint, type EthCall, RevertError, RpcRefusedError } from '../../rpc/client.ts'
import { ResponseTimeoutError } from '../../rpc/transport.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

/** Code that is executed without being deployed, and what it is called with. */
export interface LensCall {
  readonly runtime: Hex
  readonly data: Hex
  readonly block: CallBlock
  /** @default what the endpoint grants */
  readonly gas?: number
  /** Code at further addresses for this call, which others in one bundle with it see too. Only by state override. */
  readonly others?: Readonly<Record<Hex, Hex>>
}

/**
 * No contract and no key has this address, or one of the next hundred. It is the ASCII of the name, so that a node's log
 * shows who called.
 */
export const LENS_ADDRESS: Hex = '0x77616c6c657473636f70652d2d2d2d2d2d6c656e'
/** No contract and no key has this address either. */
const BUNDLE_ADDRESS: Hex = '0x77616c6c657473636f70652d2d2d2d62756e646c'
/** So many calls are under way to an endpoint before further ones leave together: few callers share nothing. */
const ALONE_MAX = 8
/** Calls in one bundle: a node runs them one after the other. */
const CALLS_MAX = 8
/** How many calls go alone after a bundle that the endpoint did not run. */
const ALONE_AFTER_FAILURE = 10_000
/** Questions of late bundles that are remembered. */
const SLOW_MAX = 1_000

/** One caller's call, until it is answered. */
interface PendingCall {
  readonly endpoint: Endpoint
  readonly call: LensCall
  readonly signal: AbortSignal
  /** For whom it is. */
  readonly askers: Requesters
  readonly resolve: (answer: Hex) => void
  readonly reject: (error: unknown) => void
}

/** What is known about the calls to one endpoint. */
interface CallQueue {
  /** `eth_call`s under way. */
  running: number
  /** Calls that go alone before the next bundle is tried. */
  aloneLeft: number
  waiting: PendingCall[]
}

/** One for each endpoint. Its key is what the endpoint has learned, which all clients of it share. */
const desks = new WeakMap<Endpoint['learned'], CallQueue>()
/** One of the questions of a late bundle was slow, perhaps at every endpoint. Each goes alone until it has an answer. */
const slow = createLru<true>({ entriesMax: SLOW_MAX })

/**
 * `eth_call` with `runtime` as the code of an address (state override). Only the node limits the size of code,
 * arguments and answer. Throws `RpcRefusedError` if the endpoint does not override, `RevertError` as the lens does.
 */
export async function callByOverride(endpoint: Endpoint, call: LensCall, signal: AbortSignal): Promise<Hex> {
  return answered(await endpoint.call(requestOf(call), signal))
}

function requestOf({ runtime, ...asked }: LensCall): EthCall {
  return { to: LENS_ADDRESS, code: runtime, ...asked }
}

/** Throws `RpcRefusedError` for the answer of an address without code: a lens always answers some bytes. */
function answered(answer: Hex): Hex {
  if (answer === '0x') throw new RpcRefusedError(0, 'The endpoint ignored the state override')
  return answer
}

/**
 * Calls a lens like `callByOverride`, but in one `eth_call` with others if the endpoint says so or many ask at the same
 * time: those that come within one turn of the event loop, of any lens at the same block, on behalf of the same askers:
 * nobody's slow question holds up another's. Everyone gets the answer, revert or refusal that the call alone would have
 * had, if it takes no more gas than `lens.sol` grants; what a bundle could not ask, or got no answer to in time, is asked
 * alone.
 */
export async function callBundled(endpoint: Endpoint, call: LensCall, signal: AbortSignal): Promise<Hex> {
  const desk = deskOf(endpoint)
  const { together, priority } = endpoint
  // The name is long: if nothing is slow, it is not needed.
  const isSlow = slow.size > 0 && slow.get(nameOf(call)) === true
  const isCrowded = priority === 'caller' && desk.running >= ALONE_MAX
  const mayWait = together === 'always' || (together === 'crowded' && isCrowded)
  if (!mayWait || desk.aloneLeft > 0 || isSlow) {
    if (desk.aloneLeft > 0) desk.aloneLeft--
    const answer = await counted(desk, () => callByOverride(endpoint, call, signal))
    if (slow.size > 0) slow.delete(nameOf(call))
    return answer
  }
  const answer = new Promise<Hex>((resolve, reject) => {
    desk.waiting.push({ endpoint, call, signal, askers: getRequesters(signal), resolve, reject })
    if (desk.waiting.length === 1) setImmediate(() => sendAll(desk))
  })
  return await untilAborted(answer, signal)
}

function deskOf({ learned }: Endpoint): CallQueue {
  const known = desks.get(learned)
  if (known !== undefined) return known
  const desk: CallQueue = { running: 0, aloneLeft: 0, waiting: [] }
  desks.set(learned, desk)
  return desk
}

async function counted<T>(desk: CallQueue, run: () => Promise<T>): Promise<T> {
  desk.running++
  try {
    return await run()
  } finally {
    desk.running--
  }
}

function nameOf({ runtime, data }: LensCall): string {
  return `${runtime.length}:${data}`
}

/** Sends what waits, sorted by block and asker. */
function sendAll(desk: CallQueue): void {
  const staying = desk.waiting.filter(({ signal }) => !signal.aborted)
  desk.waiting = []
  const groups: [PendingCall, ...PendingCall[]][] = []
  for (const waiting of staying) {
    const group = groups.find((members) => isAlike(members[0], waiting) && mayJoin(members, waiting))
    if (group === undefined) groups.push([waiting])
    else group.push(waiting)
  }
  for (const group of groups) {
    for (let from = 0; from < group.length; from += CALLS_MAX) void send(desk, group.slice(from, from + CALLS_MAX))
  }
}

/** A reading that several share began for the first of its askers. */
function isAlike({ endpoint, call, askers: [first] }: PendingCall, other: PendingCall): boolean {
  const [otherFirst] = other.askers
  return (
    endpoint.priority === other.endpoint.priority &&
    hashOrTag(call.block) === hashOrTag(other.call.block) &&
    first === otherFirst
  )
}

/** Nobody's contract is replaced by what another one needs there. */
function mayJoin(members: readonly PendingCall[], { call: { others } }: PendingCall): boolean {
  if (others === undefined) return true
  return members.every((each) =>
    Object.entries(each.call.others ?? {}).every(([address, code]) => (others[address as Hex] ?? code) === code),
  )
}

function hashOrTag(block: CallBlock): Hex | bigint | 'latest' {
  return typeof block === 'object' ? block.hash : block
}

async function send(desk: CallQueue, bundle: readonly PendingCall[]): Promise<void> {
  const [first] = bundle
  if (first === undefined) return
  if (bundle.length === 1) return await sendAlone(desk, first)
  try {
    const answers = await counted(desk, () => ask(first, bundle))
    for (const [index, waiting] of bundle.entries()) {
      const answer = answers[index]
      if (answer === undefined) void sendAlone(desk, waiting)
      else if (answer.ok) {
        waiting.endpoint.heard?.(requestOf(waiting.call), answer.data)
        waiting.resolve(answer.data)
      } else waiting.reject(new RevertError(answer.data))
    }
  } catch (error) {
    if (error instanceof RpcRefusedError || error instanceof RevertError) {
      desk.aloneLeft = ALONE_AFTER_FAILURE
      for (const waiting of bundle) void sendAlone(desk, waiting)
    } else {
      if (error instanceof ResponseTimeoutError) for (const { call } of bundle) slow.set(nameOf(call), true)
      for (const waiting of bundle) waiting.reject(error)
    }
  }
}

async function sendAlone(desk: CallQueue, { endpoint, call, signal, resolve, reject }: PendingCall): Promise<void> {
  await counted(desk, () => callByOverride(endpoint, call, signal)).then(resolve, reject)
}

/** What a lens said to one question. */
interface CallResult {
  /** False: it reverted with `data`. */
  readonly ok: boolean
  readonly data: Hex
}

/** Asks for all of them, until the last one has left. Undefined for whom want of gas may be why nothing was said. */
async function ask(
  { endpoint, call, askers }: PendingCall,
  bundle: readonly PendingCall[],
): Promise<readonly (CallResult | undefined)[]> {
  const left = new AbortController()
  const leave = () => {
    if (bundle.every(({ signal }) => signal.aborted)) left.abort()
  }
  for (const { signal } of bundle) signal.addEventListener('abort', leave)
  try {
    const lenses = [...new Set(bundle.map(({ call: { runtime } }) => runtime))]
    const questions = bundle.map(({ call: { runtime, data } }) => questionOf(lenses.indexOf(runtime), data))
    const request: EthCall = {
      to: BUNDLE_ADDRESS,
      code: LENS_RUNTIME,
      others: Object.assign(
        Object.fromEntries(lenses.map((runtime, index) => [addressOf(index), runtime])),
        ...bundle.map((each) => each.call.others),
      ),
      data: `0x${bytesOf(bundle.length, 1)}${questions.join('')}`,
      block: call.block,
    }
    return decode(answered(await endpoint.call(request, withRequesters(askers, left.signal))), bundle.length)
  } finally {
    for (const { signal } of bundle) signal.removeEventListener('abort', leave)
  }
}

/** Where the lens of this number stands. */
function addressOf(lens: number): Hex {
  return numberToHex(BigInt(LENS_ADDRESS) + BigInt(lens), { size: 20 })
}

/** A question as `lens.sol` reads it, without `0x`. */
function questionOf(lens: number, data: Hex): string {
  return bytesOf(data.length / 2, 4) + bytesOf(lens, 1) + data.slice(2)
}

function bytesOf(value: number, bytes: number): string {
  return value.toString(16).padStart(2 * bytes, '0')
}

/** Throws `UpstreamError` for anything that is not a row of answers. */
function decode(text: Hex, questions: number): readonly (CallResult | undefined)[] {
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
