import type { AdapterRequestContext } from '@hattip/core'
import { parseTarget } from '../request/target.ts'
import type { App } from './app.ts'
import { formatServerUrl, type ListeningServer } from './listening.ts'

/**
 * Seconds without a byte after which a connection is closed, so that slow senders cannot hold it. Bun counts the time
 * of the work too, so this exceeds the longest budget of a route.
 */
const IDLE_TIMEOUT_SEC = 35
/**
 * Out of reach, because Bun answers an empty 413 at its own limit. The app refuses larger bodies before they are read,
 * its answer closes the connection, and Bun stops receiving.
 */
const BODY_BYTES_UNREACHED = 2 ** 40

/** Serves the app by `Bun.serve`; port 0 takes a free one. Several processes may open a `shared` port. */
export function serveBun(
  app: Pick<App, 'handler'>,
  options: { readonly port: number; readonly host: string; readonly shared?: boolean },
): ListeningServer {
  function answer(request: Request, server: Bun.Server<undefined>): Response | Promise<Response> {
    // The app refuses an empty URL: a target that normalization has changed must not reach another path.
    if (isPathAltered(request)) Object.defineProperty(request, 'url', { value: '' })
    return app.handler(new BunContext(request, server))
  }

  const server = Bun.serve({
    port: options.port,
    hostname: options.host,
    idleTimeout: IDLE_TIMEOUT_SEC,
    maxRequestBodySize: BODY_BYTES_UNREACHED,
    // Otherwise a second service could open the same port, and the system would split the requests between both.
    reusePort: options.shared ?? false,
    development: false,
    routes: Object.fromEntries(segmentPatterns().map((pattern) => [pattern, answer])),
    fetch: answer,
    // The app never rejects; this handles failures around it.
    error: () => new Response(null, { status: 500 }),
  })
  const port = server.port ?? options.port
  return {
    port,
    url: formatServerUrl(options.host, port),
    stop: () => server.stop(),
    closeIdle: () => void server.closeIdleConnections(),
  }
}

const PLATFORM = { name: 'bun' }

/** A request in Hattip's form. A class, because a literal would allocate five functions for each request. */
class BunContext implements AdapterRequestContext {
  readonly request: Request
  readonly platform = PLATFORM
  readonly #server: Bun.Server<undefined>

  constructor(request: Request, server: Bun.Server<undefined>) {
    this.request = request
    this.#server = server
  }

  get ip(): string {
    return this.#server.requestIP(this.request)?.address ?? ''
  }

  env(): undefined {
    return undefined
  }

  passThrough(): void {}

  waitUntil(): void {}
}

/** Most segments of a path that are compared; no route is nearly as deep. */
const SEGMENTS_MAX = 16

/**
 * Returns patterns for `Bun.serve` that match every path of 1 to 16 segments. `Request.url` is normalized:
 * `/v1/..\metrics` becomes `/metrics`. Bun's router matches the path as it was sent, and passes its segments on.
 */
function segmentPatterns(): readonly string[] {
  return Array.from({ length: SEGMENTS_MAX }, (_, last) =>
    Array.from({ length: last + 1 }, (_, index) => `/:s${index}`).join(''),
  )
}

/** True if normalization has changed the path that was sent; `params` are its segments, if a pattern fits. */
function isPathAltered({ url, params }: Request & { readonly params?: Readonly<Record<string, string>> }): boolean {
  const path = parseTarget(url)?.path
  // The app refuses such a target.
  if (path === undefined) return false
  if (params === undefined) {
    const segments = path.slice(1).split('/')
    // No pattern matches an empty segment or too deep a path. Any other path has lost segments by normalization.
    return !segments.includes('') && segments.length <= SEGMENTS_MAX
  }
  // Without lists, because every request runs this. `at` is the start of a segment.
  let at = 1
  for (const name in params) {
    const sent = params[name] ?? ''
    if (at > path.length) return true
    const slash = path.indexOf('/', at)
    const end = slash < 0 ? path.length : slash
    // Compared in place: nearly every segment is as it was sent.
    const isSame = sent.length === end - at && path.startsWith(sent, at)
    if (!isSame && isOther(sent, path.slice(at, end))) return true
    at = end + 1
  }
  return at <= path.length
}

/** True if segments differ. `sent` is decoded: its backslash was `%5c`, which stays, or a real one, now a separator. */
function isOther(sent: string, segment: string): boolean {
  if (sent === '.' || sent === '..') return true
  return sent.split('\\').length !== segment.split(/%5c/i).length
}
