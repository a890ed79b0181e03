import { type Hex, pad, toHex } from 'viem'
import { LENS_ADDRESS } from '../../chain/call/bundle/bundle.ts'
import { encodeDeploylessCode, getDeploylessCalldataMax } from '../../chain/call/deployless.ts'
import { toStateOverrides } from '../../chain/evm/endpoint.ts'
import type { Endpoint, RpcRequest } from '../../chain/rpc/client.ts'
import { hasFault } from '../../chain/rpc/error.ts'
import { parseLowerAddress, parseLowerBytes } from '../../chain/rpc/value.ts'
import { forEachLimit } from '../../lib/async/parallel.ts'
import type { Work } from '../../lib/async/work.ts'
import type { ProvenCall } from './job.ts'

/** Methods that report what a call will read, the one that saves most requests first. */
const METHODS = ['proof_call', 'debug_traceCall', 'eth_createAccessList'] as const
export type HintMethod = (typeof METHODS)[number]

/** State that calls will probably read. Hints are untrusted; a wrong hint only costs extra requests. */
export interface AccessHint extends Draft {
  /** The method that gave the hint; undefined without a hint: rounds of runs then find what is read. */
  readonly method: HintMethod | undefined
}

interface HintRequest {
  readonly calls: readonly ProvenCall[]
  readonly blockHash: Hex
  readonly nowMs: number
}

/** Hint of one method so far. */
interface Draft {
  /** Slots by account. */
  readonly accounts: Map<Hex, Set<Hex>>
  readonly codes: Set<Hex>
  /** Nodes of the state's tries. */
  readonly nodes: Set<Hex>
}

/** How long an endpoint's lack of a hint method is remembered. */
const LEARNED_MS = 10 * 60_000
/** Concurrent requests for hints. */
const CONCURRENCY_MAX = 4

/** Reads hints with the first method that the endpoint supports. Throws only if the signal is aborted. */
export async function readHints(
  endpoint: Endpoint,
  { calls, blockHash, nowMs }: HintRequest,
  work: Work,
): Promise<AccessHint> {
  for (const method of METHODS.filter((each) => calls.every((call) => isApplicable(each, call)))) {
    const topic = `no ${method}`
    if ((endpoint.learned.get(topic)?.untilMs ?? 0) > nowMs) continue
    const draft: Draft = { accounts: new Map(), codes: new Set(), nodes: new Set() }
    try {
      const requestHint = (call: ProvenCall, shared: Work) =>
        endpoint.request(READ[method](call, { blockHash, draft }), shared)
      await forEachLimit(calls, CONCURRENCY_MAX, requestHint, work)
      // An endpoint that ran other code than the lens reports no reads.
      if (calls.length > 0 && !hasAny(draft)) throw new TypeError('Expected what the calls read')
      // The lens is not deployed, so its address has no state to prove.
      draft.accounts.delete(LENS_ADDRESS)
      return { method, ...draft }
    } catch (error) {
      if (work.signal.aborted) throw error
      // Pruned state of one block says nothing about the next block.
      if (hasFault(error, 'no_state', 'no_block')) continue
      endpoint.learned.set(topic, { value: 'none', untilMs: nowMs + LEARNED_MS })
    }
  }
  return { method: undefined, accounts: new Map(), codes: new Set(), nodes: new Set() }
}

/** Code that reads slot 0 of the executing account: PUSH1 0, SLOAD, STOP. */
const READS_A_SLOT: Hex = '0x60005400'
const PROBE: ProvenCall = { runtime: READS_A_SLOT, data: '0x', gas: 100_000 }

/** Finds the hint method that an endpoint supports at a block; undefined for none. Throws as `readHints`. */
export async function findHintMethod(
  endpoint: Endpoint,
  context: Pick<HintRequest, 'blockHash' | 'nowMs'>,
  work: Work,
): Promise<HintMethod | undefined> {
  const { method } = await readHints(endpoint, { ...context, calls: [PROBE] }, work)
  return method
}

/** False if a method cannot report on a call, because that needs overrides, or the call data is too long. */
function isApplicable(method: HintMethod, { runtime, data, additionalCodes, storage }: ProvenCall): boolean {
  if (method !== 'proof_call') return true
  const hasOthers = additionalCodes !== undefined || storage !== undefined
  return !hasOthers && data.length / 2 - 1 <= getDeploylessCalldataMax(runtime)
}

function hasAny({ accounts, nodes }: Draft): boolean {
  return nodes.size > 0 || [...accounts.values()].some((slots) => slots.size > 0)
}

interface HintTarget {
  readonly blockHash: Hex
  readonly draft: Draft
}

const READ: Readonly<Record<HintMethod, (call: ProvenCall, target: HintTarget) => RpcRequest<void>>> = {
  // Nethermind 1.39 and later. The method takes no overrides, and reports reads even if the call reverts, as this one
  // does: https://docs.nethermind.io/interacting/json-rpc-ns/proof
  proof_call: ({ runtime, data, gas }, { blockHash, draft }) => ({
    method: 'proof_call',
    params: [{ data: encodeDeploylessCode(runtime, data), gas: toHex(gas) }, { blockHash }],
    parse(result) {
      const { state, codes } = requireObject(requireObject(result)['witness'])
      for (const node of requireArray(state)) draft.nodes.add(parseLowerBytes(node))
      for (const code of requireArray(codes)) draft.codes.add(parseLowerBytes(code))
    },
  }),
  debug_traceCall: (call, { blockHash, draft }) => ({
    method: 'debug_traceCall',
    params: [toTransaction(call), { blockHash }, { tracer: 'prestateTracer', stateOverrides: toOverrides(call) }],
    parse(result) {
      for (const [address, account] of Object.entries(requireObject(result))) {
        const { code, storage } = requireObject(account)
        addSlots(draft, address, Object.keys(requireObject(storage ?? {})))
        if (typeof code === 'string' && code !== '0x') draft.codes.add(parseLowerBytes(code))
      }
    },
  }),
  eth_createAccessList: (call, { blockHash, draft }) => ({
    method: 'eth_createAccessList',
    params: [toTransaction(call), { blockHash }, toOverrides(call)],
    parse(result) {
      for (const each of requireArray(requireObject(result)['accessList'])) {
        const { address, storageKeys } = requireObject(each)
        addSlots(draft, address, requireArray(storageKeys ?? []))
      }
    },
  }),
}

function toOverrides({ runtime, additionalCodes, storage }: ProvenCall): object {
  return toStateOverrides({ ...additionalCodes, [LENS_ADDRESS]: runtime }, storage)
}

function toTransaction({ data, gas }: ProvenCall) {
  return { to: LENS_ADDRESS, data, gas: toHex(gas) }
}

function addSlots({ accounts }: Draft, address: unknown, slots: readonly unknown[]): void {
  const name = parseLowerAddress(address)
  const accountSlots = accounts.get(name) ?? new Set()
  for (const slot of slots) accountSlots.add(pad(parseLowerBytes(slot)))
  accounts.set(name, accountSlots)
}

function requireArray(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError('Expected a list')
  return value
}

function requireObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new TypeError('Expected an object')
  return value as Readonly<Record<string, unknown>>
}
