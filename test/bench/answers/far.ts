/**
 * An endpoint some milliseconds away that never works: what it forwarded once it remembers, so that a burst measures
 * who asks and not the node that answers. One command a line on stdin, one line of JSON back.
 */

interface RpcCall {
  readonly id: unknown
  readonly method: string
  readonly params?: unknown
}

/** Command of the proxy: how long its answers take from now on. */
export interface FarCommand {
  readonly delayMs: number
  /** True if there is a new block: what it remembers of the newest one is of an older one. */
  readonly forgetsLatest?: boolean
}

/** Reply to every command: HTTP requests since the previous command. */
export interface FarCounts {
  readonly requests: number
  /** Those of them for the header of the newest block. */
  readonly looks: number
  /** Bytes of the bodies: of all requests, and of all answers. */
  readonly sentBytes: number
  readonly answeredBytes: number
}

const TARGET = process.env['BENCH_TARGET'] ?? ''
/** Requests that it works on at a time; the others wait in line. 0: any number. */
const SLOTS = Number(process.env['BENCH_SLOTS'] ?? 0)
/** The longest range of logs that it takes. 0: any. */
const LOGS_CAP = Number(process.env['BENCH_LOGS_CAP'] ?? 0)
/** Text of results, by what was asked. */
const remembered = new Map<string, string>()
/** Counts up when it forgets: what was asked before is not remembered after. */
let generation = 0
const waiting: (() => void)[] = []
let delayMs = 0
let requests = 0
let looks = 0
let sentBytes = 0
let answeredBytes = 0
let running = 0

const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: answer })
console.log(JSON.stringify({ url: `http://127.0.0.1:${server.port}` }))

for await (const line of console) {
  if (line === '') continue
  console.log(JSON.stringify({ requests, looks, sentBytes, answeredBytes } satisfies FarCounts))
  const command = JSON.parse(line) as FarCommand
  delayMs = command.delayMs
  if (command.forgetsLatest === true) forgetLatest()
  requests = 0
  looks = 0
  sentBytes = 0
  answeredBytes = 0
}

function forgetLatest(): void {
  generation++
  for (const key of remembered.keys()) if (key.includes('"latest"')) remembered.delete(key)
}

async function answer(request: Request): Promise<Response> {
  const text = await request.text()
  requests += 1
  if (text.includes('"eth_getBlockByNumber","params":["latest"')) looks += 1
  sentBytes += text.length
  const replies = await inSlot(async () => {
    const [found] = await Promise.all([replyTo(text), delayMs > 0 ? Bun.sleep(delayMs) : undefined])
    return found
  })
  answeredBytes += replies.length
  return new Response(replies, { headers: { 'content-type': 'application/json' } })
}

/** Compares text with text: many callers would otherwise wait for one another's JSON. */
async function replyTo(text: string): Promise<string> {
  const [, id] = /"id":(\d+)/.exec(text) ?? []
  const key = text.replace(`"id":${id}`, '"id":0')
  const result = id === undefined || text.startsWith('[') ? undefined : remembered.get(key)
  if (result !== undefined) return `{"jsonrpc":"2.0","id":${id},"result":${result}}`
  const body = JSON.parse(text) as RpcCall | readonly RpcCall[]
  const before = generation
  if (Array.isArray(body)) return JSON.stringify(await Promise.all(body.map(reply)))
  const said = await reply(body as RpcCall)
  if ('result' in said && generation === before) remembered.set(key, JSON.stringify(said.result))
  return JSON.stringify(said)
}

async function inSlot<T>(task: () => Promise<T>): Promise<T> {
  if (SLOTS > 0 && running >= SLOTS) await new Promise<void>((resolve) => waiting.push(resolve))
  else running++
  try {
    return await task()
  } finally {
    const next = waiting.shift()
    // The next waiting request gets the slot.
    if (next === undefined) running--
    else next()
  }
}

async function reply({ id, method, params }: RpcCall): Promise<object> {
  if (LOGS_CAP > 0 && method === 'eth_getLogs') {
    const [{ fromBlock, toBlock }] = params as [{ readonly fromBlock: string; readonly toBlock: string }]
    const isLong = Number(toBlock) - Number(fromBlock) >= LOGS_CAP
    const message = `eth_getLogs is limited to a range of ${LOGS_CAP} blocks`
    if (isLong) return { jsonrpc: '2.0', id, error: { code: -32600, message } }
  }
  const key = `${method} ${JSON.stringify(params)}`
  const known = remembered.get(key)
  if (known !== undefined) return { jsonrpc: '2.0', id, result: JSON.parse(known) }
  const before = generation
  const said = await forward({ id: 1, method, params })
  if (said.result !== undefined && generation === before) remembered.set(key, JSON.stringify(said.result))
  return { ...said, id }
}

/** The node's answer; failures are not cached. */
async function forward(call: RpcCall): Promise<{ readonly result?: unknown }> {
  const response = await fetch(TARGET, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', ...call }),
  })
  return (await response.json()) as { readonly result?: unknown }
}
