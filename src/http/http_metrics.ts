import { type Counter, type Histogram, LATENCY_BUCKETS_SEC, type Metrics } from '../lib/metrics.ts'

interface FinishedRequest {
  /** Template of the endpoint, or one of a few fixed words: never the caller's own text. */
  readonly route: string
  readonly status: number
  readonly latencyMs: number
  readonly creditsCharged: number
}

/** Creates a counter of finished requests: their number by route and status, their latency and credits by route. */
export function createHttpMetrics(metrics: Metrics, options: { readonly inFlight: () => number }) {
  const requests = metrics.counter({
    name: 'walletscope_http_requests_total',
    help: 'Requests answered, by route template and status.',
    labels: ['route', 'status'],
  })
  const latency = metrics.histogram({
    name: 'walletscope_http_request_duration_seconds',
    help: 'Time from the request to its finished answer, by route template.',
    labels: ['route'],
    buckets: LATENCY_BUCKETS_SEC,
  })
  const credits = metrics.counter({
    name: 'walletscope_credits_charged_total',
    help: 'Credits charged, by route template.',
    labels: ['route'],
  })
  metrics.gauge({
    name: 'walletscope_http_requests_in_flight',
    help: 'Requests accepted and not yet answered.',
    read: options.inFlight,
  })

  const byRoute = new Map<string, RouteCells>()
  return (finished: FinishedRequest): void => {
    const cells = byRoute.get(finished.route) ?? remember(finished.route)
    const count = cells.requests.get(finished.status) ?? rememberStatus(cells, finished)
    count.add(1)
    cells.latency.observe(finished.latencyMs / 1000)
    if (finished.creditsCharged > 0) cells.credits.add(finished.creditsCharged)
  }

  function remember(route: string): RouteCells {
    const cells = { requests: new Map<number, Counter>(), latency: latency(route), credits: credits(route) }
    byRoute.set(route, cells)
    return cells
  }

  function rememberStatus(cells: RouteCells, { route, status }: FinishedRequest): Counter {
    const cell = requests(route, status)
    cells.requests.set(status, cell)
    return cell
  }
}

interface RouteCells {
  readonly requests: Map<number, Counter>
  readonly latency: Histogram
  readonly credits: Counter
}
