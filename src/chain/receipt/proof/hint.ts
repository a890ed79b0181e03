import { type Hex, pad, toHex } from 'viem'
import { LENS_ADDRESS } from '../../call/bundle/bundle.ts'
import type { Endpoint, Read } from '../../rpc/client.ts'
import { lowerAddress, lowerBytes } from '../../rpc/value.ts'
import type { ProvenCall } from './job.ts'

/** Who says what a call will read: a tracer, a list of accesses, or nobody but the machine, in rounds. */
export const HINTS = ['tracer', 'access_list', 'rounds'] as const
export type Hint = (typeof HINTS)[number]

/** What calls will probably read. It is never believed: it only saves requests. */
export interface Hinted {
  /** Slots by account. */
  readonly accounts: Map<Hex, Set<Hex>>
  readonly codes: Set<Hex>
}

/** What is learned about an endpoint: which hint it gives. */
export const HINT_TOPIC = 'proof hint'
const LEARNED_MS = 10 * 60_000

interface Asked {
  readonly calls: readonly ProvenCall[]
  readonly blockHash: Hex
  readonly nowMs: number
}

/** Asks an endpoint what calls will read, in the way that it is known to take or in the first that it does. */
export async function readHints(
  endpoint: Endpoint,
  { calls, blockHash, nowMs }: Asked,
  signal: AbortSignal,
): Promise<Hinted> {
  const hinted: Hinted = { accounts: new Map(), codes: new Set() }
  const known = endpoint.learned.get(HINT_TOPIC)
  const first = known !== undefined && known.untilMs > nowMs ? Math.max(0, HINTS.map(String).indexOf(known.value)) : 0
  for (const hint of HINTS.slice(first)) {
    if (hint === 'rounds') {
      endpoint.learned.set(HINT_TOPIC, { value: hint, untilMs: nowMs + LEARNED_MS })
      break
    }
    try {
      for (const call of calls) await endpoint.request(READ[hint](call, { blockHash, hinted }), signal)
      endpoint.learned.set(HINT_TOPIC, { value: hint, untilMs: nowMs + LEARNED_MS })
      break
    } catch (error) {
      if (signal.aborted) throw error
    }
  }
  // The lens stands nowhere.
  hinted.accounts.delete(LENS_ADDRESS)
  return hinted
}

interface Into {
  readonly blockHash: Hex
  readonly hinted: Hinted
}

const READ: Readonly<Record<Exclude<Hint, 'rounds'>, (call: ProvenCall, into: Into) => Read<void>>> = {
  tracer: (call, { blockHash, hinted }) => ({
    method: 'debug_traceCall',
    params: [
      transactionOf(call),
      { blockHash },
      { tracer: 'prestateTracer', stateOverrides: { [LENS_ADDRESS]: { code: call.runtime } } },
    ],
    parse(result) {
      for (const [address, account] of entriesOf(result)) {
        const { code, storage } = recordOf(account)
        note(hinted, address, Object.keys(recordOf(storage ?? {})))
        if (typeof code === 'string' && code !== '0x') hinted.codes.add(lowerBytes(code))
      }
    },
  }),
  access_list: (call, { blockHash, hinted }) => ({
    method: 'eth_createAccessList',
    params: [transactionOf(call), { blockHash }, { [LENS_ADDRESS]: { code: call.runtime } }],
    parse(result) {
      const { accessList } = recordOf(result)
      if (!Array.isArray(accessList)) throw new TypeError('Expected a list of accesses')
      for (const each of accessList) {
        const { address, storageKeys } = recordOf(each)
        note(hinted, address, Array.isArray(storageKeys) ? storageKeys : [])
      }
    },
  }),
}

function transactionOf({ data, gas }: ProvenCall) {
  return { to: LENS_ADDRESS, data, gas: toHex(gas) }
}

function note({ accounts }: Hinted, address: unknown, slots: readonly unknown[]): void {
  const name = lowerAddress(address)
  const known = accounts.get(name) ?? new Set()
  for (const slot of slots) known.add(pad(lowerBytes(slot)))
  accounts.set(name, known)
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new TypeError('Expected an object')
  return value as Readonly<Record<string, unknown>>
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return Object.entries(recordOf(value))
}
