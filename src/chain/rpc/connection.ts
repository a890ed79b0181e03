import type { RateLimiter } from '../../lib/async/rate_limiter.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { type Priority, RevertError, type RpcRequest } from './client.ts'
import { createHealth } from './endpoint_state.ts'
import { EndpointError, hasFault } from './error.ts'
import type { Fetch } from './http_client.ts'
import { createRequestLimiter, divideLimits, ENDPOINT_LIMITS, type RequestLimiter } from './limiter.ts'
import { classifyRpcOutcome, type RpcRecorder } from './metrics.ts'
import { createTransport, type TransportOptions } from './transport.ts'

/** One RPC endpoint: limits concurrent requests, and measures and records each. */
export type Connection = ReturnType<typeof createConnection>

/** Options of a client of any chain, besides its endpoints. */
export interface ClientOptions {
  readonly clock: Clock
  readonly log: Log
  readonly fetch?: Fetch
  /** Numbers in [0, 1) that spread pauses; evenly spread ones by default. */
  readonly random?: () => number
  /** Records each finished request to an endpoint. */
  readonly record?: RpcRecorder
  /** Rate limiter of background requests. @default none */
  readonly backgroundRate?: RateLimiter | undefined
  /** Request limiter that the endpoints of all chains share. @default none */
  readonly sharedLimiter?: RequestLimiter | undefined
  /** Number of processes of this service that use the same endpoints. @default 1 */
  readonly processes?: number | undefined
}

export interface ConnectionOptions
  extends Omit<TransportOptions, 'url'>,
    Pick<ClientOptions, 'record' | 'backgroundRate' | 'sharedLimiter' | 'processes'> {
  /** Index in the configuration. */
  readonly index: number
  /** Numbers in [0, 1) that spread pauses. */
  readonly random: () => number
}

/** Creates the connection to an endpoint, which is assumed healthy. Throws for a URL that `parseRpcUrl` refuses. */
export function createConnection(url: string, options: ConnectionOptions) {
  const { index, clock, random, record, backgroundRate, sharedLimiter, processes = 1 } = options
  const transport = createTransport({ ...options, url })
  const limiter = createRequestLimiter(divideLimits(ENDPOINT_LIMITS, processes))
  const health = createHealth({ clock, random })

  /** Requests that the endpoint has answered so far. */
  let answeredCount = 0

  function noteAnswer(): void {
    answeredCount++
    health.recordAnswer()
  }

  async function sendNow<T>(request: RpcRequest<T>, signal: AbortSignal, priority: Priority): Promise<T> {
    const countBefore = answeredCount
    const startedMs = clock.monotonicMs()
    try {
      const result = await transport.send(request, signal)
      const latencyMs = clock.monotonicMs() - startedMs
      noteAnswer()
      record?.('ok', latencyMs, index + 1)
      if (priority === 'caller') health.recordLatency(latencyMs)
      return result
    } catch (error) {
      const outcome = classifyRpcOutcome(error)
      record?.(outcome, clock.monotonicMs() - startedMs, index + 1)
      if (outcome === 'failed') health.countError()
      if (error instanceof RevertError) noteAnswer()
      if (hasFault(error, 'busy') && priority === 'caller') limiter.slowDown()
      const isSlow = hasFault(error, 'late') && answeredCount > countBefore
      throw isSlow ? new EndpointError('slow', error.message, { cause: error }) : error
    }
  }

  return {
    health,
    /**
     * Throws as the transport, and `EndpointError` (queue_full) if too many requests wait already. Outcomes of
     * background requests change neither the latency nor the limits of callers: their answers are long, and their rate
     * limits are separate.
     */
    async send<T>(request: RpcRequest<T>, work: Work, priority: Priority = 'caller'): Promise<T> {
      if (priority === 'background') await backgroundRate?.(work.signal)
      const run = () => sendNow(request, work.signal, priority)
      const runShared = () => (sharedLimiter === undefined ? run() : sharedLimiter.run(run, work, priority))
      return await limiter.run(runShared, work, priority)
    },
  }
}
