import type { Rate } from '../../lib/async/rate.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Read } from './client.ts'
import { BusyError } from './error.ts'
import { createHealth, type Health } from './memory/health.ts'
import { type RpcRecorder, recorded } from './metrics.ts'
import { createSlots, ENDPOINT_LIMITS, type Priority } from './slots.ts'
import { createTransport, type Fetch, type TransportOptions } from './transport.ts'

/** One RPC endpoint: a limited number of requests at a time, each measured and recorded. */
export interface Connection {
  readonly health: Health
  /**
   * Throws as `Transport.send`, and `CrowdedError` if too many wait already. How work in the background fares changes
   * nothing for callers: its answers are long, and its rate limits are its own.
   */
  send<T>(request: Read<T>, signal: AbortSignal, priority?: Priority): Promise<T>
}

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
  readonly backgroundRate?: Rate | undefined
}

/** What endpoints of one chain share. */
export interface ConnectionOptions extends Omit<TransportOptions, 'url'> {
  /** Numbers in [0, 1) that spread pauses. */
  readonly random: () => number
  /** Told of each finished request. */
  readonly record?: RpcRecorder
  /** Waited for before each request in the background. @default none */
  readonly backgroundRate?: Rate | undefined
}

/** Connects to an endpoint that is assumed healthy. Throws on a URL that `parseRpcUrl` refuses. */
export function createConnection(url: string, options: ConnectionOptions): Connection {
  const { clock, random, record = () => {}, backgroundRate } = options
  const transport = recorded(createTransport({ ...options, url }), { record, clock })
  const slots = createSlots(ENDPOINT_LIMITS)
  const health = createHealth({ clock, random })

  function slowDownIfBusy(error: unknown): never {
    if (error instanceof BusyError) slots.slowDown()
    throw error
  }

  return {
    health,
    async send(request, signal, priority = 'caller') {
      if (priority === 'background') await backgroundRate?.(signal)
      const run = async () => {
        if (priority === 'background') return await transport.send(request, signal)
        const startedMs = clock.monotonicMs()
        const result = await transport.send(request, signal).catch(slowDownIfBusy)
        health.measured(clock.monotonicMs() - startedMs)
        return result
      }
      return await slots.run(run, signal, priority)
    },
  }
}
