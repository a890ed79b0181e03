import { shareReads } from '../../lib/async/cache.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Metrics } from '../../lib/metrics.ts'
import { type PreparedAnswer, successAnswer } from '../respond.ts'
import type { Page, Pages } from './html.ts'
import { createLazyPage } from './lazy.ts'
import { createOpenapiPage } from './openapi.ts'
import { createReadiness, type Probes, SHARED_MS } from './probes.ts'

/** Methods of every public page. */
export const PUBLIC_METHODS = 'GET, HEAD, OPTIONS'

/** How long requests share the text of the metrics: shorter than any interval of scrapes, so that no counter falls. */
const METRICS_SHARED_MS = 250

const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

const STOPPING = { part: 'process', reason: 'draining before shutdown' }

/** Path of the public keys of the instance. */
const KEYS_PATH = '/.well-known/walletscope-keys.json'

/** Pages that probes ask by HTTP/1.0 too, without a host. No browser does, so no site can pretend to be this service. */
export const PROBE_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

/** Content of the pages. */
export interface PageOptions {
  /** Text of the OpenAPI document, which the first request for it makes. */
  readonly openapi: () => string
  /** Text of the keys that sign receipts, if any do. */
  readonly keys?: () => Promise<string>
  readonly probes: Probes
  readonly clock: Clock
  readonly metrics: Metrics
  /** Renders the metrics of all worker processes; absent: this is the only process. */
  readonly scrape?: (() => Promise<string>) | undefined
}

/**
 * Creates `/healthz`, which answers while the process lives, `/openapi.json`, and the keys that sign receipts, if any.
 */
export function createPublicPages({ openapi, keys, clock }: Pick<PageOptions, 'openapi' | 'keys' | 'clock'>): Pages {
  return new Map<string, Page>([
    ...(keys === undefined ? [] : ([[KEYS_PATH, createKeysPage(keys, clock)]] as const)),
    ['/healthz', (requestId) => successAnswer(JSON.stringify({ status: 'alive', request_id: requestId }))],
    ['/openapi.json', createLazyPage(() => createOpenapiPage(openapi(), { clock }))],
  ])
}

function createKeysPage(keys: () => Promise<string>, clock: Clock): Page {
  const readKeys = shareReads(keys, { ms: SHARED_MS, clock })
  return async () => successAnswer(await readKeys())
}

/**
 * Creates `/readyz`, 200 while the process accepts requests, the database answers and at least one chain does, and
 * `/metrics` for Prometheus.
 */
export function createOperatorPages(
  options: Omit<PageOptions, 'openapi' | 'keys'> & { readonly isDraining: () => boolean },
): Pages {
  const { metrics, clock, scrape = async () => metrics.render() } = options
  const readiness = createReadiness(options.probes, clock)
  const readMetrics = shareReads(scrape, { ms: METRICS_SHARED_MS, clock })

  async function readyz(requestId: string): Promise<PreparedAnswer> {
    const { ready, reasons, ...details } = await readiness()
    const isDraining = options.isDraining()
    const status = ready && !isDraining ? 'ready' : isDraining ? 'draining' : 'not_ready'
    const allReasons = isDraining ? [STOPPING, ...reasons] : reasons
    const body = JSON.stringify({ status, reasons: allReasons, ...details, request_id: requestId })
    if (status === 'ready') return successAnswer(body)
    return { ...successAnswer(body), status: 503, headers: { 'retry-after': '1' } }
  }

  return new Map<string, Page>([
    ['/readyz', readyz],
    ['/metrics', async () => successAnswer(await readMetrics(), { 'content-type': PROMETHEUS_TYPE })],
  ])
}
