import type { Socket } from 'bun'

/** One request, sent with each of its keys in turn. */
export interface LoadRequest {
  /** @default GET, POST with a body */
  readonly method?: 'HEAD'
  readonly path: string
  /** JSON to send by POST. */
  readonly body?: string
  /** Lines of the head, without their ends. */
  readonly headers?: readonly string[]
  /** Bearer tokens; none sends the request without `Authorization`. */
  readonly keys: readonly string[]
}

/**
 * One burst of load. In a closed loop every connection sends its next request when the answer to the last has come; in an
 * open one requests come when they come, and wait for a connection that is free.
 */
export interface LoadJob extends LoadRequest {
  readonly port: number
  /** Further requests: all are sent in turn, each with its keys in turn. */
  readonly others?: readonly LoadRequest[]
  readonly connections: number
  readonly durationMs: number
  /** Requests of an open loop a second, as a Poisson process; absent: a closed loop. */
  readonly perSecond?: number
}

/** What one burst saw. Latencies in milliseconds, to 10 µs, in an open loop from when a request came. */
export interface LoadResult {
  /** Answers within the duration, and the milliseconds that it really took. */
  readonly answers: number
  readonly elapsedMs: number
  /** All answers by status, those after the duration included, so that charges can be reconciled. */
  readonly statuses: Readonly<Record<string, number>>
  /** Connections that broke before their answer came. */
  readonly broken: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

interface Connection {
  sentAtUs: number
  /** True if the answer has no body, whatever length it tells. */
  isHead: boolean
  rest: Buffer | undefined
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LENGTH_NAME = Buffer.from('ontent-')
const DRAIN_MS = 10_000
const BIN_US = 10
const BINS = 200_000

/** Offers one burst from this process over raw sockets, so that nothing but the bytes costs time. */
export async function offerLoad(job: LoadJob): Promise<LoadResult> {
  const requests = [job, ...(job.others ?? [])].map((request) => ({
    texts: (request.keys.length === 0 ? [undefined] : request.keys).map((key) => requestBytes(request, key)),
    isHead: request.method === 'HEAD',
  }))
  const bins = new Uint32Array(BINS)
  const statuses = new Map<number, number>()
  let turn = 0
  let answers = 0
  let broken = 0
  let open = 0
  let stopped = false
  const { promise: drained, resolve: drain } = Promise.withResolvers<void>()

  const { perSecond } = job
  const free: Socket<Connection>[] = []
  /** When requests came that wait. */
  const came: number[] = []
  const send = (socket: Socket<Connection>, cameAtUs = nowUs()) => {
    socket.data.sentAtUs = cameAtUs
    const request = requests[turn % requests.length]
    const bytes = request?.texts[Math.floor(turn / requests.length) % request.texts.length]
    turn += 1
    if (request === undefined || bytes === undefined) return
    socket.data.isHead = request.isHead
    socket.write(bytes)
  }
  const close = (socket: Socket<Connection>) => {
    socket.data.sentAtUs = 0
    socket.end()
    open -= 1
    if (open === 0) drain()
  }
  const handler = {
    data(socket: Socket<Connection>, chunk: Buffer) {
      const bytes = socket.data.rest === undefined ? chunk : Buffer.concat([socket.data.rest, chunk])
      const length = socket.data.isHead ? headLength(bytes) : answerLength(bytes)
      if (length === undefined || bytes.length < length) {
        socket.data.rest = Buffer.from(bytes)
        return
      }
      socket.data.rest = undefined
      const status = parseStatus(bytes)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (stopped) return close(socket)
      const bin = Math.min(BINS - 1, Math.floor((nowUs() - socket.data.sentAtUs) / BIN_US))
      bins[bin] = (bins[bin] ?? 0) + 1
      answers += 1
      if (perSecond === undefined) return send(socket)
      const cameAtUs = came.shift()
      if (cameAtUs !== undefined) return send(socket, cameAtUs)
      socket.data.sentAtUs = 0
      free.push(socket)
    },
    close(socket: Socket<Connection>) {
      if (socket.data.sentAtUs === 0) return
      broken += 1
      open -= 1
      if (open === 0) drain()
    },
    error() {},
  }

  const sockets = await Promise.all(
    Array.from({ length: job.connections }, () =>
      Bun.connect<Connection>({
        hostname: '127.0.0.1',
        port: job.port,
        data: { sentAtUs: 0, isHead: false, rest: undefined },
        socket: handler,
      }),
    ),
  )
  open = sockets.length
  const startUs = nowUs()
  if (perSecond === undefined) for (const socket of sockets) send(socket)
  else free.push(...sockets)
  const endUs = startUs + job.durationMs * 1000
  for (let nextUs = startUs; nowUs() < endUs; ) {
    for (; perSecond !== undefined && nextUs <= nowUs(); nextUs -= (Math.log(1 - Math.random()) / perSecond) * 1e6) {
      // In turn, because a server closes connections that are idle for long.
      const socket = free.shift()
      if (socket === undefined) came.push(nextUs)
      else send(socket, nextUs)
    }
    await Bun.sleep(perSecond === undefined ? job.durationMs : 1)
  }
  stopped = true
  for (const socket of free) close(socket)
  const elapsedMs = (nowUs() - startUs) / 1000
  await Promise.race([drained, Bun.sleep(DRAIN_MS)])
  for (const socket of sockets) if (socket.data.sentAtUs !== 0) socket.terminate()

  return {
    answers,
    elapsedMs,
    statuses: Object.fromEntries(statuses),
    broken: broken + open,
    p50Ms: percentile(bins, answers, 0.5),
    p99Ms: percentile(bins, answers, 0.99),
    maxMs: percentile(bins, answers, 1),
  }
}

function requestBytes({ path, body, method: asked, headers = [] }: LoadRequest, key: string | undefined): Buffer {
  const method = asked ?? (body === undefined ? 'GET' : 'POST')
  const authorization = key === undefined ? '' : `Authorization: Bearer ${key}\r\n`
  const type =
    body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
  const more = headers.map((line) => `${line}\r\n`).join('')
  return Buffer.from(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}${more}${type}\r\n${body ?? ''}`)
}

function nowUs(): number {
  return Bun.nanoseconds() / 1000
}

/** Status from `HTTP/1.1 200`, read as digits because a decoded string would cost more than the rest of the loop. */
function parseStatus(bytes: Buffer): number {
  return digit(bytes, 9) * 100 + digit(bytes, 10) * 10 + digit(bytes, 11)
}

function digit(bytes: Buffer, index: number): number {
  return (bytes[index] ?? 48) - 48
}

function headLength(bytes: Buffer): number | undefined {
  const headEnd = bytes.indexOf(HEAD_END)
  return headEnd < 0 ? undefined : headEnd + HEAD_END.length
}

/** Length of head and body; undefined while the head is incomplete. Throws without a `Content-Length`. */
function answerLength(bytes: Buffer): number | undefined {
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd < 0) return undefined
  for (let at = bytes.indexOf(LENGTH_NAME); at >= 0 && at < headEnd; at = bytes.indexOf(LENGTH_NAME, at + 1)) {
    if ((bytes[at + 7] ?? 0) !== 0x6c && (bytes[at + 7] ?? 0) !== 0x4c) continue
    let length = 0
    for (let index = at + 15; (bytes[index] ?? 0) >= 48 && (bytes[index] ?? 0) <= 57; index += 1) {
      length = length * 10 + digit(bytes, index)
    }
    return headEnd + HEAD_END.length + length
  }
  throw new Error('Cannot measure an answer without Content-Length')
}

function percentile(bins: Uint32Array, total: number, share: number): number {
  let seen = 0
  for (let bin = 0; bin < bins.length; bin += 1) {
    seen += bins[bin] ?? 0
    if (seen > 0 && seen >= total * share) return (bin * BIN_US) / 1000
  }
  return 0
}

/** As a child process: one job per line on stdin, one result per line on stdout. */
if (import.meta.main) {
  for await (const line of console) {
    // The end of the input comes as an empty line.
    if (line !== '') console.log(JSON.stringify(await offerLoad(JSON.parse(line))))
  }
}
