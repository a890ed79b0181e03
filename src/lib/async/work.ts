import type { UnavailableError } from '../error.ts'

/** Names of the requesters that work is done for; empty for the service's own work. More may join while it runs. */
export type Requesters = ReadonlySet<string>

/** Ids of the chains of which work rests on the word of one endpoint. It grows while the work runs. */
export type Unwitnessed = ReadonlySet<number>

/**
 * A piece of work: when it ends, for whom it runs, and what it learns on its way. Whatever reads a chain takes `work`
 * and passes on that, or one derived below, so that requesters and notes reach the endpoints. Whatever can merely be
 * ended (an exchange over the network, a wait, a queue, a job) takes a `signal`.
 */
export interface Work {
  /** Fires when the callers have left, or the time is over. */
  readonly signal: AbortSignal
  readonly requesters: Requesters
  /** Chains noted so far; `noteUnwitnessed` adds to them. */
  readonly unwitnessed: Set<number>
  /** Sets the error to report if the work's budget is spent; the last one set wins. */
  readonly onTimeout: (createError: () => UnavailableError) => void
}

/** No requester: the work is the service's own. */
const NO_REQUESTERS: Requesters = new Set()
const ignore = () => {}

/** Creates work that ends with a signal. */
export function createWork(
  signal: AbortSignal,
  options: {
    /** @default the service's own work */
    readonly requesters?: Requesters
    /** @default no timeout is reported */
    readonly onTimeout?: Work['onTimeout']
  } = {},
): Work {
  const { requesters = NO_REQUESTERS, onTimeout = ignore } = options
  return { signal, requesters, unwitnessed: new Set(), onTimeout }
}

/**
 * The same work under a signal that fires with that of `work`, or earlier. It reports no timeout: parts run side by
 * side, and none knows which of them the whole waits for.
 */
export function withSignal(work: Work, signal: AbortSignal): Work {
  return { ...work, signal, onTimeout: ignore }
}

/** The same work, which also ends when `signal` fires. */
export function limitWork(work: Work, signal: AbortSignal): Work {
  return withSignal(work, AbortSignal.any([work.signal, signal]))
}

/** Notes that work rests on the word of one endpoint of these chains. */
export function noteUnwitnessed({ unwitnessed }: Work, chainIds: Iterable<number>): void {
  for (const chainId of chainIds) unwitnessed.add(chainId)
}

/**
 * Runs a part of work whose notes are its own, for a result that is kept or stored: returns the result and its chains,
 * which are noted for the whole work too.
 */
export async function tellUnwitnessed<T>(
  work: Work,
  part: (own: Work) => Promise<T>,
): Promise<{ readonly value: T; readonly unwitnessed: Unwitnessed }> {
  const own = { ...withSignal(work, work.signal), unwitnessed: new Set<number>() }
  const value = await part(own)
  noteUnwitnessed(work, own.unwitnessed)
  return { value, unwitnessed: own.unwitnessed }
}
