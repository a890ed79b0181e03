import type { AdapterRequestContext } from '@hattip/core'
import type { App } from './app.ts'
import { isPathAltered, segmentPatterns } from './bun_target.ts'
import { formatServerUrl, type ListeningServer } from './listening.ts'

/**
 * Seconds without a byte after which a connection is closed, so that slow senders cannot hold them. Bun counts those in
 * which an answer is being made, so it is more than the longest budget of a route.
 */
const IDLE_TIMEOUT_SEC = 35
/**
 * Bun's own limit answers with an empty 413, so it is set out of reach. The app refuses larger bodies before they are
 * read, its answer closes the connection, and Bun stops receiving.
 */
const BODY_BYTES_UNREACHED = 2 ** 40

/** Serves the app by `Bun.serve`; port 0 takes a free one. A `shared` port is opened by others too, who get their part. */
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
    // With it a second service could take the same port, and the system would split the requests between both.
    reusePort: options.shared ?? false,
    development: false,
    routes: Object.fromEntries(segmentPatterns().map((pattern) => [pattern, answer])),
    fetch: answer,
    // The app never rejects; this is for failures around it.
    error: () => new Response(null, { status: 500 }),
  })
  const port = server.port ?? options.port
  return { port, url: formatServerUrl(options.host, port), stop: () => server.stop() }
}

const PLATFORM = { name: 'bun' }

/** A request as Hattip wants it. A class, because a literal would make five functions for each request. */
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
