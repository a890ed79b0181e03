import { AbortedError } from '../../lib/error.ts'
import { LATENCY_BUCKETS_SEC, type Metrics } from '../../lib/metrics.ts'
import { RevertError, RpcRefusedError } from './client.ts'
import { hasFault } from './error.ts'

/** Outcome of a request: `busy` is a rate limit, `refused` an unsupported request, `left` an aborted one. */
type RpcOutcome = 'ok' | 'reverted' | 'refused' | 'busy' | 'failed' | 'left'

/** Records one finished request to an endpoint of one chain, numbered from 1 in configured order, as in `doctor`. */
export type RpcRecorder = (outcome: RpcOutcome, latencyMs: number, endpoint: number) => void

/** Registers the metrics of all chains; the returned function creates the recorder of one chain. */
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
  return (chainId) => (outcome, latencyMs, endpoint) => {
    requests(chainId, endpoint, outcome).add(1)
    latency(chainId, endpoint).observe(latencyMs / 1000)
  }
}

/** Classifies the error of a failed request. */
export function classifyRpcOutcome(error: unknown): RpcOutcome {
  if (error instanceof RevertError) return 'reverted'
  if (error instanceof RpcRefusedError) return 'refused'
  if (hasFault(error, 'busy')) return 'busy'
  return error instanceof AbortedError ? 'left' : 'failed'
}
