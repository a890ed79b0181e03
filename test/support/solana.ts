import { base58 } from '@scure/base'
import { KLEND, type ServedAccount, type ServedAccounts } from './kamino.ts'
import { settle } from './test_clock.ts'

/** The account in which every cluster keeps its clock, and who owns it. */
export const CLOCK = 'SysvarC1ock11111111111111111111111111111111'
/** Requests that arrive within this time of each other were sent at once. */
const SILENCE_MS = 10
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
  /** The honest reply as another text. */
  | { readonly kind: 'text'; readonly change: (reply: unknown) => string }
  | { readonly kind: 'hang' }
  /** The honest reply after a while. */
  | { readonly kind: 'late'; readonly ms: number }
  | { readonly kind: 'cut' }
  | { readonly kind: 'endless' }

interface Reply {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result: { readonly context: { readonly slot: number }; readonly value: readonly unknown[] }
}

/** One request that the double has seen. */
export interface SeenCall {
  readonly method: string
  /** Accounts to read; the wallet or the program of a search. */
  readonly addresses: readonly string[]
  /** What a search is narrowed by. */
  readonly filter: unknown
  readonly minContextSlot: number | undefined
  readonly atMs: number
  /** When it was answered. */
  endMs?: number
  /** True once the client no longer waits for the answer. */
  isLeft?: boolean
}

/** A Solana RPC endpoint on loopback that serves accounts from memory and fails on demand. */
export interface SolanaDouble {
  readonly url: string
  readonly seen: SeenCall[]
  /** Faults of the next requests, first in, first out; when used up, the double answers honestly. */
  readonly faults: Fault[]
  /** Fault of every request, after those of `faults`. */
  always: Fault | undefined
  /** Faults of every request of a method, before those of `faults`. */
  readonly ofMethod: Map<string, Fault>
  /** As they stand, or as they stand at a slot. */
  accounts: ServedAccounts | ((slot: number) => ServedAccounts)
  slot: number
  /** What the cluster's clock shows, Unix seconds; the real time if undefined. */
  clockSec: number | undefined
  /** The slot that the clock's account names; that of the answer if undefined. */
  clockSlot: number | undefined
  /** How long each answer takes, milliseconds. */
  latencyMs: number
  /** True if requests that a client sends at once are answered at once, so that they count as one in a row. */
  answersTogether: boolean
  /** Slots that go by with every answer. */
  slotsPerRead: number
  /** Lets time pass with every request, on a clock of the test. */
  pass: (() => void) | undefined
  /** Of so many requests the last gets 429. */
  refusedEvery: number | undefined
  stop(): Promise<void>
}

