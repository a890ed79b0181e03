import type { AdapterRequestContext } from '@hattip/core'
import type { App } from './app.ts'
import { isPathAltered, segmentPatterns } from './bun_target.ts'
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
