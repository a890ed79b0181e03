// First, before any other module creates a Response: string bodies then bypass streams, which doubles the speed.
import '@hattip/adapter-node/fast-fetch'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRequestAdapter } from '@hattip/adapter-node/request'
import { sendResponse } from '@hattip/adapter-node/response'
import { type Clock, repeat } from '../../lib/clock.ts'
import { isNormalizedPath } from '../request/target.ts'
import { findSharedBytes } from '../respond.ts'
import type { App } from './app.ts'
import { formatServerUrl, type ListeningServer } from './listening.ts'

/** A fixed origin: the adapter would build a URL from the Host header and throw if that is invalid. */
const ORIGIN = 'http://walletscope.invalid'
/** Bun's limits, so that both runtimes answer the same. Bun accepts 200 lines in a head, two of them no headers. */
const HEADER_BYTES_MAX = 16 * 1024
const HEADERS_MAX = 198
const HEADERS_TIMEOUT_MS = 10_000
const REQUEST_TIMEOUT_MS = 15_000
const KEEP_ALIVE_MS = 10_000
/** How often a closing server closes connections that have become idle. */
const IDLE_SWEEP_MS = 100
/** The one method that Node's parser accepts and `Request` refuses. */
const UNSUPPORTED = 'TRACE'

/** Serves the app by Hattip's Node adapter, on Node's own http server; port 0 takes a free one. */
export async function serveNode(
  app: Pick<App, 'handler'>,
  options: { readonly port: number; readonly host: string; readonly clock: Clock },
): Promise<ListeningServer> {
  const adapt = createRequestAdapter({ origin: ORIGIN, trustProxy: false })

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const refused = findRefusedStatus(incoming)
    if (refused !== undefined) return void outgoing.writeHead(refused, { connection: 'close' }).end()
    try {
      const [request, ip] = adaptAny(adapt, incoming, outgoing)
      const response = await app.handler({
        request,
        ip,
        platform: { name: 'node' },
        env: () => undefined,
        passThrough: () => {},
        waitUntil: () => {},
      })
      const shared = findSharedBytes(response)
      if (incoming.method === 'HEAD' || response.status === 204) await sendHead(outgoing, response)
      else if (shared !== undefined)
        outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(shared)
      else await sendResponse(incoming, outgoing, response)
    } catch {
      // The app never rejects: the connection has failed.
      outgoing.destroy()
    }
  }

  const server = createServer(
    {
      requireHostHeader: false,
      joinDuplicateHeaders: true,
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    answer,
  )
  // Node silently drops headers beyond its own limit. Without that limit, `findRefusedStatus` refuses too many.
  server.maxHeadersCount = 0
  // Expectations other than 100-continue are ignored, as on Bun; Node would answer 417.
  server.on('checkExpectation', answer)
  server.listen(options.port, options.host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: formatServerUrl(options.host, port),
    stop: () => stop(server, options.clock),
    closeIdle: () => server.closeIdleConnections(),
  }
}

/** Finds the status of a head that Bun answers with a bare status. */
function findRefusedStatus({ rawHeaders, httpVersion }: IncomingMessage): 431 | 505 | undefined {
  if (rawHeaders.length / 2 > HEADERS_MAX) return 431
  return httpVersion === '1.1' || httpVersion === '1.0' ? undefined : 505
}

/**
 * Converts a request to the app's form. The adapter would throw on a target that is not a normalized path and on TRACE.
 * Such a target becomes an empty URL, which the app refuses; TRACE keeps its name.
 */
function adaptAny(
  adapt: ReturnType<typeof createRequestAdapter>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): [Request, string] {
  const isUnsupported = incoming.method === UNSUPPORTED
  const path = parsePath(incoming.url ?? '')
  incoming.url = path ?? '/'
  if (isUnsupported) incoming.method = 'OPTIONS'
  const [request, ip] = adapt(incoming, outgoing)
  if (isUnsupported) Object.defineProperty(request, 'method', { value: UNSUPPORTED })
  if (path === undefined) Object.defineProperty(request, 'url', { value: '' })
  Object.defineProperty(request, 'signal', { value: createLeaveSignal(outgoing) })
  return [request, ip]
}

/**
 * Creates a signal that fires when the connection closes before the answer is sent. The adapter's own signal fires as
 * soon as a body has been read, because Node then closes the incoming message.
 */
function createLeaveSignal(outgoing: ServerResponse): AbortSignal {
  const controller = new AbortController()
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) controller.abort()
  })
  return controller.signal
}

/** Parses path and query of an origin-form or absolute-form target; undefined if a URL parser would change the path. */
function parsePath(target: string): string | undefined {
  const authority = /^https?:\/\/[^/?#\\]*/i.exec(target)?.[0] ?? ''
  const rest = target.slice(authority.length)
  if (authority === '' && !rest.startsWith('/')) return undefined
  const whole = rest.startsWith('/') ? rest : `/${rest}`
  return isNormalizedPath(whole.split(/[?#]/, 1)[0] ?? '') ? whole : undefined
}

/** Sends an answer without a body: the adapter would send HEAD without a length, and 204 with one. */
async function sendHead(outgoing: ServerResponse, response: Response): Promise<void> {
  const headers = Object.fromEntries(response.headers)
  if (response.status !== 204) headers['content-length'] ??= String((await response.arrayBuffer()).byteLength)
  outgoing.writeHead(response.status, headers).end()
}

async function stop(server: ReturnType<typeof createServer>, clock: Clock): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  // Connections that become idle after close() would stay open until their keep-alive ends.
  const stopSweeps = repeat(clock, IDLE_SWEEP_MS, () => server.closeIdleConnections())
  server.closeIdleConnections()
  await closed
  stopSweeps()
}
