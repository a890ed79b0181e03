import type { App } from './app.ts'
import { isAltered, segmentPatterns } from './bun_target.ts'
import { type Served, servedUrl } from './served.ts'

/** Seconds without a byte after which a connection is closed, so that slow senders cannot hold them. */
const IDLE_TIMEOUT_SEC = 10
/**
 * Bun's own limit answers with an empty 413, so it stands out of reach: larger bodies are refused by the app before
 * they are read, with an answer that closes the connection, and Bun stops receiving what nobody reads.
 */
const BODY_BYTES_UNREACHED = 2 ** 40

/** Serves the app by `Bun.serve`; port 0 takes a free one. */
export function serveBun(app: Pick<App, 'handler'>, options: { readonly port: number; readonly host: string }): Served {
  function answer(request: Request, server: Bun.Server<undefined>): Response | Promise<Response> {
    // The app refuses a target that is not a path; one that would be taken for another path is refused likewise.
    if (isAltered(request)) Object.defineProperty(request, 'url', { value: '' })
    return app.handler({
      request,
      get ip() {
        return server.requestIP(request)?.address ?? ''
      },
      platform: { name: 'bun' },
      env: () => undefined,
      passThrough: () => {},
      waitUntil: () => {},
    })
  }

  const server = Bun.serve({
    port: options.port,
    hostname: options.host,
    idleTimeout: IDLE_TIMEOUT_SEC,
    maxRequestBodySize: BODY_BYTES_UNREACHED,
    // Without it a second service would take the same port, and the system would deal the requests out to both.
    reusePort: false,
    development: false,
    routes: Object.fromEntries(segmentPatterns().map((pattern) => [pattern, answer])),
    fetch: answer,
    // The app answers every request by itself; this is for what breaks around it.
    error: () => new Response(null, { status: 500 }),
  })
  const port = server.port ?? options.port
  return { port, url: servedUrl(options.host, port), stop: () => server.stop() }
}
