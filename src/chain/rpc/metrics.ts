import { AbortedError } from '../../lib/error.ts'
import { LATENCY_BUCKETS_SEC, type Metrics } from '../../lib/metrics.ts'
import { RevertError, RpcRefusedError } from './client.ts'
import { RateLimitedError } from './error.ts'

/** How a request to an endpoint ended: `busy` is its rate limit, `refused` a request that it does not accept. */
type RpcOutcome = 'ok' | 'reverted' | 'refused' | 'busy' | 'failed' | 'left'

/** Counts one finished request to the endpoint at a place of one chain's configuration, from 1, as doctor counts. */
export type RpcRecorder = (outcome: RpcOutcome, latencyMs: number, place: number) => void

/** Registers the metrics of all chains; the returned function makes the recorder of one. */
export function createRpcMetrics(metrics: Metrics): (chainId: number) => RpcRecorder {
  const requests = metrics.counter({
    name: 'walletscope_rpc_requests_total',
    help: 'Requests to RPC endpoints, by chain, place in the configuration from 1, and outcome.',
    labels: ['chain_id', 'endpoint', 'outcome'],
  })
  const latency = metrics.histogram({
    name: 'walletscope_rpc_request_duration_seconds',
    help: 'Time from sending a request to an RPC endpoint to the end of its answer, by chain and place in the configuration.',
    labels: ['chain_id', 'endpoint'],
    buckets: LATENCY_BUCKETS_SEC,
  })
  return (chainId) => (outcome, latencyMs, place) => {
    requests(chainId, place, outcome).add(1)
    latency(chainId, place).observe(latencyMs / 1000)
  }
}

/** How a request that failed ended. */
export function classifyRpcOutcome(error: unknown): RpcOutcome {
  if (error instanceof RevertError) return 'reverted'
  if (error instanceof RpcRefusedError) return 'refused'
  if (error instanceof RateLimitedError) return 'busy'
  return error instanceof AbortedError ? 'left' : 'failed'
}
