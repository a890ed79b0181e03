/**
 * An endpoint some milliseconds away that never works: what it forwarded once it remembers, so that a burst measures
 * who asks and not the node that answers. One command a line on stdin, one line of JSON back.
 */

interface RpcCall {
  readonly id: unknown
  readonly method: string
  readonly params?: unknown
}

/** What the proxy is told: how long its answers take from now on. */
export interface FarCommand {
  readonly delayMs: number
}

/** What it says to every command: HTTP requests since the one before. */
export interface FarCounts {
  readonly requests: number
}

const TARGET = process.env['BENCH_TARGET'] ?? ''
/** Requests that it works on at a time; the others wait in line. 0: any number. */
const SLOTS = Number(process.env['BENCH_SLOTS'] ?? 0)
/** The longest range of logs that it takes. 0: any. */
const LOGS_CAP = Number(process.env['BENCH_LOGS_CAP'] ?? 0)
const remembered = new Map<string, unknown>()
const waiting: (() => void)[] = []
let delayMs = 0
let requests = 0
let running = 0

const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: answer })
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }))

for await (const line of console) {
  if (line === '') continue
  console.log(JSON.stringify({ requests } satisfies FarCounts))
  delayMs = (JSON.parse(line) as FarCommand).delayMs
  requests = 0
}

async function answer(request: Request): Promise<Response> {
  const body = (await request.json()) as RpcCall | readonly RpcCall[]
  requests += 1
  const asked = Array.isArray(body) ? (body as readonly RpcCall[]) : [body as RpcCall]
  const answers = await inSlot(async () => {
    const [replies] = await Promise.all([Promise.all(asked.map(reply)), delayMs > 0 ? Bun.sleep(delayMs) : undefined])
    return replies
  })
  return Response.json(Array.isArray(body) ? answers : answers[0])
}

async function inSlot<T>(task: () => Promise<T>): Promise<T> {
  if (SLOTS > 0 && running >= SLOTS) await new Promise<void>((resolve) => waiting.push(resolve))
  else running++
  try {
    return await task()
  } finally {
    const next = waiting.shift()
    // Whoever waits takes over the slot.
    if (next === undefined) running--
    else next()
  }
}

async function reply({ id, method, params }: RpcCall): Promise<unknown> {
  if (LOGS_CAP > 0 && method === 'eth_getLogs') {
    const [{ fromBlock, toBlock }] = params as [{ readonly fromBlock: string; readonly toBlock: string }]
    const isLong = Number(toBlock) - Number(fromBlock) >= LOGS_CAP
    const message = `eth_getLogs is limited to a range of ${LOGS_CAP} blocks`
    if (isLong) return { jsonrpc: '2.0', id, error: { code: -32600, message } }
  }
  const key = `${method} ${JSON.stringify(params)}`
  let result = remembered.get(key)
  if (result === undefined) {
    result = await forward({ id: 1, method, params })
    remembered.set(key, result)
  }
  return { jsonrpc: '2.0', id, result }
}

async function forward(call: RpcCall): Promise<unknown> {
  const response = await fetch(TARGET, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', ...call }),
  })
  const { result } = (await response.json()) as { readonly result?: unknown }
  if (result === undefined) throw new Error(`Cannot remember ${call.method}: the node answered an error`)
  return result
}