/**
 * Starts a test double with `getMultipleAccounts`, `getTokenAccountsByOwner`, `getProgramAccounts` (base64,
 * `minContextSlot`, `dataSlice`, `dataSize`, `memcmp`) and `getSlot`.
 */
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
  let silence: Promise<void> | undefined
  const server = Bun.serve({ port: options.port ?? 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: handle })
  const double: SolanaDouble = {
    url: `http://127.0.0.1:${server.port}/?api-key=solana-secret`,
    seen: [],
    faults: [],
    always: undefined,
    ofMethod: new Map(),
    accounts: options.accounts ?? {},
    slot: options.slot ?? 1000,
    clockSec: undefined,
    clockSlot: undefined,
    latencyMs: 0,
    answersTogether: false,
    slotsPerRead: 0,
    pass: undefined,
    refusedEvery: undefined,
    stop: () => server.stop(true),
  }

  async function handle(request: Request): Promise<Response> {
    const { id, method, params = [] } = (await request.json()) as RpcRequest
    const [first, ...rest] = params
    const config = (rest.at(-1) ?? {}) as Config
    const addresses = (Array.isArray(first) ? first : [first]) as readonly string[]
    const filter = method === 'getTokenAccountsByOwner' ? rest[0] : config.filters
    const { minContextSlot } = config
    const seen: SeenCall = { method, addresses, minContextSlot, atMs: performance.now(), filter }
    double.seen.push(seen)
    request.signal.addEventListener('abort', () => Object.assign(seen, { isLeft: true }))
    double.pass?.()
    if (double.refusedEvery !== undefined && double.seen.length % double.refusedEvery === 0) {
      return new Response('upstream text', { status: 429 })
    }
    const fault = double.ofMethod.get(method) ?? double.faults.shift() ?? double.always
    const reply = honest({ id, method, addresses, filter, config })
    double.slot += double.slotsPerRead
    if (double.latencyMs > 0) await Bun.sleep(double.latencyMs)
    if (double.answersTogether) {
      silence ??= waitForSilence()
      await silence
    }
    seen.endMs = performance.now()
    return fault === undefined ? Response.json(reply) : faulty(fault, { reply, id })
  }

  /** Waits until no further request arrives, also on a machine that was busy elsewhere for a while. */
  async function waitForSilence(): Promise<void> {
    for (let count = -1; count !== double.seen.length; ) {
      count = double.seen.length
      await Bun.sleep(SILENCE_MS)
      await settle()
    }
    silence = undefined
  }

  function slotNow(): number {
    const { slotMs } = options
    return double.slot + (slotMs === undefined ? 0 : Math.floor((performance.now() - startedMs) / slotMs))
  }

  function honest(query: Query): unknown {
    const { id, method, addresses, config } = query
    const slot = slotNow()
    const error = (code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } })
    if ((config.minContextSlot ?? 0) > slot) return error(-32016, 'Minimum context slot has not been reached')
    if (method === 'getSlot') return { jsonrpc: '2.0', id, result: slot }
    if (addresses.length > 100) return error(-32602, 'Too many inputs provided; max 100')
    const accounts = typeof double.accounts === 'function' ? double.accounts(slot) : double.accounts
    const all: ServedAccounts = { [CLOCK]: clockAccount(slot), ...accounts }
    const answer = (value: unknown) => ({ jsonrpc: '2.0', id, result: { context: { slot }, value } })
    const found = (isFound: (account: ServedAccount) => boolean) =>
      answer(
        Object.entries(all)
          .filter(([, account]) => isFound(account))
          .map(([pubkey, account]) => ({ pubkey, account: presented(account, config.dataSlice) })),
      )
    const [wanted = ''] = addresses
    switch (method) {
      case 'getMultipleAccounts':
        return answer(addresses.map((each) => presented(all[each], config.dataSlice)))
      case 'getTokenAccountsByOwner': {
        const filter = query.filter as { readonly mint?: string; readonly programId?: string }
        if (filter.mint !== undefined && all[filter.mint] === undefined) return error(-32602, 'could not find mint')
        return found(isTokenAccount({ wallet: wanted, ...filter }))
      }
      case 'getProgramAccounts': {
        const filters = (config.filters ?? []).map(fits)
        return found((account) => account.owner === wanted && filters.every((isFit) => isFit(account)))
      }
      default:
        return error(-32601, 'Method not found')
    }
  }

  function clockAccount(slot: number): ServedAccount {
    const unixSec = double.clockSec ?? Math.floor(Date.now() / 1000)
    return { owner: SYSVAR, data: clockBytes({ slot: double.clockSlot ?? slot, unixSec }) }
  }

  function presented(account: ServedAccount | undefined, slice?: Slice): unknown {
    if (account === undefined) return null
    const { data, owner = KLEND, lamports = 1_000_000n } = account
    const shown = slice === undefined ? data : data.subarray(slice.offset, slice.offset + slice.length)
    return {
      data: [Buffer.from(shown).toString('base64'), 'base64'],
      executable: false,
      lamports: Number(lamports),
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
  readonly params?: readonly unknown[]
}

interface Slice {
  readonly offset: number
  readonly length: number
}

type Filter = { readonly dataSize: number } | { readonly memcmp: { readonly offset: number; readonly bytes: string } }

interface Config {
  readonly minContextSlot?: number
  readonly dataSlice?: Slice
  readonly filters?: readonly Filter[]
}

interface Query {
  readonly id: unknown
  readonly method: string
  readonly addresses: readonly string[]
  readonly filter: unknown
  readonly config: Config
}

/** As a node's index has it: by the owner, and by the mint or the program. */
function isTokenAccount(asked: { readonly wallet: string; readonly mint?: string; readonly programId?: string }) {
  const wallet = base58.decode(asked.wallet)
  const mint = asked.mint === undefined ? undefined : base58.decode(asked.mint)
  return ({ owner, data }: ServedAccount): boolean => {
    const isAccount = owner.startsWith('Token') && data.length >= 165 && (data.length === 165 || data[165] === 2)
    if (!isAccount || Buffer.compare(data.subarray(32, 64), wallet) !== 0) return false
    return mint === undefined ? owner === asked.programId : Buffer.compare(data.subarray(0, 32), mint) === 0
  }
}

function fits(filter: Filter): (account: ServedAccount) => boolean {
  if ('dataSize' in filter) return ({ data }) => data.length === filter.dataSize
  const { offset } = filter.memcmp
  const bytes = base58.decode(filter.memcmp.bytes)
  return ({ data }) => Buffer.compare(data.subarray(offset, offset + bytes.length), bytes) === 0
}

async function faulty(
  fault: Fault,
  { reply, id }: { readonly reply: unknown; readonly id: unknown },
): Promise<Response> {
  switch (fault.kind) {
    case 'http':
      return new Response(fault.body ?? 'upstream text that must stay hidden', {
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
    case 'text':
      return new Response(fault.change(reply), { headers: { 'content-type': 'application/json' } })
    case 'late':
      await Bun.sleep(fault.ms)
      return Response.json(reply)
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

/** How many requests waited for each other: the longest row of them in which each began after the one before ended. */
export function countSequentialRequests({ seen }: Pick<SolanaDouble, 'seen'>): number {
  const depths: number[] = []
  for (const { atMs } of seen) {
    const before = depths.filter((_, index) => (seen[index]?.endMs ?? Number.POSITIVE_INFINITY) <= atMs)
    depths.push(1 + Math.max(0, ...before))
  }
  return Math.max(0, ...depths)
}
