import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRpc } from '../devnet/rpc.ts'

/** A JSON-RPC request as the upstream sees it. */
export interface SeenRequest {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

/** What goes wrong with one request. Everything that is not a fault is passed on to the real endpoint. */
export type Fault =
  /** Never answers. */
  | { readonly kind: 'hang' }
  /** Answers rightly, later. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Sends half of the right answer and drops the connection. */
  | { readonly kind: 'cut' }
  /** Sends the right answer one byte at a time, with a pause of `ms` after each. */
  | { readonly kind: 'drip'; readonly ms: number }
  /** Any status, body and headers. */
  | { readonly kind: 'http'; readonly status: number; readonly body: string; readonly headers?: Record<string, string> }
  /** The right envelope around this result. */
  | { readonly kind: 'result'; readonly result: unknown }
  /** The right envelope around this error. */
  | { readonly kind: 'error'; readonly error: unknown; readonly status?: number }
  /** The right answer with some members of its envelope changed; `undefined` leaves one out. */
  | { readonly kind: 'envelope'; readonly change: Readonly<Record<string, unknown>> }
  /** The right answer with another result. */
  | { readonly kind: 'change'; readonly change: (result: unknown) => unknown }
  /** Sends this many bytes of a JSON string that never ends. */
  | { readonly kind: 'flood'; readonly bytes: number }
  /** Simulates an endpoint without state overrides: ignores them, or refuses the call. */
  | { readonly kind: 'no_overrides'; readonly how: 'ignore' | 'refuse' }
  /** Refuses init code or answers above a size, as nodes do. */
  | { readonly kind: 'init_code_max'; readonly bytes: number }
  | { readonly kind: 'answer_max'; readonly bytes: number }
  /** Drops what calls revert with. */
  | { readonly kind: 'no_revert_data' }
  /** A node that has not seen the last blocks. */
  | { readonly kind: 'lag'; readonly blocks: number }
  /** Answers rightly, once this is done. */
  | { readonly kind: 'meanwhile'; readonly done: () => Promise<unknown> }

type Rule = (request: SeenRequest) => Fault | undefined

/** Endpoints that say that contracts revert, whatever they are asked. */
export const REVERTING: readonly (readonly [name: string, rule: Rule])[] = [
  ['a revert to every call', ({ method }) => (method === 'eth_call' ? revert('0x') : undefined)],
  ['a revert with a reason to every call', ({ method }) => (method === 'eth_call' ? revert('0x08c379a0') : undefined)],
  ['a revert to every question', () => revert('0x')],
]

function revert(data: string): Fault {
  return { kind: 'error', error: { code: 3, message: 'execution reverted', data } }
}

/** A real endpoint with scripted faults before it. */
export interface FaultyRpc {
  readonly url: string
  /** Everything that arrived, in order. */
  readonly seen: readonly SeenRequest[]
  /** Decides about each request; undefined passes it on. Replaces the rule before. */
  rule(decide: Rule): void
  /** How many of the requests had to wait for an earlier one: 1 if all were sent at once. */
  depth(): number
  /** Requests that wait for an answer; those whose sender has left wait no more. */
  waiting(): number
  /** Forgets what was seen; the rule stays. */
  reset(): void
  stop(): Promise<void>
}

/** Starts a proxy before `upstream` on a port of the system's choice, without any faults at first. */
export async function startFaultyRpc(upstream: string): Promise<FaultyRpc> {
  const seen: SeenRequest[] = []
  let decide: Rule = () => undefined
  let depthNow = 0
  let depthDone = 0

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const request = JSON.parse(body) as SeenRequest
    seen.push(request)
    const depth = depthDone + 1
    depthNow = Math.max(depthNow, depth)
    const fault = decide(request)
    const real = isScripted(fault) ? '' : await passOn(upstream, request, fault)
    await play(outgoing, { fault, request, real })
    depthDone = Math.max(depthDone, depth)
  }

