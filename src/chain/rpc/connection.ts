import type { RateLimiter } from '../../lib/async/rate_limiter.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { type Read, RevertError } from './client.ts'
import { BusyError } from './error.ts'
import { createHealth } from './memory/health.ts'
import { outcomeOf, type RpcRecorder } from './metrics.ts'
import { createSlots, ENDPOINT_LIMITS, type Priority, type Slots, shareOf } from './slots/slots.ts'
import { createTransport, type Fetch, LateAnswerError, type TransportOptions } from './transport.ts'

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
  readonly line?: Slots | undefined
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
export class SlowQuestionError extends LateAnswerError {}

/** Connects to an endpoint that is assumed healthy. Throws on a URL that `parseRpcUrl` refuses. */
export function createConnection(url: string, options: ConnectionOptions) {
  const { index, clock, random, record, backgroundRate, line, processes = 1 } = options
  const transport = createTransport({ ...options, url })
  const slots = createSlots(shareOf(ENDPOINT_LIMITS, processes))
  const health = createHealth({ clock, random })

  /** Requests that the endpoint has answered so far. */
  let answered = 0

  async function sendNow<T>(request: Read<T>, signal: AbortSignal, priority: Priority): Promise<T> {
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
      const outcome = outcomeOf(error)
      record?.(outcome, clock.monotonicMs() - startedMs, index + 1)
      if (outcome === 'failed') health.erred()
      if (error instanceof RevertError) answered++
      if (error instanceof BusyError && priority === 'caller') slots.slowDown()
      const isSlow = error instanceof LateAnswerError && answered > before
      throw isSlow ? new SlowQuestionError(error.message, { cause: error }) : error
    }
  }

  return {
    health,
    /**
     * Throws as the transport, and `CrowdedError` if too many wait already. How work in the background fares changes
     * nothing for callers: its answers are long, and its rate limits are its own.
     */
    async send<T>(request: Read<T>, signal: AbortSignal, priority: Priority = 'caller'): Promise<T> {
      if (priority === 'background') await backgroundRate?.(signal)
      const run = () => sendNow(request, signal, priority)
      const inLine = () => (line === undefined ? run() : line.run(run, signal, priority))
      return await slots.run(inLine, signal, priority)
    },
  }
}
