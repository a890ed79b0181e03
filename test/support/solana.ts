import { KLEND, type ServedAccount, type ServedAccounts } from './kamino.ts'

/** The account in which every cluster keeps its clock, and who owns it. */
export const CLOCK = 'SysvarC1ock11111111111111111111111111111111'
const SYSVAR = 'Sysvar1111111111111111111111111111111111111'

/** What one request gets instead of its answer. */
export type Fault =
  | {
      readonly kind: 'http'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }
  | { readonly kind: 'rpc'; readonly code: number; readonly message?: string }
  | { readonly kind: 'body'; readonly text: string }
  /** The honest reply with parts of it replaced. */
  | { readonly kind: 'reply'; readonly change: (reply: Reply) => unknown }
  | { readonly kind: 'hang' }
  | { readonly kind: 'cut' }
  | { readonly kind: 'endless' }

interface Reply {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result: { readonly context: { readonly slot: number }; readonly value: readonly unknown[] }
}

/** One request that the double has seen. */
export interface Seen {
  readonly method: string
  readonly addresses: readonly string[]
  readonly minContextSlot: number | undefined
  readonly atMs: number
}

/** A Solana RPC endpoint on loopback that serves accounts from memory and fails on demand. */
export interface SolanaDouble {
  readonly url: string
  readonly seen: Seen[]
  /** Faults of the next requests, first in, first out; when used up, the double answers honestly. */
  readonly faults: Fault[]
  /** Fault of every request, after those of `faults`. */
  always: Fault | undefined
  /** As they stand, or as they stand at a slot. */
  accounts: ServedAccounts | ((slot: number) => ServedAccounts)
  slot: number
  /** What the cluster's clock shows, Unix seconds; the real time if undefined. */
  clockSec: number | undefined
  /** The slot that the clock's account names; that of the answer if undefined. */
  clockSlot: number | undefined
  /** Slots that go by with every answer. */
  slotsPerRead: number
  stop(): Promise<void>
}

/** Starts a test double with `getMultipleAccounts` (base64, `minContextSlot`) and `getSlot`. */
export function startSolanaDouble(
  options: {
    readonly accounts?: SolanaDouble['accounts']
    readonly slot?: number
    /** How fast slots go by in real time; they stand still if absent. */
    readonly slotMs?: number
    readonly port?: number
  } = {},
): SolanaDouble {
  const startedMs = performance.now()
  const server = Bun.serve({ port: options.port ?? 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: handle })
  const double: SolanaDouble = {
    url: `http://127.0.0.1:${server.port}/?api-key=solana-secret`,
    seen: [],
    faults: [],
    always: undefined,
    accounts: options.accounts ?? {},
    slot: options.slot ?? 1000,
    clockSec: undefined,
    clockSlot: undefined,
    slotsPerRead: 0,
    stop: () => server.stop(true),
  }

  async function handle(request: Request): Promise<Response> {
    const { id, method, params } = (await request.json()) as RpcRequest
    const [addresses = [], config = {}] = params ?? []
    double.seen.push({ method, addresses, minContextSlot: config.minContextSlot, atMs: performance.now() })
    const fault = double.faults.shift() ?? double.always
    const reply = honest({ id, method, addresses, minContextSlot: config.minContextSlot ?? 0 })
    double.slot += double.slotsPerRead
    return fault === undefined ? Response.json(reply) : faulty(fault, { reply, id })
  }

  function slotNow(): number {
    const { slotMs } = options
    return double.slot + (slotMs === undefined ? 0 : Math.floor((performance.now() - startedMs) / slotMs))
  }

  function honest(query: Query): unknown {
    const { id, method, addresses, minContextSlot } = query
    const slot = slotNow()
    const error = (code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } })
    if (minContextSlot > slot) return error(-32016, 'Minimum context slot has not been reached')
    if (method === 'getSlot') return { jsonrpc: '2.0', id, result: slot }
    if (method !== 'getMultipleAccounts') return error(-32601, 'Method not found')
    if (addresses.length > 100) return error(-32602, 'Too many inputs provided; max 100')
    const accounts = typeof double.accounts === 'function' ? double.accounts(slot) : double.accounts
    const all: ServedAccounts = { [CLOCK]: clockAccount(slot), ...accounts }
    return { jsonrpc: '2.0', id, result: { context: { slot }, value: addresses.map((each) => presented(all[each])) } }
  }

  function clockAccount(slot: number): ServedAccount {
    const unixSec = double.clockSec ?? Math.floor(Date.now() / 1000)
    return { owner: SYSVAR, data: clockBytes({ slot: double.clockSlot ?? slot, unixSec }) }
  }

  function presented(account: ServedAccount | undefined): unknown {
    if (account === undefined) return null
    const { data, owner = KLEND } = account
    return {
      data: [Buffer.from(data).toString('base64'), 'base64'],
      executable: false,
      lamports: 1_000_000,
      owner,
      rentEpoch: 0,
      space: data.length,
    }
  }

  return double
}

/** Bytes of the clock's account: slot, start of the epoch, epoch, epoch of the leaders, time. */
export function clockBytes({ slot, unixSec }: { readonly slot: number; readonly unixSec: number }): Uint8Array {
  const view = new DataView(new ArrayBuffer(40))
  view.setBigUint64(0, BigInt(slot), true)
  view.setBigInt64(8, BigInt(unixSec - 60_000), true)
  view.setBigUint64(16, BigInt(Math.floor(slot / 432_000)), true)
  view.setBigUint64(24, BigInt(Math.floor(slot / 432_000) + 1), true)
  view.setBigInt64(32, BigInt(unixSec), true)
  return new Uint8Array(view.buffer)
}

interface RpcRequest {
  readonly id: unknown
  readonly method: string
  readonly params?: readonly [string[]?, { readonly minContextSlot?: number }?]
}

interface Query {
  readonly id: unknown
  readonly method: string
  readonly addresses: readonly string[]
  readonly minContextSlot: number
}

async function faulty(
  fault: Fault,
  { reply, id }: { readonly reply: unknown; readonly id: unknown },
): Promise<Response> {
  switch (fault.kind) {
    case 'http':
      return new Response(fault.body ?? 'upstream text that nobody may see', {
        status: fault.status,
        ...(fault.headers === undefined ? {} : { headers: fault.headers }),
      })
    case 'rpc':
      return Response.json({
        jsonrpc: '2.0',
        id,
        error: { code: fault.code, message: fault.message ?? 'upstream text' },
      })
    case 'body':
      return new Response(fault.text, { headers: { 'content-type': 'application/json' } })
    case 'reply':
      return Response.json(fault.change(reply as Reply))
    case 'hang':
      return await new Promise<Response>(() => {})
    case 'cut':
      return new Response(JSON.stringify(reply).slice(0, -20))
    case 'endless':
      return new Response(
        new ReadableStream({
          pull(controller) {
            controller.enqueue(new Uint8Array(1 << 20).fill(32))
          },
        }),
      )
  }
}