  const waiting = new Set<ServerResponse>()
  const server = createServer((incoming, outgoing) => {
    waiting.add(outgoing)
    outgoing.once('close', () => waiting.delete(outgoing))
    answer(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    seen,
    rule(next) {
      decide = next
    },
    depth: () => depthNow,
    waiting: () => waiting.size,
    reset() {
      seen.length = 0
      depthNow = 0
      depthDone = 0
    },
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** True if nothing of the real endpoint's answer is sent: it costs that as much work as if it were. */
function isScripted(fault: Fault | undefined): boolean {
  return fault !== undefined && ['hang', 'http', 'result', 'error', 'flood'].includes(fault.kind)
}

/** The real endpoint's answer as text, after the faults that are about what a node can do. */
async function passOn(upstream: string, request: SeenRequest, fault: Fault | undefined): Promise<string> {
  const { method, params } = request
  const refusal = (code: number, message: string) =>
    JSON.stringify({ jsonrpc: '2.0', id: request.id, error: { code, message } })
  let sent: SeenRequest = request
  if (fault?.kind === 'meanwhile') await fault.done()
  if (fault?.kind === 'lag') {
    const params = await paramsOfLate(upstream, request, fault.blocks)
    if (params === undefined) return refusal(-32000, 'header not found')
    sent = { ...request, params }
  }
  if (fault?.kind === 'no_overrides' && method === 'eth_call' && params.length > 2) {
    if (fault.how === 'refuse') return refusal(-32602, 'too many arguments, want at most 2')
    sent = { ...request, params: params.slice(0, 2) }
  }
  const call = (params[0] ?? {}) as { readonly to?: string; readonly data?: string }
  const initCodeBytes = call.to === undefined ? ((call.data ?? '0x').length - 2) / 2 : 0
  if (fault?.kind === 'init_code_max' && initCodeBytes > fault.bytes)
    return refusal(-32000, 'max initcode size exceeded')
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(upstream, { method: 'POST', headers, body: JSON.stringify({ jsonrpc: '2.0', ...sent }) })
  const text = await response.text()
  if (fault?.kind === 'answer_max' && text.length > fault.bytes)
    return refusal(-32008, 'Response is too big, exceeds limit')
  if (fault?.kind === 'no_revert_data' && text.includes('"code":3')) return refusal(-32000, 'execution reverted')
  return text
}

/** What a node that is `blocks` behind understands by the request; undefined for a block that it does not have. */
async function paramsOfLate(
  upstream: string,
  { method, params }: SeenRequest,
  blocks: number,
): Promise<readonly unknown[] | undefined> {
  const place = { eth_call: 1, eth_getBlockByNumber: 0 }[method]
  if (place === undefined) return params
  const rpc = createRpc(upstream)
  const head = Number(await rpc.call<string>('eth_blockNumber')) - blocks
  const at = params[place]
  if (at === 'latest') return params.with(place, `0x${head.toString(16)}`)
  const { number } =
    typeof at === 'object' && at !== null && 'blockHash' in at
      ? await rpc.call<{ readonly number: string }>('eth_getBlockByHash', at.blockHash, false)
      : { number: at }
  return Number(number) > head ? undefined : params
}

interface Scene {
  readonly fault: Fault | undefined
  readonly request: SeenRequest
  readonly real: string
}

async function play(outgoing: ServerResponse, { fault, request, real }: Scene): Promise<void> {
  const send = (text: string, status = 200, headers: Record<string, string> = {}) => {
    outgoing.writeHead(status, { 'content-type': 'application/json', ...headers })
    outgoing.end(text)
  }
  const { id } = request
  switch (fault?.kind) {
    case 'hang':
      return
    case 'delay':
      await Bun.sleep(fault.ms)
      return send(real)
    case 'cut':
      outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': String(real.length) })
      outgoing.write(real.slice(0, real.length / 2))
      await Bun.sleep(20)
      outgoing.socket?.destroy()
      return
    case 'drip':
      outgoing.writeHead(200, { 'content-type': 'application/json' })
      for (const letter of real) {
        if (outgoing.destroyed) return
        outgoing.write(letter)
        await Bun.sleep(fault.ms)
      }
      outgoing.end()
      return
    case 'http':
      return send(fault.body, fault.status, fault.headers)
    case 'result':
      return send(JSON.stringify({ jsonrpc: '2.0', id, result: fault.result }))
    case 'error':
      return send(JSON.stringify({ jsonrpc: '2.0', id, error: fault.error }), fault.status)
    case 'envelope':
      return send(JSON.stringify({ ...JSON.parse(real), ...fault.change }))
    case 'change': {
      const body = JSON.parse(real)
      return send(JSON.stringify({ ...body, result: fault.change(body.result) }))
    }
    case 'flood': {
      outgoing.writeHead(200, { 'content-type': 'application/json' })
      outgoing.write(`{"jsonrpc":"2.0","id":${id},"result":"0x`)
      const block = 'f'.repeat(65_536)
      for (let sent = 0; sent < fault.bytes && !outgoing.destroyed; sent += block.length) {
        if (!outgoing.write(block))
          await Promise.race([new Promise((resolve) => outgoing.once('drain', resolve)), Bun.sleep(50)])
      }
      outgoing.end('"}')
      return
    }
    default:
      return send(real)
  }
}

/** Starts a server that only counts who comes: redirects must never lead here. */
export async function startTrap(): Promise<{ readonly url: string; hits(): number; stop(): Promise<void> }> {
  let hits = 0
  const server = createServer((_, outgoing) => {
    hits++
    outgoing.end('{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    hits: () => hits,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
