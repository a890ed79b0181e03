import type { RateLimiter } from '../../lib/async/rate_limiter.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { RevertError, type RpcRequest } from './client.ts'
import { createHealth } from './endpoint_state/health.ts'
import { RateLimitedError } from './error.ts'
import {
  createRequestLimiter,
  divideLimits,
  ENDPOINT_LIMITS,
  type Priority,
  type RequestLimiter,
} from './limiter/limiter.ts'
import { classifyRpcOutcome, type RpcRecorder } from './metrics.ts'
import { createTransport, type Fetch, ResponseTimeoutError, type TransportOptions } from './transport.ts'

/** One RPC endpoint: a limited number of requests at a time, each measured and recorded. */
export type Connection = ReturnType<typeof createConnection>

/** What a client of any chain is made with, besides its endpoints. */
export interface ClientOptions {
  readonly clock: Clock
  readonly log: Log
  readonly fetch?: Fetch
  /** Numbers in [0, 1) that spread pauses; evenly spread ones by default. */
  readonly random?: () => number
  /** Told of each finished request to an endpoint. */
  readonly record?: RpcRecorder
  /** Waited for before each request in the background. @default none */
  readonly backgroundRate?: RateLimiter | undefined
  /** Slots that the endpoints of all chains share. @default none */
  readonly line?: RequestLimiter | undefined
  /** How many processes that serve as one ask the same endpoints. @default 1 */
  readonly processes?: number | undefined
}

export interface ConnectionOptions
  extends Omit<TransportOptions, 'url'>,
    Pick<ClientOptions, 'record' | 'backgroundRate' | 'line' | 'processes'> {
  /** Position in the configuration. */
  readonly index: number
  /** Numbers in [0, 1) that spread pauses. */
  readonly random: () => number
}

/** A question was not answered in time while the endpoint answered others; says nothing about its health. */
export class SlowRequestError extends ResponseTimeoutError {}

/** Connects to an endpoint that is assumed healthy. Throws on a URL that `parseRpcUrl` refuses. */
export function createConnection(url: string, options: ConnectionOptions) {
  const { index, clock, random, record, backgroundRate, line, processes = 1 } = options
  const transport = createTransport({ ...options, url })
  const slots = createRequestLimiter(divideLimits(ENDPOINT_LIMITS, processes))
  const health = createHealth({ clock, random })

  /** Requests that the endpoint has answered so far. */
  let answered = 0

  async function sendNow<T>(request: RpcRequest<T>, signal: AbortSignal, priority: Priority): Promise<T> {
    const before = answered
    const startedMs = clock.monotonicMs()
    try {
      const result = await transport.send(request, signal)
      const latencyMs = clock.monotonicMs() - startedMs
      answered++
      record?.('ok', latencyMs, index + 1)
      if (priority === 'caller') health.measured(latencyMs)
      return result
    } catch (error) {
      const outcome = classifyRpcOutcome(error)
      record?.(outcome, clock.monotonicMs() - startedMs, index + 1)
      if (outcome === 'failed') health.erred()
      if (error instanceof RevertError) answered++
      if (error instanceof RateLimitedError && priority === 'caller') slots.slowDown()
      const isSlow = error instanceof ResponseTimeoutError && answered > before
      throw isSlow ? new SlowRequestError(error.message, { cause: error }) : error
    }
  }

  return {
    health,
    /**
     * Throws as the transport, and `CrowdedError` if too many wait already. How work in the background fares changes
     * nothing for callers: its answers are long, and its rate limits are its own.
     */
    async send<T>(request: RpcRequest<T>, signal: AbortSignal, priority: Priority = 'caller'): Promise<T> {
      if (priority === 'background') await backgroundRate?.(signal)
      const run = () => sendNow(request, signal, priority)
      const inLine = () => (line === undefined ? run() : line.run(run, signal, priority))
      return await slots.run(inLine, signal, priority)
    },
  }
}
