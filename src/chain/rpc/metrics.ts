import { AbortedError } from '../../lib/error.ts'
import { LATENCY_BUCKETS_SEC, type Metrics } from '../../lib/metrics.ts'
import { RevertError, RpcRefusedError } from './client.ts'
import { BusyError } from './error.ts'

/** How a request to an endpoint ended: `busy` is its rate limit, `refused` a request that it does not accept. */
type RpcOutcome = 'ok' | 'reverted' | 'refused' | 'busy' | 'failed' | 'left'

/** Counts one finished request to an endpoint of one chain. */
export type RpcRecorder = (outcome: RpcOutcome, latencyMs: number) => void

/** Registers the metrics of all chains; the returned function makes the recorder of one. */
export function createRpcMetrics(metrics: Metrics): (chainId: number) => RpcRecorder {
  const requests = metrics.counter({
    name: 'walletscope_rpc_requests_total',
    help: 'Requests to RPC endpoints, by chain and outcome.',
    labels: ['chain_id', 'outcome'],
  })
  const latency = metrics.histogram({
    name: 'walletscope_rpc_request_duration_seconds',
    help: 'Time from sending a request to an RPC endpoint to the end of its answer, by chain.',
    labels: ['chain_id'],
    buckets: LATENCY_BUCKETS_SEC,
  })
  return (chainId) => {
    const duration = latency(chainId)
    return (outcome, latencyMs) => {
      requests(chainId, outcome).add(1)
      duration.observe(latencyMs / 1000)
    }
  }
}

/** How a request that failed ended. */
export function outcomeOf(error: unknown): RpcOutcome {
  if (error instanceof RevertError) return 'reverted'
  if (error instanceof RpcRefusedError) return 'refused'
  if (error instanceof BusyError) return 'busy'
  return error instanceof AbortedError ? 'left' : 'failed'
}
