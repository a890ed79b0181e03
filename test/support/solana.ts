import { KLEND, type ServedAccounts } from './kamino.ts'

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

/** A Solana RPC endpoint on loopback that serves accounts from memory and fails as told. */
export interface SolanaDouble {
  readonly url: string
  readonly seen: Seen[]
  /** Faults of the next requests, first in, first out; when used up, the double answers honestly. */
  readonly faults: Fault[]
  /** Fault of every request, after those of `faults`. */
  always: Fault | undefined
  accounts: ServedAccounts
  slot: number
  /** Slots that go by with every answer. */
  slotsPerRead: number
  stop(): Promise<void>
}

/** Starts a double; knows `getMultipleAccounts` with base64 and `minContextSlot`, and `getSlot`. */
export function startSolanaDouble(
  options: { readonly accounts?: ServedAccounts; readonly slot?: number; readonly port?: number } = {},
): SolanaDouble {
  const server = Bun.serve({ port: options.port ?? 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: handle })
  const double: SolanaDouble = {
    url: `http://127.0.0.1:${server.port}/?api-key=solana-secret`,
    seen: [],
    faults: [],
    always: undefined,
    accounts: options.accounts ?? {},
    slot: options.slot ?? 1000,
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

  function honest(query: Query): unknown {
    const { id, method, addresses, minContextSlot } = query
    const error = (code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } })
    if (minContextSlot > double.slot) return error(-32016, 'Minimum context slot has not been reached')
    if (method === 'getSlot') return { jsonrpc: '2.0', id, result: double.slot }
    if (method !== 'getMultipleAccounts') return error(-32601, 'Method not found')
    if (addresses.length > 100) return error(-32602, 'Too many inputs provided; max 100')
    return { jsonrpc: '2.0', id, result: { context: { slot: double.slot }, value: addresses.map(presented) } }
  }

  function presented(address: string): unknown {
    const account = double.accounts[address]
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
