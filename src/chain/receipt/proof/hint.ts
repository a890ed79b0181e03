import { type Hex, pad, toHex } from 'viem'
import { forEachLimit } from '../../../lib/async/for_each_limit.ts'
import { LENS_ADDRESS } from '../../call/bundle/bundle.ts'
import { encodeDeploylessCode, getDeploylessCalldataMax } from '../../call/deployless.ts'
import type { Endpoint, RpcRequest } from '../../rpc/client.ts'
import { MissingBlockError, MissingStateError } from '../../rpc/error.ts'
import { parseLowerAddress, parseLowerBytes } from '../../rpc/value.ts'
import type { ProvenCall } from './job.ts'

/** Who says what a call will read, the one that saves most requests first. */
const METHODS = ['proof_call', 'debug_traceCall', 'eth_createAccessList'] as const
export type HintMethod = (typeof METHODS)[number]

/** What calls will probably read. It is never believed: it only saves requests. */
export interface AccessHint extends Draft {
  /** Who said so; undefined if nobody did: the machine finds it in rounds. */
  readonly by: HintMethod | undefined
}

interface HintRequest {
  readonly calls: readonly ProvenCall[]
  readonly blockHash: Hex
  readonly nowMs: number
}

/** What one method has said so far. */
interface Draft {
  /** Slots by account. */
  readonly accounts: Map<Hex, Set<Hex>>
  readonly codes: Set<Hex>
  /** Nodes of the state's tries. */
  readonly nodes: Set<Hex>
}

/** How long it is known that an endpoint does not give a hint. */
const LEARNED_MS = 10 * 60_000
/** Hints of several calls that are asked for at the same time. */
const TOGETHER_MAX = 4

/** Asks an endpoint what calls will read, by the first method that it takes. Throws only as the signal says. */
export async function readHints(
  endpoint: Endpoint,
  { calls, blockHash, nowMs }: HintRequest,
  signal: AbortSignal,
): Promise<AccessHint> {
  for (const method of METHODS.filter((each) => calls.every((call) => fits(each, call)))) {
    const topic = `no ${method}`
    if ((endpoint.learned.get(topic)?.untilMs ?? 0) > nowMs) continue
    const draft: Draft = { accounts: new Map(), codes: new Set(), nodes: new Set() }
    try {
      const ask = (call: ProvenCall, shared: AbortSignal) =>
        endpoint.request(READ[method](call, { blockHash, draft }), shared)
      await forEachLimit(calls, TOGETHER_MAX, ask, signal)
      // One that runs something else than the lens sees it read nothing.
      if (calls.length > 0 && !isAny(draft)) throw new TypeError('Expected what the calls read')
      // The lens stands nowhere.
      draft.accounts.delete(LENS_ADDRESS)
      return { by: method, ...draft }
    } catch (error) {
      if (signal.aborted) throw error
      // What an old block lacks says nothing about the next one.
      if (error instanceof MissingStateError || error instanceof MissingBlockError) continue
      endpoint.learned.set(topic, { value: 'none', untilMs: nowMs + LEARNED_MS })
    }
  }
  return { by: undefined, accounts: new Map(), codes: new Set(), nodes: new Set() }
}

/** Reads slot 0 of whoever runs it: PUSH1 0, SLOAD, STOP. */
const READS_A_SLOT: Hex = '0x60005400'
const PROBE: ProvenCall = { runtime: READS_A_SLOT, data: '0x', gas: 100_000 }

/** Which hint an endpoint gives about calls at a block; undefined for none. Throws as `readHints`. */
export async function findHintMethod(
  endpoint: Endpoint,
  at: Pick<HintRequest, 'blockHash' | 'nowMs'>,
  signal: AbortSignal,
): Promise<HintMethod | undefined> {
  const { by } = await readHints(endpoint, { ...at, calls: [PROBE] }, signal)
  return by
}

/** False if a method cannot be asked about a call. */
function fits(method: HintMethod, { runtime, data }: ProvenCall): boolean {
  return method !== 'proof_call' || data.length / 2 - 1 <= getDeploylessCalldataMax(runtime)
}

function isAny({ accounts, nodes }: Draft): boolean {
  return nodes.size > 0 || [...accounts.values()].some((slots) => slots.size > 0)
}

interface Into {
  readonly blockHash: Hex
  readonly draft: Draft
}

const READ: Readonly<Record<HintMethod, (call: ProvenCall, into: Into) => RpcRequest<void>>> = {
  // Nethermind from 1.39 on. It takes no overrides, and gives what was read also if the call reverts, as this one does:
  // https://docs.nethermind.io/interacting/json-rpc-ns/proof
  proof_call: ({ runtime, data, gas }, { blockHash, draft }) => ({
    method: 'proof_call',
    params: [{ data: encodeDeploylessCode(runtime, data), gas: toHex(gas) }, { blockHash }],
    parse(result) {
      const { state, codes } = recordOf(recordOf(result)['witness'])
      for (const node of listOf(state)) draft.nodes.add(parseLowerBytes(node))
      for (const code of listOf(codes)) draft.codes.add(parseLowerBytes(code))
    },
  }),
  debug_traceCall: (call, { blockHash, draft }) => ({
    method: 'debug_traceCall',
    params: [
      transactionOf(call),
      { blockHash },
      { tracer: 'prestateTracer', stateOverrides: { [LENS_ADDRESS]: { code: call.runtime } } },
    ],
    parse(result) {
      for (const [address, account] of Object.entries(recordOf(result))) {
        const { code, storage } = recordOf(account)
        note(draft, address, Object.keys(recordOf(storage ?? {})))
        if (typeof code === 'string' && code !== '0x') draft.codes.add(parseLowerBytes(code))
      }
    },
  }),
  eth_createAccessList: (call, { blockHash, draft }) => ({
    method: 'eth_createAccessList',
    params: [transactionOf(call), { blockHash }, { [LENS_ADDRESS]: { code: call.runtime } }],
    parse(result) {
      for (const each of listOf(recordOf(result)['accessList'])) {
        const { address, storageKeys } = recordOf(each)
        note(draft, address, listOf(storageKeys ?? []))
      }
    },
  }),
}

function transactionOf({ data, gas }: ProvenCall) {
  return { to: LENS_ADDRESS, data, gas: toHex(gas) }
}

function note({ accounts }: Draft, address: unknown, slots: readonly unknown[]): void {
  const name = parseLowerAddress(address)
  const known = accounts.get(name) ?? new Set()
  for (const slot of slots) known.add(pad(parseLowerBytes(slot)))
  accounts.set(name, known)
}

function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new TypeError('Expected a list')
  return value
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new TypeError('Expected an object')
  return value as Readonly<Record<string, unknown>>
}
